"""The codec in slices reads and writes the same as the ordinary one, counts elements before it builds them, and pauses
often enough."""

from collections.abc import Generator
from typing import Any, TypeVar

import pytest
from tests.support.declared_messages import declared_messages
from tests.support.message_builder import MessageBuilder, seed_of
from tests.unit.protocol.test_codec_hostile import samples

from tidelog.protocol import compile_sliced_decoder, compile_sliced_encoder
from tidelog.protocol.codec import decode, encode, sliced_decoder, sliced_encoder
from tidelog.protocol.errors import MalformedMessage, MessageTooLarge, TooManyElements
from tidelog.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tidelog.protocol.messages.find_coordinator import FindCoordinatorRequest
from tidelog.protocol.messages.list_groups import ListGroupsRequest
from tidelog.protocol.schema import schema_of
from tidelog.protocol.varint import varint

T = TypeVar("T")
PLENTY = 1 << 40
BUILDS = 2


def run(steps: Generator[None, None, T]) -> tuple[T, int]:
    """Run the steps; return their result, and how often they paused."""
    pauses = 0
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return done.value, pauses
        pauses += 1


def read(cls: type, data: bytes, version: int, allowed: int = PLENTY) -> tuple[Any, int]:
    (message, after), pauses = run(sliced_decoder(cls, version)(data, 0, len(data), [allowed]))
    assert after == len(data)
    return message, pauses


@pytest.mark.parametrize("name", sorted(each for each in declared_messages() if each.endswith(("Request", "Response"))))
def test_every_message_and_version_is_the_same_in_slices(name: str) -> None:
    cls = declared_messages()[name]
    versions = schema_of(cls).versions
    for version in range(versions.lowest, versions.highest + 1):
        for build in range(BUILDS):
            message = MessageBuilder(version, seed_of(name, version, build)).build(cls)
            whole = encode(message, version)
            parts, _ = run(sliced_encoder(cls, version)(message, PLENTY))
            assert b"".join(bytes(part) for part in parts) == whole
            assert read(cls, whole, version)[0] == decode(cls, whole, version)[0]


def test_truncated_at_every_byte() -> None:
    for message, version in samples():
        encoded = encode(message, version)
        for length in range(len(encoded)):
            with pytest.raises(MalformedMessage):
                run(sliced_decoder(type(message), version)(encoded[:length], 0, length, [PLENTY]))


def partitions(topics: int, each: int) -> FetchRequest:
    return FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        topics=[
            FetchTopic(
                topic=f"t{topic}",
                partitions=[
                    FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=0) for index in range(each)
                ],
            )
            for topic in range(topics)
        ],
        forgotten_topics_data=[],
    )


@pytest.mark.parametrize(("topics", "each"), [(1, 5_000), (5_000, 1), (70, 70)])
def test_no_more_than_a_slice_lies_between_two_pauses(topics: int, each: int) -> None:
    request = partitions(topics, each)
    encoded = encode(request, 12)
    message, pauses = read(FetchRequest, encoded, 12)
    assert message == request
    assert pauses >= topics * (each + 1) // compile_sliced_decoder.SLICE - 1
    parts, pauses = run(sliced_encoder(FetchRequest, 12)(request, PLENTY))
    assert b"".join(parts) == encoded
    assert pauses >= topics * (each + 1) // compile_sliced_encoder.SLICE - 1
    assert 1 < len(parts) < 2 + topics * (each + 1) // compile_sliced_encoder.PART  # joined, but not all at once


def test_elements_of_all_arrays_are_counted_together() -> None:
    encoded = encode(partitions(10, 20), 12)
    read(FetchRequest, encoded, 12, allowed=10 + 200)
    with pytest.raises(TooManyElements):
        read(FetchRequest, encoded, 12, allowed=10 + 199)


def test_an_array_is_counted_before_any_of_it_is_built() -> None:
    """A million empty names are refused before any of them is read, and before the first look at the clock."""
    encoded = encode(FindCoordinatorRequest(key_type=0, coordinator_keys=[""] * 1_000_000), 4)
    steps = sliced_decoder(FindCoordinatorRequest, 4)(encoded, 0, len(encoded), [100_000])
    with pytest.raises(TooManyElements):
        next(steps)


def with_tags(count: int) -> bytes:
    """Return a request with `count` unknown tagged fields."""
    encoded = encode(ListGroupsRequest(states_filter=[], types_filter=[]), 5)
    return encoded[:-1] + varint(count) + b"\x63\x00" * count


def test_tagged_fields_count_as_elements() -> None:
    _message, pauses = read(ListGroupsRequest, with_tags(1_000), 5, allowed=1_000)
    assert pauses >= 1_000 // compile_sliced_decoder.SLICE
    with pytest.raises(TooManyElements):
        read(ListGroupsRequest, with_tags(1_001), 5, allowed=1_000)


def test_a_tagged_field_that_ends_after_the_message() -> None:
    data = with_tags(1)[:-1] + b"\x05"
    with pytest.raises(MalformedMessage):
        run(sliced_decoder(ListGroupsRequest, 5)(data, 0, len(data), [PLENTY]))


def test_what_is_written_has_a_limit() -> None:
    request = partitions(2, 5_000)
    size = len(encode(request, 12))
    run(sliced_encoder(FetchRequest, 12)(request, size))
    with pytest.raises(MessageTooLarge):
        run(sliced_encoder(FetchRequest, 12)(request, size - 1))
