"""The last records of partitions, whatever the offsets between them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

import pytest

from tidelog.cli.consume.last_records import last_records, newest
from tidelog.client.fetch.consumer import Consumer
from tidelog.client.record import ConsumerRecord
from tidelog.model.ids import TopicPartition


class Logs:
    """A consumer's view of partitions: offset and timestamp of each record, and where each log begins and ends. Records
    that were written while it was read (`later`) lie behind the end that was asked for."""

    def __init__(self, logs: dict[int, list[tuple[int, int]]], ends: dict[int, int], later: int = 0) -> None:
        self.logs = logs
        self.ends = ends
        self.later = later
        self.assigned: dict[TopicPartition, int] = {}
        self.reads = 0

    def beginning_offsets(self, topic_partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return {
            topic_partition: min([offset for offset, _ in self.logs[topic_partition.partition]], default=0)
            for topic_partition in topic_partitions
        }

    def end_offsets(self, topic_partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return {topic_partition: self.ends[topic_partition.partition] for topic_partition in topic_partitions}

    def assign(self, starts: Mapping[TopicPartition, int]) -> None:
        self.assigned = dict(starts)

    def read_to_end(self) -> Iterator[ConsumerRecord]:
        self.reads += 1
        for topic_partition, start in self.assigned.items():
            end = self.ends[topic_partition.partition]
            behind = [(end + n, 10**9) for n in range(self.later)]
            for offset, timestamp in [*self.logs[topic_partition.partition], *behind]:
                if offset >= start:
                    yield ConsumerRecord("t", topic_partition.partition, offset, timestamp, None, None)


def last(logs: Logs, count: int) -> list[tuple[int, int]]:
    topic_partitions = [TopicPartition("t", partition) for partition in logs.logs]
    found = last_records(cast(Consumer, logs), topic_partitions, count)
    assert logs.assigned == {
        topic_partition: logs.ends[topic_partition.partition] for topic_partition in topic_partitions
    }
    return [(each.partition, each.offset) for each in found]


def whole(count: int) -> list[tuple[int, int]]:
    return [(offset, offset) for offset in range(count)]


def test_of_one_partition() -> None:
    assert last(Logs({0: whole(100)}, {0: 100}), 3) == [(0, 97), (0, 98), (0, 99)]
    assert last(Logs({0: whole(2)}, {0: 2}), 3) == [(0, 0), (0, 1)]
    assert last(Logs({0: []}, {0: 0}), 3) == []


def test_holes_are_no_records() -> None:
    """A compacted log keeps few offsets; a transaction's marker stands at the end of a log."""
    logs = Logs({0: [(offset, offset) for offset in (3, 40, 500, 501)]}, {0: 1_000})
    assert last(logs, 3) == [(0, 40), (0, 500), (0, 501)]
    assert logs.reads > 1


def test_a_full_log_is_read_once_and_not_from_its_beginning() -> None:
    logs = Logs({0: whole(10_000)}, {0: 10_000})
    last(logs, 10)
    assert logs.reads == 1


def test_what_comes_meanwhile_is_left_for_the_next_poll() -> None:
    assert last(Logs({0: whole(5)}, {0: 5}, later=3), 2) == [(0, 3), (0, 4)]


def test_of_several_partitions_the_newest() -> None:
    logs = Logs({0: [(0, 10), (1, 40)], 1: [(7, 20), (8, 30)], 2: []}, {0: 2, 1: 9, 2: 0})
    assert last(logs, 3) == [(1, 7), (1, 8), (0, 1)]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 9])
def test_within_a_partition_the_order_of_the_log_stays(count: int) -> None:
    """A record with an earlier timestamp is not moved before those that precede it in the log."""

    def record(partition: int, offset: int, timestamp: int) -> Any:
        return ConsumerRecord("t", partition, offset, timestamp, None, None)

    first = [record(0, 0, 50), record(0, 1, 5), record(0, 2, 60)]
    second = [record(1, 0, 55)]
    found = [(each.partition, each.offset) for each in newest([first, second], count)]
    assert found == [(0, 0), (0, 1), (1, 0), (0, 2)][-count:]
