"""Tagged fields: written only where they differ from the default, read in any order, dropped where unknown."""

import struct
from typing import Any

import pytest
from tests.unit.protocol.toys import UUID, Named, Point, Tagged

from tidelog.protocol.codec import decode_exact, encode
from tidelog.protocol.errors import MalformedMessage, UnsupportedField

BODY = b"\x00\x00\x00\x01"


def test_defaults_are_not_written() -> None:
    assert encode(Tagged(body=1), 1) == BODY + b"\x00"
    assert decode_exact(Tagged, BODY + b"\x00", 1) == Tagged(body=1)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"number": 2}, b"\x03\x04\x00\x00\x00\x02"),
        ({"text": "ab"}, b"\x00\x03\x03ab"),
        ({"maybe_text": ""}, b"\x01\x01\x01"),
        ({"filled_text": None}, b"\xc8\x01\x01\x00"),
        ({"filled_text": ""}, b"\xc8\x01\x01\x01"),
        ({"point": Point(x=1)}, b"\x04\x07\x00\x00\x00\x01\x00\x00\x00"),
        ({"maybe_point": Point()}, b"\x05\x08\x01\x00\x00\x00\x00\x00\x00\x00"),
        ({"filled_point": None}, b"\x06\x01\x00"),
        ({"filled_point": Point(y=2)}, b"\x06\x08\x01\x00\x00\x00\x00\x00\x02\x00"),
        ({"numbers": [1]}, b"\x07\x05\x02\x00\x00\x00\x01"),
        ({"blob": b"x"}, b"\x08\x02\x02x"),
        ({"id": UUID}, b"\x09\x10" + UUID),
        ({"named": [Named(name="n", note="o")]}, b"\x0a\x09\x02\x02n\x01\x01\x00\x02\x02o"),
        ({"flag": False}, b"\x0c\x01\x00"),
    ],
)
def test_what_differs_from_its_default_is_written(changed: dict[str, Any], expected: bytes) -> None:
    message = Tagged(body=1, **changed)
    assert encode(message, 2) == BODY + b"\x01" + expected
    assert decode_exact(Tagged, BODY + b"\x01" + expected, 2) == message


def test_tags_are_written_in_ascending_order() -> None:
    assert encode(Tagged(body=1, number=2, text="a", flag=False), 1) == (
        BODY + b"\x03" + b"\x00\x02\x02a" + b"\x03\x04\x00\x00\x00\x02" + b"\x0c\x01\x00"
    )


def test_a_long_value_has_a_long_size() -> None:
    message = Tagged(body=1, numbers=list(range(200)))
    encoded = encode(message, 1)
    assert encoded.startswith(BODY + b"\x01\x07\xa2\x06\xc9\x01")
    assert decode_exact(Tagged, encoded, 1) == message


def test_any_order_is_read_and_the_last_of_a_tag_counts() -> None:
    encoded = BODY + b"\x03" + b"\x03\x04\x00\x00\x00\x02" + b"\x00\x02\x02a" + b"\x03\x04\x00\x00\x00\x09"
    assert decode_exact(Tagged, encoded, 1) == Tagged(body=1, number=9, text="a")


def test_unknown_tags_are_dropped() -> None:
    encoded = BODY + b"\x03" + b"\x02\x03???" + b"\x0c\x01\x00" + b"\xff\xff\xff\xff\x07\x00"
    assert decode_exact(Tagged, encoded, 1) == Tagged(body=1, flag=False)
    inside = BODY + b"\x01\x04\x0c\x00\x00\x00\x01\x00\x00\x01\x21\x03???"
    assert decode_exact(Tagged, inside, 1) == Tagged(body=1, point=Point(x=1))


def test_a_tag_of_a_later_version_is_unknown_to_an_earlier_one() -> None:
    encoded = BODY + b"\x01\x0b\x01\x05"
    assert decode_exact(Tagged, encoded, 2) == Tagged(body=1, late=5)
    assert decode_exact(Tagged, encoded, 1) == Tagged(body=1)
    assert encode(Tagged(body=1, late=5), 1) == BODY + b"\x00"


def test_a_version_without_tags_refuses_what_it_cannot_carry() -> None:
    assert encode(Tagged(body=1), 0) == BODY
    with pytest.raises(UnsupportedField, match=r"Tagged\.filled_point"):
        encode(Tagged(body=1, filled_point=None), 0)


@pytest.mark.parametrize("size", [0, 3, 5, 6])
def test_a_size_that_does_not_fit_the_value(size: int) -> None:
    encoded = BODY + b"\x01\x03" + bytes((size,)) + b"\x00\x00\x00\x02\x00\x00"
    with pytest.raises(MalformedMessage, match=r"Tagged\.number: not the \d bytes"):
        decode_exact(Tagged, encoded, 1)


def test_a_value_cannot_reach_beyond_its_size() -> None:
    with pytest.raises(MalformedMessage, match=r"Tagged\.text: a length of 4, with 2 bytes left"):
        decode_exact(Tagged, BODY + b"\x01\x00\x03\x05abcd", 1)


@pytest.mark.parametrize("tag", [b"\x03", b"\x63"])
def test_a_tagged_field_cannot_end_after_the_message(tag: bytes) -> None:
    with pytest.raises(MalformedMessage, match="a length of 5, with 4 bytes left"):
        decode_exact(Tagged, BODY + b"\x01" + tag + b"\x05\x00\x00\x00\x01", 1)


@pytest.mark.parametrize("odd", range(6))
def test_elements_with_and_without_tagged_fields_side_by_side(odd: int) -> None:
    """Arrays of fixed structs are read in one pass, but only where no element has tagged fields."""
    points = [Point(x=index, y=index + 1) for index in range(6)]
    elements = [struct.pack(">ih", point.x, point.y) + b"\x00" for point in points]
    elements[odd] = elements[odd][:-1] + b"\x01\x07\x01?"
    value = b"\x02\x02n" + b"\x07" + b"".join(elements) + b"\x00"
    (named,) = decode_exact(Tagged, BODY + b"\x01\x0a" + bytes((len(value),)) + value, 1).named
    assert named == Named(name="n", points=points)
