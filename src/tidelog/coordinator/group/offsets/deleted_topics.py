"""The offsets of a deleted topic go with it. Its topic id says which topic an offset is of; without one the name does.

What is still to be removed is volatile: where a coordinator is lost before it comes to it, the offsets expire.
"""

from collections.abc import Generator
from typing import Any, Final, TypeAlias

from tidelog.coordinator.group.offsets.offsets import ByTopic
from tidelog.coordinator.group.offsets.records import tombstone
from tidelog.coordinator.group.shard import GroupShard
from tidelog.metadata.changes import Changes
from tidelog.model.decisions import Record, Result
from tidelog.model.ids import ZERO_UUID

Steps: TypeAlias = Generator[None, None, Result]
TOPICS_DELETED: Final = "offset-topics-deleted"
# Between two yields: about a millisecond of work.
ENTRIES_A_SLICE: Final = 1_000
RECORDS_A_SLICE: Final = 250


def note_deleted_topics(shard: GroupShard, now_ms: int, changes: Changes) -> None:
    if changes.topics_deleted:
        shard.offsets.deleted_topics.update(changes.deleted_names())
        shard.timers.set((TOPICS_DELETED,), now_ms)


def remove_deleted_topics(shard: GroupShard, _now_ms: int, _wall_ms: int, _timer: Any) -> Steps:
    """Remove the offsets of deleted topics. Gives the turn back after so many topics and offsets: thousands of topics
    may go at once, of as many groups."""
    offsets = shard.offsets
    deleted, offsets.deleted_topics = offsets.deleted_topics, {}
    ids_of: dict[str, list[bytes]] = {}  # by name: a topic may have been deleted, created anew, and deleted again
    for topic_id, name in deleted.items():
        ids_of.setdefault(name, []).append(topic_id)
    found: dict[tuple[str, str, int], None] = {}
    visited = 0
    for by_group in [offsets.committed, *offsets.staged()]:
        for group_id, by_topic in by_group.items():
            visited += 1
            for name in by_topic if len(by_topic) < len(ids_of) else ids_of:
                partitions = _of_topics(by_topic, ids_of, name)
                found.update(dict.fromkeys((group_id, name, each) for each in partitions))
                visited += 1 + len(partitions)
                if visited >= ENTRIES_A_SLICE:
                    visited = 0
                    yield
    records: list[Record] = []
    for each in found:
        records.append(tombstone(*each))
        if len(records) % RECORDS_A_SLICE == 0:
            yield
    return Result(records, None, is_atomic=False)


def _of_topics(by_topic: ByTopic, ids_of: dict[str, list[bytes]], name: str) -> list[int]:
    """Return the partitions of a deleted topic that a group has offsets of."""
    by_partition, ids = by_topic.get(name), ids_of.get(name)
    if not by_partition or not ids:
        return []
    return [index for index, offset in by_partition.items() if offset.topic_id == ZERO_UUID or offset.topic_id in ids]
