"""The head of a framed value, and bytes that are none."""

import pytest

from pyspark_tidelog.decoding.errors import BadValue
from pyspark_tidelog.decoding.framing import unframe, unframe_message

HEAD = b"\0\0\1\2\3"


def test_magic_id_and_data() -> None:
    assert unframe(HEAD + b"data") == (0x010203, b"data")
    assert unframe(HEAD) == (0x010203, b"")
    assert unframe(b"\0\xff\xff\xff\xff")[0] == 0xFFFFFFFF


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (b"\0", (0,)),
        (b"\2\0", (0,)),
        (b"\2\2", (1,)),
        (b"\4\2\0", (1, 0)),
        (b"\2\x80\2", (128,)),
    ],
)
def test_paths_to_messages(path: bytes, expected: tuple[int, ...]) -> None:
    assert unframe_message(HEAD + path + b"data") == (0x010203, expected, b"data")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"", "too few"),
        (b"\0\0\0\1", "too few"),
        (b"\1" * 17, "begins with byte 1"),
        (b'{"a": 5}', "begins with byte 123"),
    ],
)
def test_values_that_are_not_framed(value: bytes, reason: str) -> None:
    with pytest.raises(BadValue, match=reason):
        unframe(value)
    with pytest.raises(BadValue, match=reason):
        unframe_message(value)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        (b"", "ends within"),
        (b"\4\2", "ends within"),
        (b"\x80", "ends within"),
        (b"\1", "cannot have -1 steps"),
        (b"\xfe\xff\xff\xff\x0f", "cannot have 2147483647 steps"),
        (b"\2\1", "a step -1"),
        (b"\x80\x80\x80\x80\x80\1", "too long"),
    ],
)
def test_wrong_paths(path: bytes, reason: str) -> None:
    with pytest.raises(BadValue, match=reason):
        unframe_message(HEAD + path)
