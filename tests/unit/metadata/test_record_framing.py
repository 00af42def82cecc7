"""The frame of metadata records, in bytes that Kafka's MetadataRecordSerde would write."""

import pytest

from tidelog.metadata.record_framing import decode_metadata_record, encode_metadata_record
from tidelog.metadata.records import METADATA_RECORDS
from tidelog.metadata.records.brokers import RegisterBrokerRecord
from tidelog.metadata.records.cluster import FeatureLevelRecord
from tidelog.metadata.records.transactions import NoOpRecord
from tidelog.model.ids import ZERO_UUID
from tidelog.protocol.errors import MalformedMessage
from tidelog.protocol.schema import schema_of
from tidelog.protocol.stored import UnknownRecordType, UnknownRecordVersion

# Frame version 1, type 12, version 0, then the message.
FEATURE_LEVEL = bytes.fromhex("010c00" + "11" + b"metadata.version".hex() + "001e" + "00")


def test_a_record_is_frame_version_type_version_and_message() -> None:
    message = FeatureLevelRecord(name="metadata.version", feature_level=30)
    assert encode_metadata_record(message, 0) == FEATURE_LEVEL
    assert decode_metadata_record(FEATURE_LEVEL) == (message, 0)


def test_the_version_of_the_message_is_kept() -> None:
    record = RegisterBrokerRecord(
        broker_id=1, incarnation_id=ZERO_UUID, broker_epoch=2, end_points=[], features=[], rack=None
    )
    assert [decode_metadata_record(encode_metadata_record(record, version)).version for version in range(5)] == [
        *range(5)
    ]


def test_every_record_stands_under_its_own_type() -> None:
    assert {record_type: schema_of(cls).api_key for record_type, cls in METADATA_RECORDS.items()} == {
        record_type: record_type for record_type in METADATA_RECORDS
    }
    assert {schema_of(cls).kind for cls in METADATA_RECORDS.values()} == {"metadata"}


@pytest.mark.parametrize("end", range(len(FEATURE_LEVEL)))
def test_a_record_that_was_cut_short_is_malformed(end: int) -> None:
    with pytest.raises(MalformedMessage):
        decode_metadata_record(FEATURE_LEVEL[:end])


@pytest.mark.parametrize(
    "damaged",
    [
        b"\x00" + FEATURE_LEVEL[1:],  # the frame of KRaft's preview release
        b"\x02" + FEATURE_LEVEL[1:],  # a frame version of the future
        FEATURE_LEVEL + b"\x00",
        b"\x01\xff\xff\x03\x00",  # a type beyond int16
        b"\x01\xff\xff\xff\xff\xff\x0f\x00",  # a varint that does not end
    ],
)
def test_what_is_no_frame_is_malformed(damaged: bytes) -> None:
    with pytest.raises(MalformedMessage):
        decode_metadata_record(damaged)


def test_a_type_of_a_later_release_is_named() -> None:
    with pytest.raises(UnknownRecordType) as raised:
        decode_metadata_record(b"\x01\x90\x4e\x00\x00")
    assert raised.value.record_type == 10_000


def test_a_version_of_a_later_release_is_named() -> None:
    with pytest.raises(UnknownRecordVersion) as raised:
        decode_metadata_record(b"\x01\x14\x01\x00")
    assert (raised.value.name, raised.value.version) == (NoOpRecord.__name__, 1)
