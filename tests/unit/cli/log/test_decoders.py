"""The meaning of the records of internal topics, in words."""

from typing import Any

import pytest

from tidelog.cli.log.decoders import DECODERS, decoder_for
from tidelog.cli.output.plain import to_plain
from tidelog.coordinator.group.records.classic import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
)
from tidelog.coordinator.record_framing import encode_key, encode_value
from tidelog.metadata.record_framing import encode_metadata_record
from tidelog.metadata.records.topics import TopicRecord
from tidelog.model.ids import Uuid
from tidelog.protocol.errors import MalformedMessage
from tidelog.protocol.messages.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from tidelog.protocol.stored import encode_prefixed
from tidelog.records.record import Record


def meaning(decoder: str, key: bytes | None, value: bytes | None) -> Any:
    return to_plain(DECODERS[decoder](Record(0, 0, key, value)))


def test_a_committed_offset_and_its_tombstone() -> None:
    key = encode_key(OffsetCommitKey(group="g", topic="t", partition=3))
    value = OffsetCommitValue(offset=42, metadata="", commit_timestamp=7)
    shown = meaning("offsets", key, encode_value(value, 3))
    assert (shown["type"], shown["version"]) == ("OffsetCommit", 3)
    assert shown["key"] == {"group": "g", "topic": "t", "partition": 3}
    assert shown["value"]["offset"] == 42
    assert meaning("offsets", key, None) == {
        "type": "OffsetCommit",
        "version": None,
        "key": shown["key"],
        "value": None,
    }


def group(protocol_type: str, subscription: bytes) -> bytes:
    assignment = encode_prefixed(ConsumerProtocolAssignment(assigned_partitions=[]), 0)
    member = MemberMetadata(
        member_id="m",
        client_id="c",
        client_host="h",
        session_timeout=1,
        subscription=subscription,
        assignment=assignment,
    )
    value = GroupMetadataValue(
        protocol_type=protocol_type, generation=1, protocol="range", leader="m", members=[member]
    )
    encoded = encode_value(value, 3)
    assert encoded is not None
    return encoded


@pytest.mark.parametrize("later", [b"", b"\xff\xff\xff\xff"])
def test_what_consumers_told_each_other_is_decoded(later: bytes) -> None:
    """A subscription is decoded; one of a future version as far as it is known."""
    subscription = encode_prefixed(ConsumerProtocolSubscription(topics=["a", "b"]), 3)
    if later:
        subscription = b"\x00\x09" + subscription[2:] + later
    shown = meaning("offsets", encode_key(GroupMetadataKey(group="g")), group("consumer", subscription))
    assert shown["value"]["members"][0]["subscription"]["topics"] == ["a", "b"]
    assert shown["value"]["members"][0]["assignment"] == {"assigned_partitions": [], "user_data": None}


@pytest.mark.parametrize(("protocol_type", "embedded"), [("connect", b"\0\1text"), ("consumer", b"\0\1")])
def test_other_words_of_members_stay_as_they_are(protocol_type: str, embedded: bytes) -> None:
    shown = meaning("offsets", encode_key(GroupMetadataKey(group="g")), group(protocol_type, embedded))
    assert shown["value"]["members"][0]["subscription"] == embedded.decode()


def test_uuids_are_shown_as_kafka_writes_them() -> None:
    value = encode_metadata_record(TopicRecord(name="t", topic_id=Uuid(bytes(15) + b"\1")), 0)
    assert meaning("cluster-metadata", None, value)["value"] == {"name": "t", "topic_id": "AAAAAAAAAAAAAAAAAAAAAQ"}


@pytest.mark.parametrize("decoder", DECODERS)
def test_records_without_what_they_need_are_refused(decoder: str) -> None:
    with pytest.raises(MalformedMessage):
        meaning(decoder, None, None)


def test_the_directory_names_the_decoder() -> None:
    assert decoder_for("/data/__consumer_offsets-12/0.log") is DECODERS["offsets"]
    assert decoder_for("/data/__transaction_state-0/0.log") is DECODERS["transaction-log"]
    assert decoder_for("/data/__share_group_state-0/0.log") is DECODERS["share-group-state"]
    assert decoder_for("/data/__cluster_metadata-0/0.log") is DECODERS["cluster-metadata"]
    assert decoder_for("/data/bootstrap.checkpoint") is DECODERS["cluster-metadata"]
    assert decoder_for("/data/__consumer_offsets_copy-0/0.log") is None
    assert decoder_for("/0.log") is None
