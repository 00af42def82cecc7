"""Where each partition of a group is to go on: the arithmetic behind `groups reset-offsets`.

An offset that the log has not got becomes the nearest that it has: a group that goes on before the beginning or behind
the end would only find out later, and be reset by a policy that nobody chose.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidelog.cli.failing import WrongUsage
from tidelog.client.admin import Admin
from tidelog.client.admin_offsets import OffsetSpec
from tidelog.client.errors import ClientError
from tidelog.model.ids import TopicPartition


@dataclass(slots=True)
class Plan:
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
    """Where logs begin and end, looked up once for all partitions."""

    def __init__(self, admin: Admin, places: Sequence[TopicPartition]) -> None:
        self._admin = admin
        self._places = places
        self._found: dict[int, dict[TopicPartition, int]] = {}

    def at(self, when: int, place: TopicPartition) -> int:
        """The offset at a time or special place; -1 where there is none."""
        if when not in self._found:
            outcomes = self._admin.list_offsets(dict.fromkeys(self._places, when))
            for each in outcomes.values():
                if isinstance(each, ClientError):
                    raise each
            self._found[when] = {p: each.offset for p, each in outcomes.items() if not isinstance(each, ClientError)}
        return self._found[when][place]

    def nearest(self, place: TopicPartition, offset: int) -> tuple[int, str]:
        first, end = self.at(OffsetSpec.EARLIEST, place), self.at(OffsetSpec.LATEST, place)
        if offset < first:
            return first, f"{offset} is before the beginning"
        return (end, f"{offset} is behind the end") if offset > end else (offset, "")


def plan_of(
    place: TopicPartition,
    committed: int | None,
    given: Mapping[TopicPartition, int] | None,
    options: argparse.Namespace,
    ranges: Ranges,
) -> Plan:
    if given is not None:
        return Plan(place, committed, *ranges.nearest(place, given[place]))
    if options.to_earliest:
        return Plan(place, committed, ranges.at(OffsetSpec.EARLIEST, place))
    if options.to_latest:
        return Plan(place, committed, ranges.at(OffsetSpec.LATEST, place))
    if options.to_offset is not None:
        return Plan(place, committed, *ranges.nearest(place, options.to_offset))
    if options.to_datetime is not None:
        return _at_time(place, committed, options.to_datetime, ranges)
    if options.shift_by is not None:
        if committed is None:
            raise WrongUsage(f"the group has no offset of {place} to shift; choose another target for it")
        return Plan(place, committed, *ranges.nearest(place, committed + options.shift_by))
    if committed is None:
        return Plan(place, committed, ranges.at(OffsetSpec.LATEST, place), "nothing was committed: the end")
    return Plan(place, committed, committed)


def _at_time(place: TopicPartition, committed: int | None, when_ms: int, ranges: Ranges) -> Plan:
    found = ranges.at(when_ms, place)
    if found >= 0:
        return Plan(place, committed, found)
    return Plan(place, committed, ranges.at(OffsetSpec.LATEST, place), "no record so late: the end")
