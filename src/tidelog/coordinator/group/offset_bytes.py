"""The bytes of committed offsets, read and written by hand. Compiled by mypyc; the same file runs interpreted.

Offsets are nearly all that `__consumer_offsets` holds, a million of them at a start, so they do not go through the
codec of all messages, as long as they look as they nearly always do. Whatever else there is (damage, a field of a later
release, a text that is too long) is answered with None, and the codec says what to make of it: tests hold the one
against the other.

    key    type 1, group, topic, partition
    value  version, offset, leader epoch (3+), metadata, commit time, expiry (1), topic id (4, in a tagged field)
"""

from typing import Any, Final

from librt.strings import (
    BytesWriter,
    read_i16_be,
    read_i32_be,
    read_i64_be,
    write_i16_be,
    write_i32_be,
    write_i64_be,
)
from mypy_extensions import i16, i32, i64, u8

from tidelog.coordinator.record_framing import CoordinatorRecord

OFFSET_COMMIT: Final = 1
WITH_EXPIRY: Final = 1
WITH_LEADER_EPOCH: Final = 3
WITH_TOPIC_ID: Final = 4
MAX_STRING_BYTES: Final = 0x7FFF
SHORT: Final = 0x7F  # the largest number that is one byte as a varint
METADATA: Final = 14  # where it starts, behind version, offset and leader epoch
UUID_BYTES: Final = 16
NO_TOPIC_ID: Final = bytes(16)
NO_TAGS: Final = 0
# One tagged field: number 0, of 16 bytes.
TOPIC_ID_TAG: Final = b"\x01\x00\x10"
# Make objects without calling their `__init__` and `__new__`, which take longer than all the reading.
_new: Any = object.__new__
_new_tuple: Any = tuple.__new__


class OffsetBytes:
    """The codec of committed offsets. `key_class` and `value_class` are the messages that it reads and writes."""

    def __init__(self, key_class: Any, value_class: Any) -> None:
        self.key_class = key_class
        self.value_class = value_class
        self.topic_id = NO_TOPIC_ID  # the last one that was read: one object for all offsets of a topic, mostly

    def encode_key(self, key: Any) -> bytes | None:
        try:
            return _key_bytes(key.group.encode(), key.topic.encode(), key.partition)
        except (AttributeError, OverflowError, TypeError, ValueError):
            return None

    def encode_value(self, value: Any, version: int) -> bytes | None:
        try:
            return _value_bytes(version, value, value.metadata.encode())
        except (AttributeError, OverflowError, TypeError, ValueError):
            return None

    def decode(self, key: bytes, value: bytes | None) -> Any:
        try:
            key_message = self.decode_key(key)
            if key_message is None:
                return None
            if value is None:
                return CoordinatorRecord(key_message, None, None)
            value_message = self.decode_value(value)
            if value_message is None:
                return None
            return _new_tuple(CoordinatorRecord, (key_message, value_message, value[1]))
        except UnicodeDecodeError:
            return None

    def decode_key(self, key: bytes) -> Any:
        size: i64 = len(key)
        if size < 4 or read_i16_be(key, 0) != OFFSET_COMMIT:
            return None
        group_end: i64 = 4 + i64(read_i16_be(key, 2))
        if group_end < 4 or group_end + 2 > size:
            return None
        topic: i64 = group_end + 2
        topic_end: i64 = topic + i64(read_i16_be(key, group_end))
        if topic_end < topic or topic_end + 4 != size:
            return None
        message = _new(self.key_class)
        message.group = key[4:group_end].decode()
        message.topic = key[topic:topic_end].decode()
        message.partition = read_i32_be(key, topic_end)
        return message

    def decode_value(self, value: bytes) -> Any:
        if len(value) < 2 or value[0] != 0:
            return None
        if value[1] == WITH_TOPIC_ID:
            return self._decode_with_topic_id(value)
        if value[1] < WITH_TOPIC_ID:
            return self._decode_old(value)
        return None

    def _decode_with_topic_id(self, value: bytes) -> Any:
        size: i64 = len(value)
        if size <= METADATA or value[METADATA] > SHORT:
            return None
        length: i64 = i64(value[METADATA]) - 1
        end: i64 = METADATA + 1 + length
        if length < 0 or end + 8 > size or not self._read_topic_id(value, end + 8):
            return None
        message = _new(self.value_class)
        message.offset = read_i64_be(value, 2)
        message.leader_epoch = read_i32_be(value, 10)
        message.metadata = "" if length == 0 else value[METADATA + 1 : end].decode()
        message.commit_timestamp = read_i64_be(value, end)
        message.expire_timestamp = -1
        message.topic_id = self.topic_id
        return message

    def _decode_old(self, value: bytes) -> Any:
        size: i64 = len(value)
        start: i64 = METADATA if value[1] == WITH_LEADER_EPOCH else 10
        if size < start + 2:
            return None
        length: i64 = i64(read_i16_be(value, start))
        end: i64 = start + 2 + length
        has_expiry: bool = value[1] == WITH_EXPIRY
        if length < 0 or end + (16 if has_expiry else 8) != size:
            return None
        return self.value_class(
            offset=read_i64_be(value, 2),
            leader_epoch=read_i32_be(value, 10) if value[1] == WITH_LEADER_EPOCH else -1,
            metadata=value[start + 2 : end].decode(),
            commit_timestamp=read_i64_be(value, end),
            expire_timestamp=read_i64_be(value, end + 8) if has_expiry else -1,
            topic_id=NO_TOPIC_ID,
        )

    def _read_topic_id(self, value: bytes, p: i64) -> bool:
        """Read the tagged fields at `p` into `topic_id`. False unless that is the topic id or nothing, and the value
        ends there."""
        left: i64 = len(value) - p
        if left == 1 and value[p] == NO_TAGS:
            self.topic_id = NO_TOPIC_ID
            return True
        if left != 3 + UUID_BYTES or value[p : p + 3] != TOPIC_ID_TAG:
            return False
        topic_id = value[p + 3 :]
        if topic_id != self.topic_id:
            self.topic_id = topic_id
        return True


