"""maxTimePerTrigger: where a micro-batch ends by time, and what it costs to find out."""

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyspark_tidelog.kafka.offsets import Offsets
from pyspark_tidelog.source.time_bound import TimeBound
from tidelog.model.ids import TopicPartition

NOW_MS = 1_790_000_000_000
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)


class Logs:
    """The times of the records of each partition, by offset; and how often they were asked for."""

    def __init__(self, times: Mapping[TopicPartition, list[int]]) -> None:
        self.times = dict(times)
        self.questions = 0

    def at_times(self, wanted: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | None]:
        self.questions += 1
        return {
            topic_partition: next(
                (offset for offset, at in enumerate(self.times[topic_partition]) if at >= time_ms), None
            )
            for topic_partition, time_ms in wanted.items()
        }

    @property
    def ends(self) -> Offsets:
        return {topic_partition: len(times) for topic_partition, times in self.times.items()}

    def bound(self, span_ms: int) -> TimeBound:
        return TimeBound(span_ms, self.at_times, lambda: NOW_MS)


def minutes(first: int, last: int) -> list[int]:
    """A record a minute, of minutes before now."""
    return [NOW_MS - before * MINUTE_MS for before in range(first, last - 1, -1)]


def test_a_partition_that_began_later_waits_for_the_others() -> None:
    logs = Logs({A0: minutes(180, 1), A1: minutes(60, 1)})
    bound = logs.bound(20 * MINUTE_MS)
    start, ends = {A0: 0, A1: 0}, []
    while start != logs.ends:
        start = bound.end(start, logs.ends)
        ends.append((start[A0], start[A1]))
    assert ends[0][0] in range(17, 21), "twenty minutes, less the precision"
    assert all(later == 0 for first, later in ends if first <= 120)
    assert all(abs((first - 120) - later) <= 1 for first, later in ends if first > 120)


def test_what_fits_into_the_span_costs_one_question() -> None:
    logs = Logs({A0: minutes(30, 29), A1: minutes(30, 29)})
    bound = logs.bound(20 * MINUTE_MS)
    start = bound.end({A0: 0, A1: 0}, logs.ends)
    assert start == logs.ends
    logs.questions = 0
    logs.times[A0] += minutes(28, 20)
    assert bound.end(start, logs.ends) == logs.ends
    assert logs.questions == 1
    assert bound.end(logs.ends, logs.ends) == logs.ends
    assert logs.questions == 1, "nothing waits, nothing is asked"


def test_a_gap_is_skipped() -> None:
    logs = Logs({A0: [NOW_MS - 9_000 * HOUR_MS, NOW_MS - HOUR_MS, NOW_MS]})
    bound = logs.bound(MINUTE_MS)
    ends = [bound.end({A0: begin}, logs.ends)[A0] for begin in (0, 1, 2)]
    assert ends == [1, 2, 3]


def test_a_record_from_the_future_is_read_last_and_holds_up_its_own_partition_alone() -> None:
    logs = Logs({A0: [NOW_MS - HOUR_MS, NOW_MS + HOUR_MS, NOW_MS - HOUR_MS + 1], A1: minutes(60, 1)})
    bound = logs.bound(20 * MINUTE_MS)
    start: Offsets = {A0: 0, A1: 0}
    seen = []
    while start != logs.ends:
        start = bound.end(start, logs.ends)
        seen.append(start)
    assert [each[A0] for each in seen[:-1]] == [1] * (len(seen) - 1)
    assert seen[-2][A1] == 60


def test_a_new_partition_with_old_records_goes_back_for_them() -> None:
    """A known floor would take all of a new partition at once."""
    logs = Logs({A0: minutes(10, 1)})
    bound = logs.bound(20 * MINUTE_MS)
    start = bound.end({A0: 0}, logs.ends)
    logs.times[A1] = minutes(100, 1)
    assert bound.end(start | {A1: 0}, logs.ends)[A1] in range(17, 21)


def test_a_partition_without_a_beginning_goes_to_its_end() -> None:
    logs = Logs({A0: minutes(100, 1), A1: minutes(5, 1)})
    assert logs.bound(MINUTE_MS).end({A0: 99}, logs.ends) == logs.ends


@pytest.mark.parametrize("age_ms", [0, HOUR_MS, 9_000 * HOUR_MS, NOW_MS - 1, -HOUR_MS, -9_000_000 * HOUR_MS])
def test_a_restart_finds_its_time_in_few_questions(age_ms: int) -> None:
    first_ms = NOW_MS - age_ms
    logs = Logs({A0: [first_ms + each * MINUTE_MS for each in range(100)]})
    end = logs.bound(20 * MINUTE_MS).end({A0: 50}, logs.ends)[A0]
    assert end in range(67, 72)
    assert logs.questions <= 60


logs_made = st.lists(st.lists(st.integers(0, 10_000), max_size=20), min_size=1, max_size=4)


@settings(deadline=None)
@given(logs_made, st.integers(1, 5_000), st.booleans())
def test_every_record_is_read_and_no_batch_is_empty_or_longer_than_the_span(
    made: list[list[int]], span_ms: int, is_in_order: bool
) -> None:
    times = {TopicPartition("t", n): sorted(each) if is_in_order else each for n, each in enumerate(made)}
    logs = Logs(times)
    bound = logs.bound(span_ms)
    start = dict.fromkeys(times, 0)
    while start != logs.ends:
        end = bound.end(start, logs.ends)
        assert end != start, "Spark would take it for the end of the data"
        assert all(
            start[topic_partition] <= end[topic_partition] <= len(times[topic_partition]) for topic_partition in times
        )
        oldest = min(
            times[topic_partition][start[topic_partition]]
            for topic_partition in times
            if start[topic_partition] < len(times[topic_partition])
        )
        read = [
            each
            for topic_partition in times
            for each in times[topic_partition][start[topic_partition] : end[topic_partition]]
        ]
        assert not is_in_order or max(read) <= oldest + span_ms
        start = end
