"""Offsets by partition, in the JSON of Spark's Kafka connector, and what a user may say instead of an offset.

The JSON is also what a checkpoint holds: {"topic": {"0": 23}}. -2 is earliest, -1 latest, where a user writes it; a
checkpoint has real offsets only.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from pyspark_tidelog.errors import OptionError
from tidelog.client.record import EARLIEST, LATEST
from tidelog.model.ids import TopicPartition

Offsets: TypeAlias = dict[TopicPartition, int]
OffsetsJson: TypeAlias = dict[str, dict[str, int]]
NoMatch: TypeAlias = Literal["error", "latest"]

OFFSET_MAX: Final = (1 << 63) - 1
PARTITION_MAX: Final = (1 << 31) - 1
PLACES_SHOWN_MAX: Final = 5


def to_json(offsets: Mapping[TopicPartition, int]) -> OffsetsJson:
    """Return the offsets as JSON, sorted: Spark compares them as text to see whether anything is new, so equal offsets
    must be equal text."""
    found: OffsetsJson = {}
    for topic, partition in sorted(offsets):
        found.setdefault(topic, {})[str(partition)] = offsets[TopicPartition(topic, partition)]
    return found


def from_json(found: Mapping[str, Mapping[str, int]]) -> Offsets:
    """Return the offsets that `to_json` wrote, when Spark hands them back. (`parse_offsets` reads a user's own
    JSON.)"""
    return {
        TopicPartition(topic, int(partition)): offset
        for topic, by_partition in found.items()
        for partition, offset in by_partition.items()
    }


@dataclass(frozen=True, slots=True)
class Earliest:
    pass


@dataclass(frozen=True, slots=True)
class Latest:
    pass


@dataclass(frozen=True, slots=True)
class ByPartition:
    """An offset, EARLIEST or LATEST for each partition. `option`: the name of the option that gave them, for errors."""

    offsets: Offsets
    option: str

    def of(self, topic_partitions: Iterable[TopicPartition]) -> Offsets:
        """Return the offset for each of these partitions; OptionError unless they are exactly those that were named."""
        _check_topic_partitions(self.option, self.offsets, topic_partitions, "-2 for earliest, -1 for latest")
        return dict(self.offsets)


@dataclass(frozen=True, slots=True)
class ByTime:
    """The first record that is not older than a time in milliseconds, for all partitions or for each. Where there is
    none, `no_match` decides: an error, or the end of the log."""

    timestamps: int | Offsets
    no_match: NoMatch
    option: str

    def of(self, topic_partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the time for each of these partitions; OptionError unless they are exactly those that were named."""
        if isinstance(self.timestamps, int):
            return dict.fromkeys(topic_partitions, self.timestamps)
        _check_topic_partitions(self.option, self.timestamps, topic_partitions, "0 for the beginning")
        return dict(self.timestamps)

    def missing(self, topic_partition: TopicPartition) -> OptionError:
        """Return the error for a partition without a record at or after its time, where `no_match` is "error"."""
        time_ms = self.timestamps if isinstance(self.timestamps, int) else self.timestamps[topic_partition]
        problem = f"{topic_partition} has no record at or after {time_ms} (milliseconds since 1970)"
        step = "choose an earlier time, or set startingOffsetsByTimestampStrategy to latest"
        return OptionError(self.option, problem, step)


OffsetSpec: TypeAlias = Earliest | Latest | ByPartition | ByTime


def _check_topic_partitions(
    option: str, named: Mapping[TopicPartition, int], topic_partitions: Iterable[TopicPartition], or_: str
) -> None:
    there = dict.fromkeys(topic_partitions)
    lacking = [topic_partition for topic_partition in there if topic_partition not in named]
    if lacking:
        raise OptionError(option, f"says nothing about {_listed(lacking)}", f"name every partition ({or_})")
    unknown = [topic_partition for topic_partition in named if topic_partition not in there]
    if unknown:
        raise OptionError(option, f"{_listed(unknown)} is not among the partitions that are read", "leave it out")


def _listed(topic_partitions: list[TopicPartition]) -> str:
    shown = ", ".join(map(str, sorted(topic_partitions)[:PLACES_SHOWN_MAX]))
    more = len(topic_partitions) - PLACES_SHOWN_MAX
    return f"{shown} and {more} more" if more > 0 else shown


# A user's JSON


def parse_offsets(option: str, text: str) -> Offsets:
    """Parse JSON such as `{"topic": {"0": 23, "1": -1}}`; OptionError says which part is wrong."""
    return _by_partition(option, text, EARLIEST, '{"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}')


def parse_timestamps(option: str, text: str) -> Offsets:
    """Parse JSON such as `{"topic": {"0": 1700000000000}}`, with times in milliseconds; OptionError says which part is
    wrong."""
    return _by_partition(option, text, 0, '{"topicA":{"0":1700000000000,"1":1700000000000}}')


def parse_places(option: str, text: str) -> list[TopicPartition]:
    """Parse JSON such as `{"topic": [0, 1]}` to sorted partitions; OptionError says which part is wrong."""
    example = '{"topicA":[0,1],"topicB":[2,4]}'
    found: dict[TopicPartition, None] = {}
    for topic, partitions in _object(option, text, example).items():
        if not isinstance(partitions, list):
            raise OptionError(option, f"{topic} has {json.dumps(partitions)}", f"write a list, as in {example}")
        for partition in partitions:
            if not _is_number(partition) or not 0 <= partition <= PARTITION_MAX:
                problem = f"{topic} has no partition {json.dumps(partition)}"
                raise OptionError(option, problem, f"write numbers, as in {example}")
            found[TopicPartition(topic, partition)] = None
    if not found:
        raise OptionError(option, "names no partition", f"write, for example, {example}")
    return sorted(found)


def _by_partition(option: str, text: str, minimum: int, example: str) -> Offsets:
    found: Offsets = {}
    for topic, by_partition in _object(option, text, example).items():
        if not isinstance(by_partition, dict):
            problem = f"{topic} has {json.dumps(by_partition)}"
            raise OptionError(option, problem, f"write partitions with numbers, as in {example}")
        for partition, number in by_partition.items():
            if not (partition.isascii() and partition.isdigit()) or int(partition) > PARTITION_MAX:
                problem = f"{topic} has no partition {json.dumps(partition)}"
                raise OptionError(option, problem, f"write numbers, as in {example}")
            if not _is_number(number) or not minimum <= number <= OFFSET_MAX:
                problem = f"{topic}-{partition} has {json.dumps(number)}"
                raise OptionError(option, problem, f"write a number from {minimum}, as in {example}")
            found[TopicPartition(topic, int(partition))] = number
    return found


def _object(option: str, text: str, example: str) -> dict[str, Any]:
    try:
        found = json.loads(text, object_pairs_hook=_no_repeats)
    except ValueError as error:
        raise OptionError(option, f"not JSON: {error}", f"write, for example, {example}") from None
    if not isinstance(found, dict):
        raise OptionError(option, f"not a JSON object: {text}", f"write, for example, {example}")
    return found


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs as a dict; ValueError where a name is there twice, of which json would keep the last in
    silence."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name is there twice")
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


__all__ = [
    "Offsets",
    "OffsetsJson",
    "OffsetSpec",
    "Earliest",
    "Latest",
    "ByPartition",
    "ByTime",
    "NoMatch",
    "EARLIEST",
    "LATEST",
    "to_json",
    "from_json",
    "parse_offsets",
    "parse_timestamps",
    "parse_places",
]
