"""`sasl.jaas.config`: everything that Java's parser accepts is accepted, and errors never repeat its contents."""

import pytest

from tidelog.client.security.errors import SettingError
from tidelog.client.security.jaas import parse_jaas

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ('username="alice" password="secret"', {"username": "alice", "password": "secret"}),
        ("username='al ice'\n  password=bare", {"username": "al ice", "password": "bare"}),
        (r'password="a\"b\\c\n\101" username = "x"', {"password": 'a"b\\c\nA', "username": "x"}),
        ('/* for "tests" */ password="a;b=c" // the end', {"password": "a;b=c"}),
        ("", {}),
    ],
)
def test_options(options: str, found: dict[str, str]) -> None:
    module = parse_jaas(f"  {SCRAM} required\t{options}\n ; ")
    assert (module.name, module.options) == ("ScramLoginModule", found)


@pytest.mark.parametrize("flag", ["required", "REQUISITE", "Sufficient", "optional"])
def test_flags(flag: str) -> None:
    assert parse_jaas(f"shaded.{SCRAM} {flag};").name == "ScramLoginModule"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no login module"),
        ("secret", "no login module"),
        (f"{SCRAM} secret;", "flags"),
        (f"{SCRAM} required password=secret", "semicolon"),
        (f"{SCRAM} required password=secret; {SCRAM} required;", "more than one"),
        (f'{SCRAM} required password="secret;', "not closed"),
        (f"{SCRAM} required password secret;", "name=value"),
        (f"{SCRAM} required password=;", "name=value"),
        (f"{SCRAM} required password=secret=secret;", "name=value"),
    ],
)
def test_what_is_wrong_is_told_without_its_text(text: str, problem: str) -> None:
    with pytest.raises(SettingError, match=problem) as told:
        parse_jaas(text)
    assert str(told.value).startswith("sasl.jaas.config: ")
    assert "secret" not in str(told.value)


def test_no_option_is_shown() -> None:
    assert "secret" not in repr(parse_jaas(f"{SCRAM} required password=secret;"))
