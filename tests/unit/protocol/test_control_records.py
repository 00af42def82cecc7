"""Keys and values of control records, in bytes that Kafka writes."""

from typing import Any

import pytest

from tidelog.model.ids import Uuid
from tidelog.protocol.control_records import (
    ControlRecordType,
    EndTxnMarker,
    KRaftVersionRecord,
    LeaderChangeMessage,
    LeaderChangeMessageVoter,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
    decode_control_record_key,
    decode_control_record_value,
    encode_control_record_value,
)
from tidelog.protocol.errors import MalformedMessage
from tidelog.protocol.stored import UnknownRecordVersion

VALUES: list[tuple[ControlRecordType, Any, str]] = [
    (ControlRecordType.COMMIT, EndTxnMarker(coordinator_epoch=9), "0000" + "00000009"),
    (ControlRecordType.ABORT, EndTxnMarker(coordinator_epoch=9), "0000" + "00000009"),
    (
        ControlRecordType.LEADER_CHANGE,
        LeaderChangeMessage(version=0, leader_id=1, voters=[LeaderChangeMessageVoter(voter_id=1)], granting_voters=[]),
        "0000" + "00000001" + "02" + "0000000100" + "01" + "00",
    ),
    (
        ControlRecordType.SNAPSHOT_HEADER,
        SnapshotHeaderRecord(version=0, last_contained_log_timestamp=5),
        "0000" + "0000000000000005" + "00",
    ),
    (ControlRecordType.SNAPSHOT_FOOTER, SnapshotFooterRecord(version=0), "0000" + "00"),
    (ControlRecordType.KRAFT_VERSION, KRaftVersionRecord(version=0, kraft_version=1), "0000" + "0001" + "00"),
    (ControlRecordType.KRAFT_VOTERS, VotersRecord(version=0, voters=[]), "0000" + "01" + "00"),
]


@pytest.mark.parametrize("record_type", ControlRecordType)
def test_a_key_is_a_version_and_a_type(record_type: ControlRecordType) -> None:
    assert decode_control_record_key(bytes([0, 0, 0, record_type])) is record_type


def test_a_type_of_a_later_release_is_passed_over() -> None:
    assert decode_control_record_key(b"\0\0\0\x07") is None


def test_a_later_version_of_the_key_may_be_longer() -> None:
    assert decode_control_record_key(b"\0\x01\0\x01 and more") is ControlRecordType.COMMIT


@pytest.mark.parametrize("key", [b"", b"\0\0\0", b"\xff\xff\0\x01"])
def test_a_key_that_is_none_is_malformed(key: bytes) -> None:
    with pytest.raises(MalformedMessage):
        decode_control_record_key(key)


@pytest.mark.parametrize(("record_type", "message", "text"), VALUES)
def test_values(record_type: ControlRecordType, message: Any, text: str) -> None:
    assert encode_control_record_value(message).hex() == text
    assert decode_control_record_value(record_type, bytes.fromhex(text)) == message


@pytest.mark.parametrize(("record_type", "message", "text"), VALUES)
def test_too_few_or_too_many_bytes_are_malformed(record_type: ControlRecordType, message: Any, text: str) -> None:
    data = bytes.fromhex(text)
    for damaged in [data[:end] for end in range(len(data))] + [data + b"\0"]:
        with pytest.raises(MalformedMessage):
            decode_control_record_value(record_type, damaged)


def test_the_version_of_a_quorum_record_is_its_first_field() -> None:
    voter = LeaderChangeMessageVoter(voter_id=1, voter_directory_id=Uuid(bytes(15) + b"\x05"))
    message = LeaderChangeMessage(version=1, leader_id=1, voters=[voter], granting_voters=[voter])
    assert (
        decode_control_record_value(ControlRecordType.LEADER_CHANGE, encode_control_record_value(message, 1)) == message
    )
    with pytest.raises(UnknownRecordVersion):
        decode_control_record_value(ControlRecordType.SNAPSHOT_FOOTER, b"\0\x01\0")


def test_a_marker_of_a_later_version_is_read_as_far_as_it_is_known() -> None:
    marker = decode_control_record_value(ControlRecordType.COMMIT, bytes.fromhex("0001" + "00000009" + "abcd"))
    assert marker == EndTxnMarker(coordinator_epoch=9)
    with pytest.raises(MalformedMessage):
        decode_control_record_value(ControlRecordType.COMMIT, bytes.fromhex("ffff00000009"))
