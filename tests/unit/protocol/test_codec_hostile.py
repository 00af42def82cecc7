"""Bytes that a peer may send instead of a message: they always give MalformedMessage, and never take much memory."""

import tracemalloc

import pytest
from tests.unit.protocol.toys import AllTypes, Named, OldStyle, Point, Tagged, all_types

from tidelog.protocol.codec import decode, decode_exact, encode
from tidelog.protocol.errors import MalformedMessage
from tidelog.protocol.schema import field, int32, record, string


def samples() -> list[tuple[object, int]]:
    tagged = Tagged(
        body=1,
        number=2,
        text="a",
        filled_text=None,
        maybe_point=Point(x=1),
        numbers=[1, 2],
        named=[Named(name="n", points=[Point(x=index) for index in range(5)], note="o")],
    )
    many = all_types()
    many.points *= 3
    return [(all_types(), 0), (all_types(), 3), (many, 0), (many, 3), (tagged, 2), (OldStyle(text="ab", after="cd"), 1)]


@pytest.mark.parametrize("make", [bytes, bytearray, memoryview])
def test_truncated_at_every_byte(make: type) -> None:
    for message, version in samples():
        encoded = encode(message, version)
        for length in range(len(encoded)):
            with pytest.raises(MalformedMessage):
                decode(type(message), make(encoded[:length]), version)


@pytest.mark.parametrize("make", [bytes, bytearray, memoryview])
@pytest.mark.parametrize("stale", [b"", b"\x00", b"\xff", None])
def test_truncated_inside_a_larger_buffer(make: type, stale: bytes | None) -> None:
    """Bytes behind the end are not read as a part of the message, even if they are its true rest."""
    for message, version in samples():
        encoded = encode(message, version)
        for length in range(len(encoded)):
            rest = encoded[length:] if stale is None else stale * 64
            with pytest.raises(MalformedMessage) as refused:
                decode(type(message), make(encoded[:length] + rest), version, 0, length)
            assert refused.value.position <= len(encoded) + 64


def test_trailing_bytes() -> None:
    with pytest.raises(MalformedMessage, match=r"AllTypes v3: 2 bytes are left over"):
        decode_exact(AllTypes, encode(all_types(), 3) + b"\x00\x00", 3)


@record("data", versions="0-1", flexible="1+")
class Text:
    value: string


@record("data", versions="0-1", flexible="1+")
class MaybeText:
    value: string | None = field(nullable="0+")


@record("data", versions="0-1", flexible="1+")
class Numbers:
    values: list[int32]


@record("data", versions="0-1", flexible="1+")
class MaybePoints:
    values: list[Point] | None = field(nullable="0+")


@pytest.mark.parametrize(
    ("cls", "version", "encoded", "complaint"),
    [
        (Text, 0, b"\xff\xff", "Text.value: null"),
        (Text, 1, b"\x00\x00", "Text.value: null"),
        (Numbers, 0, b"\xff\xff\xff\xff", "Numbers.values: null"),
        (Numbers, 1, b"\x00\x00", "Numbers.values: null"),
        (Text, 0, b"\xff\xfe", "a length of -2"),
        (MaybeText, 0, b"\xff\xfeab", "a length of -2"),
        (MaybeText, 0, b"\x80\x00ab", "a length of -32768"),
        (MaybePoints, 0, b"\xff\xff\xff\xfe" + bytes(8), "a length of -2"),
        (Text, 0, b"\x00\x02\xc3(", "UTF-8"),
        (Text, 1, b"\x04\xed\xa0\x80\x00", "UTF-8"),
        (Text, 1, b"\x81\x80\x02" + b"x" * 32768 + b"\x00", "32768 bytes, 32767 is the most"),
        (Text, 1, b"\x80\x80\x80\x80\x80\x00", "varint beyond 32 bits"),
        (Text, 1, b"\x82\x80\x80\x80\x10a\x00", "varint beyond 32 bits"),
        (Numbers, 1, b"\xff\xff\xff\xff\xff\xff", "varint beyond 32 bits"),
        (Text, 1, b"\x02a\xff\xff\xff\xff\x1f", "varint beyond 32 bits"),
        (Text, 1, b"\x02a\xff\xff\xff\xff\x0f", "ends too early"),
        (Text, 1, b"\x80", "ends too early"),
    ],
)
def test_lengths_that_cannot_be(cls: type, version: int, encoded: bytes, complaint: str) -> None:
    with pytest.raises(MalformedMessage, match=complaint):
        decode_exact(cls, encoded, version)


@pytest.mark.parametrize(
    ("cls", "version", "prefix"),
    [
        (Text, 0, b"\x7f\xff"),
        (Text, 1, b"\xff\xff\x01"),
        (Numbers, 0, b"\x7f\xff\xff\xff"),
        (Numbers, 1, b"\xff\xff\xff\xff\x0f"),
        (MaybePoints, 0, b"\x7f\xff\xff\xff"),
        (MaybePoints, 1, b"\xff\xff\xff\xff\x0f"),
        (AllTypes, 0, encode(all_types(), 0)[:46] + b"\x00\x00\xff\xff\x7f\xff\xff\xff"),
        (Tagged, 1, b"\x00\x00\x00\x01\x01\x07\xff\xff\xff\xff\x07\xff\xff\xff\xff\x07"),
        (Tagged, 1, b"\x00\x00\x00\x01\x01\x0a\xff\xff\xff\xff\x07\x80\x80\x40"),
        (Tagged, 1, b"\x00\x00\x00\x01\xff\xff\xff\xff\x07"),
    ],
)
@pytest.mark.parametrize("filler", [b"\x00", b"\xff", b"\x01"])
def test_a_length_allocates_nothing_that_the_bytes_do_not_back(
    cls: type, version: int, prefix: bytes, filler: bytes
) -> None:
    hostile = prefix + filler * 1000
    with pytest.raises(MalformedMessage):
        decode_exact(cls, hostile, version)  # once before measuring: compiling the codec takes memory, too
    tracemalloc.start()
    try:
        with pytest.raises(MalformedMessage):
            decode_exact(cls, hostile, version)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100 * len(hostile)


def test_an_error_names_the_place() -> None:
    with pytest.raises(MalformedMessage, match=r"Text\.value: a length of 5, with 2 bytes left \(at byte 2\)") as error:
        decode_exact(Text, b"\x00\x05ab", 0)
    assert error.value.position == 2
