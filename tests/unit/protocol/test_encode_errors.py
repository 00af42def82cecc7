"""A value that can not be encoded is refused with its path, and nothing is written in its place."""

from typing import Any

import pytest
from tests.unit.protocol.toys import AllTypes, Named, Point, Tagged, all_types

from tidelog.protocol.codec import encode, encode_parts
from tidelog.protocol.errors import EncodeError

VERSIONS = [0, 3]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("tiny", 128, "AllTypes.tiny: 128 is not an int8"),
        ("short", -32769, "AllTypes.short: -32769 is not an int16"),
        ("port", -1, "AllTypes.port: -1 is not an uint16"),
        ("number", 2**31, "AllTypes.number: 2147483648 is not an int32"),
        ("mask", 2**32, "AllTypes.mask: 4294967296 is not an uint32"),
        ("offset", 2**63, "AllTypes.offset"),
        ("offset", 1.5, "AllTypes.offset: 1.5 is not an int64"),
        ("ratio", "x", "AllTypes.ratio: 'x' is not an float64"),
        ("id", b"short", "AllTypes.id: b'short' where the 16 bytes of a UUID"),
        ("id", bytes(17), "AllTypes.id"),
        ("id", None, "AllTypes.id: null"),
        ("number", None, "AllTypes.number: null"),
        ("text", None, "AllTypes.text: null"),
        ("text", "x" * 32768, "AllTypes.text: 32768 bytes in UTF-8"),
        ("text", "é" * 16384, "AllTypes.text: 32768 bytes in UTF-8"),
        ("text", b"bytes", "AllTypes.text: b'bytes' where a string"),
        ("text", "\ud800", "AllTypes.text: .* has no form in UTF-8"),
        ("blob", None, "AllTypes.blob: null"),
        ("blob", 5, "AllTypes.blob: 5 has no length"),
        ("batches", 5, "AllTypes.batches: 5 has no length"),
        ("numbers", None, "AllTypes.numbers: null"),
        ("numbers", [1, 2**31], r"AllTypes.numbers\[1\]: 2147483648 is not an int32"),
        ("numbers", 5, "AllTypes.numbers: 5 where a list"),
        ("ids", [b"short"], r"AllTypes.ids\[0\]"),
        ("texts", ["a", None], r"AllTypes.texts\[1\]: None where a string"),
        ("texts", ["x" * 32768], r"AllTypes.texts\[0\]: 32768 bytes"),
        ("point", None, "AllTypes.point: null"),
        ("point", Point(x=2**31), "AllTypes.point.x: 2147483648 is not an int32"),
        ("points", [Point(), Point(y=2**15)], r"AllTypes.points\[1\].y: 32768 is not an int16"),
        ("points", [None], r"AllTypes.points\[0\]: None where a Point"),
        ("named", [Named(name=None)], r"AllTypes.named\[0\].name: null"),  # type: ignore[arg-type]
    ],
)
def test_values_out_of_range(version: int, name: str, value: Any, complaint: str) -> None:
    message = all_types()
    setattr(message, name, value)
    with pytest.raises(EncodeError, match=complaint):
        encode(message, version)
    with pytest.raises(EncodeError, match=complaint):
        encode_parts(message, version)


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"text": None}, "Tagged.text: null"),
        ({"numbers": None}, "Tagged.numbers: null"),
        ({"point": None}, "Tagged.point: null"),
        ({"blob": None}, "Tagged.blob: null"),
        ({"id": b"short"}, "Tagged.id"),
        ({"number": 2**31}, "Tagged.number: 2147483648 is not an int32"),
        ({"maybe_point": Point(x=2**31)}, "Tagged.maybe_point.x"),
    ],
)
def test_in_tagged_fields(changed: dict[str, Any], complaint: str) -> None:
    with pytest.raises(EncodeError, match=complaint):
        encode(Tagged(body=1, **changed), 1)


def test_a_length_beyond_what_anyone_can_read() -> None:
    class Enormous:
        def __len__(self) -> int:
            return 2**31

    message = all_types()
    message.batches = Enormous()
    for version in VERSIONS:
        with pytest.raises(EncodeError):
            encode_parts(message, version)


def test_a_long_value_is_shown_in_part() -> None:
    message: AllTypes = all_types()
    message.id = b"x" * 1000  # type: ignore[assignment]
    with pytest.raises(EncodeError) as refused:
        encode(message, 0)
    assert len(str(refused.value)) < 200
