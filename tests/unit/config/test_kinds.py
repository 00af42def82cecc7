"""Text to value and back, for every type."""

import pickle

import pytest

from tidelog.config.kinds import BOOLEAN, DOUBLE, INT, LIST, LONG, PASSWORD, SHORT, STRING, Kind, format_double
from tidelog.config.password import Password


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (BOOLEAN, "true", True),
        (BOOLEAN, " FALSE ", False),
        (INT, "+7", 7),
        (INT, " -2147483648\t", -(2**31)),
        (INT, "2147483647", 2**31 - 1),
        (SHORT, "32767", 2**15 - 1),
        (LONG, "9223372036854775807", 2**63 - 1),
        (DOUBLE, "0.5", 0.5),
        (DOUBLE, "1e3", 1000.0),
        (DOUBLE, ".5", 0.5),
        (STRING, "  a b ", "a b"),
        (LIST, "", ()),
        (LIST, " a , b,c ", ("a", "b", "c")),
        (LIST, "a,b,a", ("a", "b")),
        (LIST, "a,,b", ("a", "", "b")),
        (PASSWORD, " s3cret ", Password("s3cret")),
    ],
)
def test_reads(kind: Kind[object], text: str, value: object) -> None:
    parsed = kind.parse(text)
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (BOOLEAN, "yes"),
        (BOOLEAN, ""),
        (INT, ""),
        (INT, "12x"),
        (INT, "1_000"),
        (INT, "1.0"),
        (INT, "0x10"),
        (INT, "\u0661"),  # a digit to Python, not to an operator
        (INT, "\u00a012"),  # blank to Python, not to Java's trim
        (INT, "2147483648"),
        (INT, "-2147483649"),
        (INT, "9" * 5000),
        (SHORT, "32768"),
        (LONG, "9223372036854775808"),
        (DOUBLE, "nan"),
        (DOUBLE, "inf"),
        (DOUBLE, "1e999"),
        (DOUBLE, "1_0.5"),
        (DOUBLE, "."),
    ],
)
def test_refuses(kind: Kind[object], text: str) -> None:
    with pytest.raises(ValueError, match=r"not|fit|large"):
        kind.parse(text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (0.5, "0.5"),
        (100.0, "100.0"),
        (1234567.0, "1234567.0"),
        (1e7, "1.0E7"),
        (12345678.5, "1.23456785E7"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (-2.5e-5, "-2.5E-5"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
    ],
)
def test_a_double_is_printed_as_java_prints_it(value: float, text: str) -> None:
    assert format_double(value) == text
    assert DOUBLE.parse(text) == value


def test_a_boolean_is_printed_in_lower_case() -> None:
    assert (BOOLEAN.format(True), BOOLEAN.format(False)) == ("true", "false")


def test_a_password_shows_itself_to_nobody_who_does_not_ask() -> None:
    password = Password("s3cret")
    shown = f"{password} {password!r} {password:>20} {[password]} %s" % password
    assert "s3cret" not in shown
    assert shown.startswith("[hidden]")
    assert password.reveal() == "s3cret"
    assert password == Password("s3cret")
    assert password != Password("other")
    assert len({password, Password("s3cret")}) == 1
    with pytest.raises(TypeError):
        pickle.dumps(password)
