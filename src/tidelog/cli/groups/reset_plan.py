"""Where each partition of a group is to go on: the arithmetic behind `groups reset-offsets`.

An offset that the log does not have becomes the nearest that it has: a group that goes on before the beginning or
behind the end would only find out later, and be reset by a policy that nobody chose.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidelog.cli.failing import WrongUsage
from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.offsets import OffsetSpec
from tidelog.client.errors import ClientError
from tidelog.model.ids import TopicPartition


@dataclass(slots=True)
class PartitionReset:
    partition: TopicPartition
    committed: int | None
    new: int
    note: str = ""

    def row(self) -> dict[str, Any]:
        return {
            "topic": self.partition.topic,
            "partition": self.partition.partition,
            "committed": self.committed,
            "new": self.new,
            "change": None if self.committed is None else self.new - self.committed,
            "note": self.note,
        }


class Ranges:
    """The beginnings and ends of logs, looked up once for all partitions."""

    def __init__(self, admin: Admin, topic_partitions: Sequence[TopicPartition]) -> None:
        self._admin = admin
        self._topic_partitions = topic_partitions
        self._found: dict[int, dict[TopicPartition, int]] = {}

    def at(self, when: int, topic_partition: TopicPartition) -> int:
        """Return the offset at a time or an OffsetSpec; -1 where there is none."""
        if when not in self._found:
            outcomes = self._admin.list_offsets(dict.fromkeys(self._topic_partitions, when))
            for each in outcomes.values():
                if isinstance(each, ClientError):
                    raise each
            self._found[when] = {p: each.offset for p, each in outcomes.items() if not isinstance(each, ClientError)}
        return self._found[when][topic_partition]

    def nearest(self, topic_partition: TopicPartition, offset: int) -> tuple[int, str]:
        first, end = self.at(OffsetSpec.EARLIEST, topic_partition), self.at(OffsetSpec.LATEST, topic_partition)
        if offset < first:
            return first, f"{offset} is before the beginning"
        return (end, f"{offset} is behind the end") if offset > end else (offset, "")


def plan_of(
    topic_partition: TopicPartition,
    committed: int | None,
    given: Mapping[TopicPartition, int] | None,
    options: argparse.Namespace,
    ranges: Ranges,
) -> PartitionReset:
    if given is not None:
        return PartitionReset(topic_partition, committed, *ranges.nearest(topic_partition, given[topic_partition]))
    if options.to_earliest:
        return PartitionReset(topic_partition, committed, ranges.at(OffsetSpec.EARLIEST, topic_partition))
    if options.to_latest:
        return PartitionReset(topic_partition, committed, ranges.at(OffsetSpec.LATEST, topic_partition))
    if options.to_offset is not None:
        return PartitionReset(topic_partition, committed, *ranges.nearest(topic_partition, options.to_offset))
    if options.to_datetime is not None:
        return _at_time(topic_partition, committed, options.to_datetime, ranges)
    if options.shift_by is not None:
        if committed is None:
            raise WrongUsage(f"the group has no offset of {topic_partition} to shift; choose another target for it")
        return PartitionReset(
            topic_partition, committed, *ranges.nearest(topic_partition, committed + options.shift_by)
        )
    if committed is None:
        return PartitionReset(
            topic_partition, committed, ranges.at(OffsetSpec.LATEST, topic_partition), "nothing was committed: the end"
        )
    return PartitionReset(topic_partition, committed, committed)


def _at_time(topic_partition: TopicPartition, committed: int | None, when_ms: int, ranges: Ranges) -> PartitionReset:
    found = ranges.at(when_ms, topic_partition)
    if found >= 0:
        return PartitionReset(topic_partition, committed, found)
    return PartitionReset(
        topic_partition, committed, ranges.at(OffsetSpec.LATEST, topic_partition), "no record so late: the end"
    )
