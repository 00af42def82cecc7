"""What the controller must find without walking a million partitions: where a broker is in sync, eligible or leading,
what lies in a log directory, which topic names collide.

All of it follows from the metadata; `Indexes.of` builds it anew, and `validate_state` compares the two.
"""

from collections.abc import Iterator
from typing import Generic, TypeVar

from tidelog.controller.topic_names import collision_key
from tidelog.metadata.directories import LOST_DIRECTORY, MIGRATING_DIRECTORY, UNASSIGNED_DIRECTORY
from tidelog.metadata.image import MetadataView
from tidelog.metadata.topics import Partition
from tidelog.model.ids import TopicIdPartition, Uuid

K = TypeVar("K")

_NO_DIRECTORIES = (MIGRATING_DIRECTORY, UNASSIGNED_DIRECTORY, LOST_DIRECTORY)


class PartitionsBy(Generic[K]):
    """Sets of partitions, each under a key. The partitions of a topic are the bits of one number: an eighth of a byte
    each, and in order without sorting."""

    __slots__ = ("_masks",)

    def __init__(self) -> None:
        self._masks: dict[K, dict[Uuid, int]] = {}

    def add(self, key: K, topic_id: Uuid, partition_id: int) -> None:
        topics = self._masks.get(key)
        if topics is None:
            topics = self._masks[key] = {}
        topics[topic_id] = topics.get(topic_id, 0) | 1 << partition_id

    def remove(self, key: K, topic_id: Uuid, partition_id: int) -> None:
        topics = self._masks[key]
        topics[topic_id] &= ~(1 << partition_id)
        if not topics[topic_id]:
            self._drop(key, topic_id)

    def remove_topic(self, topic_id: Uuid) -> None:
        for key in [key for key, topics in self._masks.items() if topic_id in topics]:
            self._drop(key, topic_id)

    def clear(self) -> None:
        self._masks.clear()

    def has_any(self, key: K) -> bool:
        return key in self._masks

    def partitions(self, key: K) -> Iterator[TopicIdPartition]:
        """Return the partitions under a key as they are now, whatever changes later: topics in the order in which they
        came, partitions in theirs."""
        topics = tuple(self._masks.get(key, {}).items())
        return (TopicIdPartition(topic_id, partition) for topic_id, mask in topics for partition in _bits(mask))

    def _drop(self, key: K, topic_id: Uuid) -> None:
        topics = self._masks[key]
        del topics[topic_id]
        if not topics:
            del self._masks[key]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartitionsBy) and self._masks == other._masks

    __hash__ = None  # type: ignore[assignment]


def _bits(mask: int) -> Iterator[int]:
    # Byte by byte: taking the lowest bit off the whole number would take time in its length for each bit.
    for position, byte in enumerate(mask.to_bytes((mask.bit_length() + 7) // 8, "little")):
        while byte:
            lowest = byte & -byte
            yield position * 8 + lowest.bit_length() - 1
            byte ^= lowest


class Indexes:
    __slots__ = ("colliding", "in_directory", "in_elr", "in_isr", "led_by")

    def __init__(self) -> None:
        self.in_isr: PartitionsBy[int] = PartitionsBy()
        self.in_elr: PartitionsBy[int] = PartitionsBy()
        # NO_LEADER is a key like any other: the partitions that wait for a leader.
        self.led_by: PartitionsBy[int] = PartitionsBy()
        self.in_directory: PartitionsBy[Uuid] = PartitionsBy()
        # Names by `collision_key`. There is more than one under a key only where older releases let it happen.
        self.colliding: dict[str, dict[str, None]] = {}

    @classmethod
    def of(cls, metadata: MetadataView) -> "Indexes":
        indexes = cls()
        for topic in metadata.topics.by_id.values():
            indexes.add_topic(topic.name)
            for partition_id, partition in topic.partitions.items():
                indexes.change_partition(topic.id, partition_id, None, partition)
        return indexes

    def add_topic(self, name: str) -> None:
        key = collision_key(name)
        if key is not None:
            self.colliding.setdefault(key, {})[name] = None

    def remove_topic(self, topic_id: Uuid, name: str) -> None:
        for index in (self.in_isr, self.in_elr, self.led_by):
            index.remove_topic(topic_id)
        self.in_directory.remove_topic(topic_id)
        key = collision_key(name)
        if key is not None:
            names = self.colliding[key]
            del names[name]
            if not names:
                del self.colliding[key]

    def change_partition(self, topic_id: Uuid, partition_id: int, before: Partition | None, after: Partition) -> None:
        if before is not None and before.leader != after.leader:
            self.led_by.remove(before.leader, topic_id, partition_id)
        if before is None or before.leader != after.leader:
            self.led_by.add(after.leader, topic_id, partition_id)
        spot = (topic_id, partition_id)
        _move(self.in_isr, spot, before.isr if before else (), after.isr)
        _move(self.in_elr, spot, before.elr if before else (), after.elr)
        if before is None or before.directories != after.directories:
            _move(self.in_directory, spot, _real(before.directories) if before else (), _real(after.directories))

    def clear_elr(self, topic_id: Uuid | None) -> None:
        if topic_id is None:
            self.in_elr.clear()
        else:
            self.in_elr.remove_topic(topic_id)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Indexes) and all(
            getattr(self, name) == getattr(other, name) for name in Indexes.__slots__
        )

    __hash__ = None  # type: ignore[assignment]


def _move(index: PartitionsBy[K], spot: tuple[Uuid, int], before: tuple[K, ...], after: tuple[K, ...]) -> None:
    if before == after:
        return
    for key in before:
        if key not in after:
            index.remove(key, *spot)
    for key in after:
        if key not in before:
            index.add(key, *spot)


def _real(directories: tuple[Uuid, ...]) -> tuple[Uuid, ...]:
    return tuple([each for each in directories if each not in _NO_DIRECTORIES])
