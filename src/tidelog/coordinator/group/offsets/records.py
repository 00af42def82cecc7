"""The records of offsets, as this broker writes them, and whether they fit. Compiled by mypyc."""

from collections.abc import Generator, Sequence
from typing import Any, Final

from tidelog.config.settings.groups import OFFSET_METADATA_MAX_BYTES
from tidelog.coordinator.group.offsets.commit_request import PARTITIONS_A_SLICE, RequestedPartition
from tidelog.coordinator.group.records.classic import OffsetCommitKey, OffsetCommitValue
from tidelog.coordinator.group.shard import CommitPartitionCheck, GroupShard
from tidelog.coordinator.record_framing import encode_key, encode_value
from tidelog.coordinator.requests import KeyValue
from tidelog.model.decisions import Record
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import ZERO_UUID, Uuid

NO_EXPIRY: Final = -1
WITH_EXPIRY: Final = 1  # the only version that has an expiry
LATEST: Final = 4
BATCH_BYTES: Final = 61
RECORD_BYTES: Final = 32  # of one record, besides its key and value, at most
MESSAGE_BYTES: Final = 64  # of an offset's key and value, besides the texts, at most
UTF8_MAX: Final = 4  # bytes a character


class Commit:
    """The part of a commit that is the same for all its partitions."""

    def __init__(self, group_id: str, wall_ms: int, expire_timestamp: int, *, has_topic_ids: bool) -> None:
        self.group_id = group_id
        self.wall_ms = wall_ms
        self.expire_timestamp = expire_timestamp
        self.has_topic_ids = has_topic_ids


def commit_records(
    shard: GroupShard, commit: Commit, requested: Sequence[RequestedPartition], check: CommitPartitionCheck | None
) -> list[Record]:
    """Return the records of all partitions whose metadata is short enough; the others are answered here. ApiError
    refuses the whole commit."""
    records: list[Record] = []
    # All offsets of a commit become visible together, so they go into one batch. Its size is counted exactly only where
    # the guess leaves doubt.
    guess = BATCH_BYTES + _add_records(shard, commit, requested, check, records)
    if guess > shard.max_record_bytes:
        _check_size(shard, BATCH_BYTES + _size_bytes(records))
    shard.count("offset-commits", len(records))
    return records


def commit_records_in_parts(
    shard: GroupShard, commit: Commit, requested: Sequence[RequestedPartition], check: CommitPartitionCheck | None
) -> Generator[None, None, list[Record]]:
    """Return what `commit_records` does for many partitions, giving the turn back after every slice."""
    records: list[Record] = []
    guess = BATCH_BYTES
    for first in range(0, len(requested), PARTITIONS_A_SLICE):
        part = requested[first : first + PARTITIONS_A_SLICE]
        guess += _add_records(shard, commit, part, check, records)
        yield
    if guess > shard.max_record_bytes:
        size_bytes = BATCH_BYTES
        for first in range(0, len(records), PARTITIONS_A_SLICE):
            size_bytes += _size_bytes(records[first : first + PARTITIONS_A_SLICE])
            yield
        _check_size(shard, size_bytes)
    shard.count("offset-commits", len(records))
    return records


def _add_records(
    shard: GroupShard,
    commit: Commit,
    requested: Sequence[RequestedPartition],
    check: CommitPartitionCheck | None,
    records: list[Record],
) -> int:
    """Append a record for each partition that passes; return how many bytes they take in a batch, at most."""
    max_length = shard.config.get(OFFSET_METADATA_MAX_BYTES)
    size_bytes = 0
    for topic, partition, answer in requested:
        metadata: str = partition.committed_metadata or ""
        if _java_length(metadata) > max_length:
            answer.error_code = ErrorCode.OFFSET_METADATA_TOO_LARGE
            continue
        if check is not None:
            check(topic.id, partition.partition_index)
        topic_id = topic.id if commit.has_topic_ids else ZERO_UUID
        records.append(_commit_record(commit, topic.name, topic_id, partition, metadata))
        size_bytes += RECORD_BYTES + MESSAGE_BYTES + UTF8_MAX * (len(topic.name) + len(metadata) + len(commit.group_id))
    return size_bytes


def _check_size(shard: GroupShard, size_bytes: int) -> None:
    if size_bytes > shard.max_record_bytes:
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "more than a batch of the offsets topic may hold")


def _commit_record(commit: Commit, topic: str, topic_id: Uuid, partition: Any, metadata: str) -> Record:
    key = OffsetCommitKey(group=commit.group_id, topic=topic, partition=partition.partition_index)
    value = OffsetCommitValue(
        offset=partition.committed_offset,
        leader_epoch=partition.committed_leader_epoch,
        metadata=metadata,
        commit_timestamp=commit.wall_ms,
        expire_timestamp=commit.expire_timestamp,
        topic_id=topic_id,
    )
    return KeyValue(key, value), LATEST if commit.expire_timestamp == NO_EXPIRY else WITH_EXPIRY


def tombstone(group_id: str, topic: str, partition: int) -> Record:
    return KeyValue(OffsetCommitKey(group=group_id, topic=topic, partition=partition), None), LATEST


def _java_length(text: str) -> int:
    """Return the length in UTF-16 units, which is what the limit counts although its name says bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _size_bytes(records: Sequence[Record]) -> int:
    values = [encode_value(message.value, version) or b"" for message, version in records]
    keys = [encode_key(message.key) for message, _version in records]
    return RECORD_BYTES * len(records) + sum(len(each) for each in keys + values)
