"""Committed offsets out of a log, by the run: a start may find a million of them. Compiled by mypyc.

What is read here are records as brokers write them today, with values, as many as follow one another. Whatever else
there is (a tombstone, an older version, another kind of record, damage) ends the run, and is left to the codec of all
messages, which also says what is wrong with it. Texts and ids that are those of the record before are the same objects.
"""

from typing import Final

from librt.strings import read_i16_be, read_i32_be, read_i64_be
from mypy_extensions import i64

from tidelog.coordinator.group.offset_bytes import (
    METADATA,
    NO_TAGS,
    NO_TOPIC_ID,
    OFFSET_COMMIT,
    SHORT,
    TOPIC_ID_TAG,
    UUID_BYTES,
    WITH_TOPIC_ID,
)
from tidelog.coordinator.group.offsets.offset_and_metadata import OffsetAndMetadata
from tidelog.records.kernels_decode import NULL_VALUE, Columns, is_null

NO_EXPIRY: Final = -1
TAG_BYTES: Final = 3


class LoadedOffsets:
    """A run of commits, in the order of the log; a message for `GroupCoordinator.replay`."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str, int, OffsetAndMetadata]] = []  # group, topic, partition
        self.groups: dict[str, int] = {}  # by group: when its first offset of the run was committed


class _Texts:
    """The group, topic and topic id that were read last."""

    def __init__(self) -> None:
        self.group_bytes = b""
        self.group = ""
        self.topic_bytes = b""
        self.topic = ""
        self.topic_id = NO_TOPIC_ID

    def read_group(self, raw: bytes) -> str:
        if raw != self.group_bytes:
            self.group = raw.decode()
            self.group_bytes = raw
        return self.group

    def read_topic(self, raw: bytes) -> str:
        if raw != self.topic_bytes:
            self.topic = raw.decode()
            self.topic_bytes = raw
        return self.topic

    def read_topic_id(self, raw: bytes) -> bytes:
        if raw != self.topic_id:
            self.topic_id = raw
        return self.topic_id


def load_offsets(columns: Columns, row: i64, end: i64) -> tuple[LoadedOffsets, i64]:
    """Read the run that begins with `row`, to `end` at most; return it and the first row that is no part of it."""
    loaded = LoadedOffsets()
    texts = _Texts()
    has_tombstones = columns.null_values > 0
    try:
        while row < end:
            if has_tombstones and is_null(columns, row, NULL_VALUE):
                break
            if not _load_row(columns, row, loaded, texts):
                break
            row += 1
    except UnicodeDecodeError:
        pass
    return loaded, row


def _load_row(columns: Columns, row: i64, loaded: LoadedOffsets, texts: _Texts) -> bool:
    data = columns.data
    key: i64 = i64(columns.positions[4 * row])
    key_end: i64 = i64(columns.positions[4 * row + 1])
    if key_end - key < 4 or read_i16_be(data, key) != OFFSET_COMMIT:
        return False
    group_end: i64 = key + 4 + i64(read_i16_be(data, key + 2))
    if group_end < key + 4 or group_end + 2 > key_end:
        return False
    topic: i64 = group_end + 2
    topic_end: i64 = topic + i64(read_i16_be(data, group_end))
    if topic_end < topic or topic_end + 4 != key_end:
        return False
    value: i64 = i64(columns.positions[4 * row + 2])
    offset = _load_value(data, value, i64(columns.positions[4 * row + 3]), texts)
    if offset is None:
        return False
    group_id = texts.read_group(data[key + 4 : group_end])
    if group_id not in loaded.groups:
        loaded.groups[group_id] = offset.commit_timestamp
    name = texts.read_topic(data[topic:topic_end])
    loaded.rows.append((group_id, name, int(read_i32_be(data, topic_end)), offset))
    return True


def _load_value(data: bytes, value: i64, value_end: i64, texts: _Texts) -> OffsetAndMetadata | None:
    at: i64 = value + METADATA
    if value_end <= at or read_i16_be(data, value) != WITH_TOPIC_ID or data[at] > SHORT:
        return None
    length: i64 = i64(data[at]) - 1
    end: i64 = at + 1 + length
    tags: i64 = end + 8
    if length < 0 or tags >= value_end:
        return None
    topic_id = NO_TOPIC_ID
    if value_end - tags == TAG_BYTES + UUID_BYTES and data[tags : tags + TAG_BYTES] == TOPIC_ID_TAG:
        topic_id = texts.read_topic_id(data[tags + TAG_BYTES : value_end])
    elif value_end - tags != 1 or data[tags] != NO_TAGS:
        return None
    metadata = "" if length == 0 else data[at + 1 : end].decode()
    offset, leader_epoch = read_i64_be(data, value + 2), i64(read_i32_be(data, value + 10))
    return OffsetAndMetadata(offset, leader_epoch, metadata, read_i64_be(data, end), NO_EXPIRY, topic_id, 0)
