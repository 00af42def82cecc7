"""Produce 0 to 2, as bytes."""

import struct

import pytest
from tests.support.recorded_frames import old_produce

from tidelog.protocol.errors import MalformedMessage
from tidelog.server.produce.old_versions import refuse_old_produce

HEADER_BYTES = 4 + 8 + 2 + 4  # size, key, version, correlation id, the client's id


def body_of(version: int) -> bytes:
    return old_produce(version)[HEADER_BYTES:]


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_body_that_ends_anywhere_is_malformed(version: int) -> None:
    body = body_of(version)
    assert refuse_old_produce(1, version, memoryview(body)) is not None
    for end in range(len(body)):
        with pytest.raises(MalformedMessage):
            refuse_old_produce(1, version, memoryview(body[:end]))


@pytest.mark.parametrize("length", [-1, -2, -6, -32_768])
def test_a_negative_length_does_not_lead_around_in_circles(length: int) -> None:
    body = struct.pack(">hi", 1, 1_000) + struct.pack(">i", 0x7FFF_FFFF) + bytes(8) + struct.pack(">h", length)
    for at in range(10, 18, 2):
        hostile = bytearray(body + bytes(8))
        struct.pack_into(">h", hostile, at, length)
        with pytest.raises(MalformedMessage):
            refuse_old_produce(1, 0, memoryview(bytes(hostile)))


def test_negative_counts() -> None:
    with pytest.raises(MalformedMessage):
        refuse_old_produce(1, 0, memoryview(struct.pack(">hii", 1, 1_000, -1)))


def test_acks_0_expects_nothing() -> None:
    assert refuse_old_produce(1, 0, memoryview(struct.pack(">hii", 0, 1_000, 0))) is None
