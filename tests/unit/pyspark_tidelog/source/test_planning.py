"""Tasks and batches: cut and shared out as Spark's Kafka connector does, and nothing lost or read twice."""

import itertools

import pytest

from pyspark_tidelog.source.planning import OffsetRange, admit, backlog, lag, split
from tidelog.model.ids import TopicPartition

P, Q, R = (TopicPartition("t", index) for index in range(3))


def sizes(ranges: list[OffsetRange], topic_partition: TopicPartition) -> list[int]:
    return [each.size for each in ranges if each.topic_partition == topic_partition]


def test_one_task_a_partition_unless_more_are_asked_for() -> None:
    ranges = [OffsetRange(P, 5, 10), OffsetRange(Q, 0, 1000)]
    assert split(ranges) == ranges
    assert split(ranges, 2) == ranges
    assert split(ranges, 1, 1000) == ranges


def test_empty_and_backward_ranges_are_dropped() -> None:
    assert split([OffsetRange(P, 5, 5), OffsetRange(Q, 9, 3), OffsetRange(R, 0, 1)], 4, 7) == [OffsetRange(R, 0, 1)]


# The expected cuts are those of the connector's own calculator for the same input.
@pytest.mark.parametrize(
    ("ends", "min_partitions", "max_records", "expected"),
    [
        ((5,), 3, None, [[1, 2, 2]]),
        ((1000, 1), 10, None, [[111] * 8 + [112], [1]]),
        ((100, 100, 1), 5, None, [[50, 50], [50, 50], [1]]),
        ((40, 10), 4, None, [[13, 13, 14], [10]]),
        ((3,), 50, None, [[1, 1, 1]]),
        ((10,), None, 4, [[3, 3, 4]]),
        ((10, 3), None, 4, [[3, 3, 4], [3]]),
        ((10, 10), 6, 5, [[2, 3, 2, 3], [2, 3, 2, 3]]),
        ((10, 10), 3, 5, [[5, 5], [5, 5]]),
    ],
)
def test_cuts(
    ends: tuple[int, ...], min_partitions: int | None, max_records: int | None, expected: list[list[int]]
) -> None:
    ranges = [OffsetRange(TopicPartition("t", index), 0, end) for index, end in enumerate(ends)]
    found = split(ranges, min_partitions, max_records)
    assert [sizes(found, each.topic_partition) for each in ranges] == expected


def test_pieces_meet_and_cover_the_range() -> None:
    found = split([OffsetRange(P, 17, 1017)], 7, 300)
    assert found[0].start == 17
    assert found[-1].end == 1017
    assert all(left.end == right.start for left, right in itertools.pairwise(found))


def test_a_batch_takes_from_each_partition_its_share() -> None:
    start, latest = {P: 0, Q: 100}, {P: 900, Q: 200}
    assert admit(start, latest, {}, 100) == {P: 90, Q: 110}


def test_small_backlogs_do_not_starve() -> None:
    assert admit({P: 0, Q: 0}, {P: 1_000_000, Q: 1}, {}, 10) == {P: 9, Q: 1}


def test_all_is_admitted_where_it_fits() -> None:
    # In floating point 3 * (1/3) and its like may fall short of the last record.
    start = dict.fromkeys((P, Q, R), 0)
    latest = {P: 7, Q: 11, R: 31}
    assert admit(start, latest, {}, 49) == latest
    assert admit(start, latest, {}, 10**18) == latest


def test_new_partitions_begin_where_they_are_said_to() -> None:
    assert admit({P: 0}, {P: 100, Q: 1100}, {Q: 1000}, 20) == {P: 10, Q: 1010}
    assert admit({P: 0}, {P: 100, Q: 1100}, {}, 20) == {P: 20, Q: 1100}


def test_a_partition_that_went_backwards_is_left_to_whoever_reports_it() -> None:
    assert admit({P: 50, Q: 0}, {P: 10, Q: 100}, {}, 5) == {P: 10, Q: 5}


def test_partitions_that_are_gone_are_not_in_the_end() -> None:
    assert admit({P: 0, Q: 0}, {P: 10}, {}, 5) == {P: 5}


def test_lag_and_backlog() -> None:
    assert lag({P: 5, Q: 30}, {P: 9, Q: 20, R: 4}) == {P: 4, Q: 0, R: 4}
    assert backlog({P: 5, Q: 30}, {P: 9, Q: 20, R: 14}, {R: 10}) == 8
    assert backlog({}, {P: 9}, {}) == 0
