"""Fetch responses read by hand against the codec, in every version; and bytes that are no response."""

from struct import pack

import pytest

from tidelog.client.fetch.fetch_reply import read_reply
from tidelog.model.ids import Uuid
from tidelog.protocol.codec import encode
from tidelog.protocol.errors import CorrelationMismatch, MalformedMessage, ProtocolError
from tidelog.protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)

VERSIONS = range(4, 19)
RECORDS = b"these are not looked at" * 20


def frame(version: int, records: bytes | None = RECORDS, *, error_code: int = 0, topics: int = 1) -> bytes:
    data = PartitionData(
        partition_index=3,
        error_code=6,
        high_watermark=1 << 40,
        last_stable_offset=77,
        log_start_offset=5,
        aborted_transactions=[AbortedTransaction(producer_id=9, first_offset=10)] * 2,
        preferred_read_replica=2 if version >= 11 else -1,
        records=records,
    )
    if version >= 12:
        data.diverging_epoch = EpochEndOffset(epoch=1, end_offset=2)
        data.current_leader = LeaderIdAndEpoch(leader_id=1, leader_epoch=2)
    topic = FetchableTopicResponse(topic="a-topic", topic_id=Uuid(b"x" * 16), partitions=[data])
    response = FetchResponse(throttle_time_ms=99, error_code=error_code, session_id=0, responses=[topic] * topics)
    if version >= 16:
        response.node_endpoints = [NodeEndpoint(node_id=1, host="a-long-enough-name", port=2)]
    return pack(">i", 7) + (b"\0" if version >= 12 else b"") + encode(response, version)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_is_read_as_the_codec_wrote_it(version: int) -> None:
    data = frame(version)
    reply = read_reply(data, version, 7)
    assert data[reply.start : reply.end] == RECORDS
    assert reply[:5] == (6, 99, 3, 1 << 40, 77)
    assert reply.log_start_offset == (5 if version >= 5 else -1)
    assert reply.preferred_read_replica == (2 if version >= 11 else -1)
    assert [tuple(each) for each in reply.aborted] == [(9, 10), (9, 10)]


@pytest.mark.parametrize("version", [4, 11, 12, 18])
def test_no_records_is_an_empty_range(version: int) -> None:
    for records in (None, b""):
        reply = read_reply(frame(version, records), version, 7)
        assert reply.start == reply.end


@pytest.mark.parametrize("version", [7, 12, 18])
def test_an_error_of_the_whole_response(version: int) -> None:
    reply = read_reply(frame(version, error_code=70, topics=0), version, 7)
    assert (reply.error_code, reply.throttle_time_ms) == (70, 99)


@pytest.mark.parametrize("version", [4, 11, 12, 18])
def test_cut_anywhere_before_the_end_of_the_records_it_is_malformed(version: int) -> None:
    whole = frame(version)
    for length in range(read_reply(whole, version, 7).end):
        with pytest.raises(ProtocolError):
            read_reply(whole[:length], version, 7)


def test_what_was_not_asked_for() -> None:
    with pytest.raises(CorrelationMismatch):
        read_reply(frame(18), 18, 8)
    with pytest.raises(MalformedMessage, match="2 topics"):
        read_reply(frame(18, topics=2), 18, 7)
    with pytest.raises(MalformedMessage, match="longer than 5 bytes"):
        read_reply(pack(">i", 7) + b"\xff" * 9, 18, 7)
