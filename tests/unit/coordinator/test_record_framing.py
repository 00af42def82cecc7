"""Keys and values of the internal topics, in bytes that Kafka's coordinators would write."""

import pytest

from tidelog.coordinator.group.records import GROUP_RECORDS
from tidelog.coordinator.group.records.classic import OffsetCommitKey, OffsetCommitValue
from tidelog.coordinator.record_framing import RecordTypesById, decode_record, encode_key, encode_value
from tidelog.coordinator.share.records import SHARE_RECORDS
from tidelog.coordinator.transaction.records import TRANSACTION_RECORDS
from tidelog.protocol.errors import MalformedMessage
from tidelog.protocol.schema import schema_of
from tidelog.protocol.stored import UnknownRecordType, UnknownRecordVersion

KEY = OffsetCommitKey(group="g", topic="t", partition=7)
VALUE = OffsetCommitValue(offset=42, leader_epoch=3, metadata="m", commit_timestamp=1000)
# Type 1, then the key message; version 3, then the value message.
KEY_BYTES = bytes.fromhex("0001" + "000167" + "000174" + "00000007")
VALUE_BYTES = bytes.fromhex("0003" + "000000000000002a" + "00000003" + "00016d" + "00000000000003e8")


def test_a_key_begins_with_its_type_and_a_value_with_its_version() -> None:
    assert encode_key(KEY) == KEY_BYTES
    assert encode_value(VALUE, 3) == VALUE_BYTES
    assert decode_record(GROUP_RECORDS, KEY_BYTES, VALUE_BYTES) == (KEY, VALUE, 3)


def test_a_tombstone_has_no_value() -> None:
    assert encode_value(None, 3) is None
    assert decode_record(GROUP_RECORDS, KEY_BYTES, None) == (KEY, None, None)


@pytest.mark.parametrize("types", [GROUP_RECORDS, TRANSACTION_RECORDS, SHARE_RECORDS])
def test_every_record_stands_under_its_own_type(types: RecordTypesById) -> None:
    for record_type, (key, value) in types.items():
        assert (schema_of(key).api_key, schema_of(key).kind) == (record_type, "coordinator-key")
        assert (schema_of(value).api_key, schema_of(value).kind) == (record_type, "coordinator-value")


def test_a_type_of_a_later_release_is_named() -> None:
    with pytest.raises(UnknownRecordType) as raised:
        decode_record(GROUP_RECORDS, b"\x03\xe8" + KEY_BYTES[2:], VALUE_BYTES)
    assert raised.value.record_type == 1000


@pytest.mark.parametrize("version", [-1, 5])
def test_a_version_that_is_not_known_is_named(version: int) -> None:
    with pytest.raises(UnknownRecordVersion) as raised:
        decode_record(GROUP_RECORDS, KEY_BYTES, version.to_bytes(2, "big", signed=True) + VALUE_BYTES[2:])
    assert (raised.value.name, raised.value.version) == ("OffsetCommitValue", version)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *((KEY_BYTES[:end], VALUE_BYTES) for end in range(len(KEY_BYTES))),
        *((KEY_BYTES, VALUE_BYTES[:end]) for end in range(len(VALUE_BYTES))),
        (KEY_BYTES + b"\0", VALUE_BYTES),
        (KEY_BYTES, VALUE_BYTES + b"\0"),
    ],
)
def test_too_few_or_too_many_bytes_are_malformed(key: bytes, value: bytes) -> None:
    with pytest.raises(MalformedMessage):
        decode_record(GROUP_RECORDS, key, value)
