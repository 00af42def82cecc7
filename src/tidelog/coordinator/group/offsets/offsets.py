"""The offsets of all groups of one partition of `__consumer_offsets`: durable state, written by `replay` only. Compiled
by mypyc.

    replay(key, value)        committed
    replay(key, None)         gone, and so is what transactions have staged for it
    replay_staged             staged by a producer's transaction; invisible
    replay_marker             commit: the staged ones become committed, except where a later commit is there already
                              abort: they are gone
"""

from collections.abc import Iterator
from typing import Any, TypeAlias

from mypy_extensions import i64

from tidelog.coordinator.group.offsets.loading import LoadedOffsets
from tidelog.coordinator.group.offsets.offset_and_metadata import NO_EXPIRY, OffsetAndMetadata
from tidelog.coordinator.requests import TransactionalKeyValue, TransactionMarker

ByPartition: TypeAlias = dict[int, OffsetAndMetadata]
ByTopic: TypeAlias = dict[str, ByPartition]
ByGroup: TypeAlias = dict[str, ByTopic]
# The producers that have staged an offset, in the order in which they first did, by partition.
Stagers: TypeAlias = dict[int, dict[int, None]]


class Offsets:
    """The committed and staged offsets of every group."""

    def __init__(self) -> None:
        self.committed: ByGroup = {}
        self.count = 0  # of committed offsets
        # Names of deleted topics, by id, whose offsets have not been removed yet. Volatile.
        self.deleted_topics: dict[bytes, str] = {}
        self._staged: dict[int, ByGroup] = {}  # by producer id
        self._stagers: dict[str, dict[str, Stagers]] = {}  # by group and topic; nothing in it is empty
        self._replayed: i64 = 0

    # What is there

    def of_group(self, group_id: str) -> ByTopic:
        return self.committed.get(group_id) or {}

    def get(self, group_id: str, topic: str, partition: int) -> OffsetAndMetadata | None:
        by_topic = self.committed.get(group_id)
        if by_topic is None:
            return None
        by_partition = by_topic.get(topic)
        return None if by_partition is None else by_partition.get(partition)

    def has_staged(self, group_id: str) -> bool:
        return group_id in self._stagers

    def is_staged(self, group_id: str, topic: str, partition: int) -> bool:
        return partition in self.stagers(group_id, topic)

    def stagers(self, group_id: str, topic: str) -> Stagers:
        by_topic = self._stagers.get(group_id)
        return {} if by_topic is None else by_topic.get(topic) or {}

    def partitions(self, group_id: str) -> list[tuple[str, int]]:
        """Return all partitions that a group has a committed or staged offset of, each once."""
        by_topic = self.of_group(group_id)
        found = [(topic, partition) for topic, by_partition in by_topic.items() for partition in by_partition]
        for topic, stagers in self._stagers.get(group_id, {}).items():
            committed = by_topic.get(topic) or {}
            found += [(topic, partition) for partition in stagers if partition not in committed]
        return found

    def staged(self) -> Iterator[ByGroup]:
        """Return the staged offsets, one producer at a time."""
        return iter(list(self._staged.values()))

    # Replay

    def replay(self, key: Any, value: Any) -> None:
        """Replay a record that is no part of a transaction."""
        self._replayed += 1
        if value is None:
            self._remove(key.group, key.topic, key.partition)
        else:
            self._put(key.group, key.topic, key.partition, _from_record(value, self._replayed))

    def replay_commit(
        self,
        group_id: str,
        topic: str,
        partition: int,
        offset: i64,
        leader_epoch: i64,
        metadata: str,
        commit_timestamp: i64,
        topic_id: bytes,
    ) -> None:
        """Replay a commit without a record object: `replay` of the same record does the same."""
        self._replayed += 1
        found = OffsetAndMetadata(offset, leader_epoch, metadata, commit_timestamp, NO_EXPIRY, topic_id, self._replayed)
        self._put(group_id, topic, partition, found)

    def replay_loaded(self, loaded: LoadedOffsets) -> None:
        """Replay a run of commits, as `replay` does one by one."""
        for group_id, topic, partition, offset in loaded.rows:
            self._replayed += 1
            offset.replayed_as = self._replayed
            self._put(group_id, topic, partition, offset)

    def replay_staged(self, message: TransactionalKeyValue) -> None:
        key, value = message.key, message.value
        if value is None:  # nobody writes a transactional tombstone; this is all it can mean
            self.replay(key, None)
            return
        self._replayed += 1
        staged = self._staged.setdefault(message.producer_id, {})
        by_partition = staged.setdefault(key.group, {}).setdefault(key.topic, {})
        by_partition[key.partition] = _from_record(value, self._replayed)
        stagers = self._stagers.setdefault(key.group, {}).setdefault(key.topic, {})
        stagers.setdefault(key.partition, {})[message.producer_id] = None

    def replay_marker(self, marker: TransactionMarker) -> None:
        staged = self._staged.pop(marker.producer_id, None)
        if staged is None:
            return
        for group_id, by_topic in staged.items():
            for topic, by_partition in by_topic.items():
                for partition, offset in by_partition.items():
                    self._unstage(group_id, topic, partition, marker.producer_id)
                    if marker.committed:
                        self._put_unless_later(group_id, topic, partition, offset)

    def _put_unless_later(self, group_id: str, topic: str, partition: int, offset: OffsetAndMetadata) -> None:
        existing = self.get(group_id, topic, partition)
        if existing is None or existing.replayed_as < offset.replayed_as:
            self._put(group_id, topic, partition, offset)

    def _put(self, group_id: str, topic: str, partition: int, offset: OffsetAndMetadata) -> None:
        by_topic = self.committed.get(group_id)
        if by_topic is None:
            by_topic = self.committed[group_id] = {}
        by_partition = by_topic.get(topic)
        if by_partition is None:
            by_partition = by_topic[topic] = {}
        before = len(by_partition)
        by_partition[partition] = offset
        self.count += len(by_partition) - before

    def _remove(self, group_id: str, topic: str, partition: int) -> None:
        by_topic = self.committed.get(group_id, {})
        by_partition = by_topic.get(topic, {})
        if by_partition.pop(partition, None) is not None:
            self.count -= 1
        if topic in by_topic and not by_partition:
            del by_topic[topic]
        if group_id in self.committed and not by_topic:
            del self.committed[group_id]
        for producer_id in list(self.stagers(group_id, topic).get(partition) or {}):
            del self._staged[producer_id][group_id][topic][partition]
            self._unstage(group_id, topic, partition, producer_id)

    def _unstage(self, group_id: str, topic: str, partition: int, producer_id: int) -> None:
        by_topic = self._stagers[group_id]
        stagers = by_topic[topic]
        del stagers[partition][producer_id]
        if not stagers[partition]:
            del stagers[partition]
        if not stagers:
            del by_topic[topic]
        if not by_topic:
            del self._stagers[group_id]

    # For people, and for comparing

    def printed(self) -> dict[str, Any]:
        """Return the state in plain values, in a fixed order."""
        staged = {producer_id: _printed(self._staged[producer_id]) for producer_id in sorted(self._staged)}
        return {"committed": _printed(self.committed), "staged": staged}


def _from_record(value: Any, replayed_as: i64) -> OffsetAndMetadata:
    return OffsetAndMetadata(
        value.offset,
        value.leader_epoch,
        value.metadata,
        value.commit_timestamp,
        value.expire_timestamp,
        value.topic_id,
        replayed_as,
    )


def _printed(by_group: ByGroup) -> dict[str, dict[str, dict[str, Any]]]:
    """Return offsets by group and `topic-partition`. A group without any is left out: the log does not say that it ever
    had some."""
    return {
        group_id: {
            f"{topic}-{partition}": by_topic[topic][partition].printed()
            for topic in sorted(by_topic)
            for partition in sorted(by_topic[topic])
        }
        for group_id, by_topic in sorted(by_group.items())
        if any(by_topic.values())
    }
