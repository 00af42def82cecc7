import pytest

from tidelog.protocol.errors import MalformedMessage
from tidelog.protocol.varint import (
    MAX_LENGTH,
    read_string_length,
    read_varint,
    skip_tagged_fields,
    string_varint,
    varint,
)


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, b"\x00"),
        (127, b"\x7f"),
        (128, b"\x80\x01"),
        (300, b"\xac\x02"),
        (16383, b"\xff\x7f"),
        (16384, b"\x80\x80\x01"),
        (2**31, b"\x80\x80\x80\x80\x08"),
    ],
)
def test_both_ways(value: int, encoded: bytes) -> None:
    assert varint(value) == encoded
    assert read_varint(b"??" + encoded + b"??", 2) == (value, 2 + len(encoded))


def test_limits() -> None:
    assert read_varint(b"\xff\xff\xff\xff\x0f", 0) == (2**32 - 1, 5)
    for beyond in (b"\xff\xff\xff\xff\x10", b"\x80\x80\x80\x80\x80\x00", b"\xff\xff\xff\xff\x7f"):
        with pytest.raises(MalformedMessage, match="beyond 32 bits"):
            read_varint(beyond, 0)
    with pytest.raises(ValueError, match="is the most"):
        varint(MAX_LENGTH + 2)


def test_strings_have_a_limit_of_their_own() -> None:
    assert string_varint(32768) == varint(32768)
    assert read_string_length(varint(32768), 0) == (32768, 3)
    with pytest.raises(ValueError, match="32768 bytes"):
        string_varint(32769)
    with pytest.raises(MalformedMessage, match="32768 bytes"):
        read_string_length(varint(32769), 0)


def test_skip_tagged_fields() -> None:
    assert skip_tagged_fields(b"\x00", 0, 1) == 1
    two = b"\x02\x05\x01a\x81\x01\x02bc"
    assert skip_tagged_fields(two, 0, len(two)) == len(two)
    with pytest.raises(MalformedMessage):
        skip_tagged_fields(two, 0, len(two) - 1)
    with pytest.raises(IndexError):
        skip_tagged_fields(two[:4], 0, 4)
