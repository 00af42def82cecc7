"""The offsets of a deleted topic go with it. Which topic an offset was for its topic id says; one without goes by name.

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
GROUPS_A_SLICE: Final = 500


def note_deleted_topics(shard: GroupShard, now_ms: int, changes: Changes) -> None:
    for topic_id, topic in changes.topics_deleted.items():
        shard.offsets.deleted_topics[topic_id] = topic.name
        shard.timers.set((TOPICS_DELETED,), now_ms)


def remove_deleted_topics(shard: GroupShard, _now_ms: int, _wall_ms: int, _timer: Any) -> Steps:
    offsets = shard.offsets
    topics, offsets.deleted_topics = offsets.deleted_topics, {}
    found: dict[tuple[str, str, int], None] = {}
    count = 0
    for by_group in [offsets.committed, *offsets.staged()]:
        for group_id, by_topic in by_group.items():
            for topic_id, name in topics.items():
                found.update(dict.fromkeys((group_id, name, each) for each in _of_topic(by_topic, topic_id, name)))
            count += 1
            if count % GROUPS_A_SLICE == 0:
                yield
    records: list[Record] = [tombstone(*each) for each in found]
    return Result(records, None, is_atomic=False)


def _of_topic(by_topic: ByTopic, topic_id: bytes, name: str) -> list[int]:
    by_partition = by_topic.get(name) or {}
    return [partition for partition, offset in by_partition.items() if offset.topic_id in (ZERO_UUID, topic_id)]
