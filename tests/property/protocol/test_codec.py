"""The compiled codec against its dumb twin, and against bytes that are no message."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.property.protocol.strategies import messages
from tests.property.protocol.twin import write_message
from tests.unit.protocol.toys import AllTypes, Gated, OldStyle, Tagged

from tidelog.protocol.codec import decode, decode_exact, encode, encode_parts
from tidelog.protocol.errors import MalformedMessage

TOYS: list[tuple[type, int]] = [
    *((AllTypes, version) for version in (0, 2)),
    *((Gated, version) for version in range(4)),
    *((Tagged, version) for version in range(3)),
    *((OldStyle, version) for version in range(2)),
]
toys = pytest.mark.parametrize(("cls", "version"), TOYS)
frugal = settings(max_examples=25, deadline=None, derandomize=True)


@toys
@frugal
@given(data=st.data())
def test_the_bytes_of_the_twin_both_ways(cls: type, version: int, data: st.DataObject) -> None:
    message = data.draw(messages(cls, version))
    expected = write_message(message, version)
    assert encode(message, version) == expected
    assert b"".join(encode_parts(message, version)) == expected
    for make in (bytes, bytearray, memoryview):
        assert decode_exact(cls, make(expected), version) == message


@toys
@frugal
@given(data=st.data())
def test_changed_bytes_are_a_message_or_malformed(cls: type, version: int, data: st.DataObject) -> None:
    encoded = bytearray(write_message(data.draw(messages(cls, version)), version))
    places = st.integers(0, len(encoded) - 1)
    values = st.sampled_from([0, 1, 0x7F, 0x80, 0xFF]) | st.integers(0, 255)
    for place, value in data.draw(st.lists(st.tuples(places, values), min_size=1, max_size=4)):
        encoded[place] = value
    _is_a_message_or_malformed(cls, version, encoded)


@toys
@frugal
@given(noise=st.binary(max_size=200))
def test_random_bytes_are_a_message_or_malformed(cls: type, version: int, noise: bytes) -> None:
    _is_a_message_or_malformed(cls, version, noise)


def _is_a_message_or_malformed(cls: type, version: int, buffer: Any) -> None:
    """Check that every kind of buffer gives the same verdict, and that a message which is read encodes and decodes to
    itself."""
    verdicts = []
    message: Any
    for make in (bytes, bytearray, memoryview):
        try:
            message, position = decode(cls, make(buffer), version)
        except MalformedMessage as malformed:
            verdicts.append(str(malformed))
        else:
            assert position <= len(buffer)
            again = encode(message, version)
            assert encode(decode_exact(cls, again, version), version) == again
            verdicts.append("a message")
    assert len(set(verdicts)) == 1
