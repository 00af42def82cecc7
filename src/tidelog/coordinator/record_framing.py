"""How the coordinators write their records: `__consumer_offsets`, `__transaction_state` and `__share_group_state`.

The key is the record's type (int16) and the key message, which has only ever had version 0; the value is its version
(int16) and the value message. A record without a value is a tombstone.
"""

from typing import Any, NamedTuple

from tidelog.protocol.codec import decode_exact, encode
from tidelog.protocol.schema import Buffer, schema_of
from tidelog.protocol.stored import PREFIX_BYTES, UnknownRecordType, decode_prefixed, encode_prefixed, read_prefix

KEY_VERSION = 0


class RecordTypes(NamedTuple):
    key: type[Any]
    value: type[Any]


RecordTypesById = dict[int, RecordTypes]


class CoordinatorRecord(NamedTuple):
    key: Any
    value: Any  # None: what the key names is gone
    value_version: int | None


def encode_key(key: Any) -> bytes:
    return schema_of(type(key)).api_key.to_bytes(PREFIX_BYTES, "big") + encode(key, KEY_VERSION)


def encode_value(value: Any, version: int) -> bytes | None:
    return None if value is None else encode_prefixed(value, version)


def decode_record(types: RecordTypesById, key: Buffer, value: Buffer | None) -> CoordinatorRecord:
    """UnknownRecordType and UnknownRecordVersion for what a later release wrote, MalformedMessage for damage."""
    record_type = read_prefix(key)
    declared = types.get(record_type)
    if declared is None:
        raise UnknownRecordType(record_type)
    key_message = decode_exact(declared.key, key, KEY_VERSION, PREFIX_BYTES)
    if value is None:
        return CoordinatorRecord(key_message, None, None)
    return CoordinatorRecord(key_message, *decode_prefixed(declared.value, value))
