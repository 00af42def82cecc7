"""How the coordinators write their records: `__consumer_offsets`, `__transaction_state` and `__share_group_state`.

The key is the record's type (int16) and the key message, which has only ever had version 0; the value is its version
(int16) and the value message. A record without a value is a tombstone.

What a log holds by the million may have a codec of its own (`use_own_codec`), which is asked first.
"""

from typing import Any, NamedTuple, Protocol

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


class OwnCodec(Protocol):
    """A faster codec for one kind of record. None means: the codec of all messages is to do it, or to say what is
    wrong."""

    def encode_key(self, key: Any) -> bytes | None: ...

    def encode_value(self, value: Any, version: int) -> bytes | None: ...

    def decode(self, key: bytes, value: bytes | None) -> CoordinatorRecord | None: ...


_own_codecs: dict[type[Any], OwnCodec] = {}  # by the types of key and value


def use_own_codec(types: RecordTypes, codec: OwnCodec) -> None:
    _own_codecs[types.key] = _own_codecs[types.value] = codec


def encode_key(key: Any) -> bytes:
    own = _own_codecs.get(type(key))
    if own is not None and (encoded := own.encode_key(key)) is not None:
        return encoded
    return schema_of(type(key)).api_key.to_bytes(PREFIX_BYTES, "big") + encode(key, KEY_VERSION)


def encode_value(value: Any, version: int) -> bytes | None:
    if value is None:
        return None
    own = _own_codecs.get(type(value))
    if own is not None and (encoded := own.encode_value(value, version)) is not None:
        return encoded
    return encode_prefixed(value, version)


def decode_record(types: RecordTypesById, key: Buffer, value: Buffer | None) -> CoordinatorRecord:
    """Decode a record. UnknownRecordType and UnknownRecordVersion for what a later release wrote, MalformedMessage for
    damage."""
    # Types have a byte so far; reading two takes as long as all the rest of an offset.
    declared = types.get(key[1]) if len(key) >= PREFIX_BYTES and key[0] == 0 else None
    if declared is None:
        raise UnknownRecordType(read_prefix(key))
    own = _own_codecs.get(declared.key)
    if own is not None and (record := _decode_own(own, key, value)) is not None:
        return record
    key_message = decode_exact(declared.key, key, KEY_VERSION, PREFIX_BYTES)
    if value is None:
        return CoordinatorRecord(key_message, None, None)
    return CoordinatorRecord(key_message, *decode_prefixed(declared.value, value))


def _decode_own(own: OwnCodec, key: Buffer, value: Buffer | None) -> CoordinatorRecord | None:
    if value is None or type(value) is bytes:
        return own.decode(key if type(key) is bytes else bytes(key), value)
    return own.decode(bytes(key), bytes(value))