def commit_key_bytes(group_id: str, topic: str, partition: int) -> bytes | None:
    """Return the key of an offset; None where a text is too long for it."""
    return _key_bytes(group_id.encode(), topic.encode(), partition)


def commit_value_bytes(
    offset: i64, leader_epoch: i32, metadata: bytes, commit_timestamp: i64, topic_id: bytes
) -> bytes | None:
    """Return the value of a commit without an expiry of its own, as brokers write it today; None where the codec of all
    messages has to do it."""
    size: i64 = len(metadata)
    if size >= SHORT:
        return None
    out = BytesWriter()
    write_i16_be(out, WITH_TOPIC_ID)
    write_i64_be(out, offset)
    write_i32_be(out, leader_epoch)
    out.append(u8(size + 1))
    out.write(metadata)
    write_i64_be(out, commit_timestamp)
    return _with_topic_id(out, topic_id)


def _key_bytes(group: bytes, topic: bytes, partition: i32) -> bytes | None:
    if len(group) > MAX_STRING_BYTES or len(topic) > MAX_STRING_BYTES:
        return None
    out = BytesWriter()
    write_i16_be(out, OFFSET_COMMIT)
    write_i16_be(out, i16(len(group)))
    out.write(group)
    write_i16_be(out, i16(len(topic)))
    out.write(topic)
    write_i32_be(out, partition)
    return out.getvalue()


def _value_bytes(version: i64, value: Any, metadata: bytes) -> bytes | None:
    size: i64 = len(metadata)
    if version < 0 or version > WITH_TOPIC_ID or size > MAX_STRING_BYTES:
        return None
    out = BytesWriter()
    write_i16_be(out, i16(version))
    write_i64_be(out, value.offset)
    if version >= WITH_LEADER_EPOCH:
        write_i32_be(out, value.leader_epoch)
    if version < WITH_TOPIC_ID:
        write_i16_be(out, i16(size))
    elif size < SHORT:
        out.append(u8(size + 1))
    else:
        return None
    out.write(metadata)
    write_i64_be(out, value.commit_timestamp)
    if version == WITH_EXPIRY:
        write_i64_be(out, value.expire_timestamp)
    elif version == WITH_TOPIC_ID:
        return _with_topic_id(out, value.topic_id)
    return out.getvalue()


def _with_topic_id(out: BytesWriter, topic_id: bytes) -> bytes | None:
    if len(topic_id) != UUID_BYTES:
        return None
    if topic_id == NO_TOPIC_ID:
        out.append(NO_TAGS)
    else:
        out.write(TOPIC_ID_TAG)
        out.write(topic_id)
    return out.getvalue()
