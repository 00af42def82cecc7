"""Where requests, records and timers of offsets come in."""

from collections.abc import Callable
from typing import Any

from tidelog.coordinator.group.classic.group import new_empty
from tidelog.coordinator.group.offsets.commit import commit_offsets
from tidelog.coordinator.group.offsets.delete import delete_offsets
from tidelog.coordinator.group.offsets.deleted_topics import TOPICS_DELETED, note_deleted_topics, remove_deleted_topics
from tidelog.coordinator.group.offsets.expiry import OFFSET_EXPIRY, expire, schedule_expiry
from tidelog.coordinator.group.offsets.fetch import Steps, fetch
from tidelog.coordinator.group.offsets.loading import LoadedOffsets
from tidelog.coordinator.group.offsets.transactional_commit import commit_in_transaction, end_transaction
from tidelog.coordinator.group.records.classic import (
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from tidelog.coordinator.group.shard import GroupShard
from tidelog.coordinator.requests import CoordinatorRequest, TransactionalKeyValue, TransactionMarker
from tidelog.metadata.changes import Changes
from tidelog.model.decisions import Result
from tidelog.protocol.messages.offset_commit import OffsetCommitRequest
from tidelog.protocol.messages.offset_delete import OffsetDeleteRequest
from tidelog.protocol.messages.offset_fetch import OffsetFetchRequest
from tidelog.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest


def activate(shard: GroupShard, now_ms: int) -> None:
    schedule_expiry(shard, now_ms)


def image_changed(shard: GroupShard, now_ms: int, changes: Changes) -> None:
    note_deleted_topics(shard, now_ms, changes)


def replay(shard: GroupShard, key: OffsetCommitKey, value: OffsetCommitValue | None) -> None:
    if value is not None and key.group not in shard.groups:
        _make_simple_group(shard, key.group, value)
    shard.offsets.replay(key, value)


def replay_legacy(shard: GroupShard, key: LegacyOffsetCommitKey, value: LegacyOffsetCommitValue | None) -> None:
    now_key = OffsetCommitKey(group=key.group, topic=key.topic, partition=key.partition)
    if value is None:
        replay(shard, now_key, None)
        return
    now_value = OffsetCommitValue(offset=value.offset, metadata=value.metadata, commit_timestamp=value.commit_timestamp)
    replay(shard, now_key, now_value)


def replay_loaded(shard: GroupShard, loaded: LoadedOffsets) -> None:
    for group_id, commit_timestamp in loaded.groups.items():
        if group_id not in shard.groups:
            shard.groups[group_id] = new_empty(shard, group_id, commit_timestamp)
    shard.offsets.replay_loaded(loaded)


def replay_staged(shard: GroupShard, message: TransactionalKeyValue) -> None:
    if message.value is not None and message.key.group not in shard.groups:
        _make_simple_group(shard, message.key.group, message.value)
    shard.offsets.replay_staged(message)


def _make_simple_group(shard: GroupShard, group_id: str, value: OffsetCommitValue) -> None:
    """Create a group that exists for its offsets only, or whose own record is still to come."""
    shard.groups[group_id] = new_empty(shard, group_id, value.commit_timestamp)


HANDLE: dict[type, Callable[[GroupShard, int, CoordinatorRequest], Result | Steps]] = {
    OffsetCommitRequest: commit_offsets,
    OffsetFetchRequest: fetch,
    OffsetDeleteRequest: delete_offsets,
    TxnOffsetCommitRequest: commit_in_transaction,
    TransactionMarker: end_transaction,
}
REPLAY: dict[type, Callable[[GroupShard, Any, Any], None]] = {
    OffsetCommitKey: replay,
    LegacyOffsetCommitKey: replay_legacy,
}
ON_TIMER: dict[str, Callable[[GroupShard, int, int, Any], Result | Steps]] = {
    OFFSET_EXPIRY: expire,
    TOPICS_DELETED: remove_deleted_topics,
}
