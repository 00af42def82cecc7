"""`maxTimePerTrigger`: plans a backlog by time, so that the partitions of a query advance together.

Spark's watermark follows the latest event time that any partition has shown. A partition that is read further than the
others moves it for all of them, and records that the others still have to read are dropped as late. Shares by the
number of records do not help: in a partition that was added later, or that has less traffic, the same share of the
backlog covers another length of time. So all partitions of a micro-batch end at one time: that of the oldest record
that waits in any partition, plus the span that the option names.

Only ListOffsets is asked, for all partitions at once: "where is the first record that is not older?" For a log in which
times are out of order that answer still never goes back as the time grows, and that is all that the search needs. The
oldest waiting record is found by bisection, so a restart needs no more than the offsets of the checkpoint. Where there
is no backlog (the usual trigger), one question tells that all waiting records fit into the span.
"""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from pyspark_tidelog.kafka.offsets import OFFSET_MAX, Offsets
from tidelog.model.ids import TopicPartition

# Returns for each partition the first offset that is not older than a time in milliseconds; None where all are older.
AtTimes: TypeAlias = Callable[[Mapping[TopicPartition, int]], Mapping[TopicPartition, int | None]]

# The oldest record's time is found to a precision of the span divided by this: a batch is shorter by as much at most.
PRECISION: Final = 8


class TimeBound:
    """The end of each micro-batch of one query, by time."""

    def __init__(self, span_ms: int, at_times: AtTimes, now_ms: Callable[[], int]) -> None:
        """`now_ms`: the clock by which records get their times, for a first guess; a wrong one costs requests, and
        changes no result."""
        self._span_ms = span_ms
        self._at_times = at_times
        self._now_ms = now_ms
        self._floor_ms: int | None = None  # no record that waits in these partitions is older
        self._floor_topic_partitions: frozenset[TopicPartition] = frozenset()

    def end(self, begin: Offsets, latest: Offsets) -> Offsets:
        """Return `latest` without the records that are more than the span younger than the oldest record that waits. A
        partition that `begin` does not have keeps its end. If any record waits, at least one is admitted: with
        Trigger.AvailableNow Spark would take an empty batch for the end of the data."""
        waiting = {
            topic_partition: begin[topic_partition]
            for topic_partition, end in latest.items()
            if begin.get(topic_partition, end) < end
        }
        if not waiting:
            return dict(latest)
        if self._floor_ms is not None and waiting.keys() <= self._floor_topic_partitions:
            ends = self._ends(waiting, latest, self._floor_ms)
            if all(ends[topic_partition] == latest[topic_partition] for topic_partition in waiting):
                return dict(latest)
        self._floor_ms = self._oldest_ms(waiting, latest)
        self._floor_topic_partitions = frozenset(latest)
        return {**latest, **self._ends(waiting, latest, self._floor_ms)}

    def _ends(self, waiting: Offsets, latest: Offsets, floor_ms: int) -> Offsets:
        found = self._first_not_older(waiting, min(floor_ms + self._span_ms, OFFSET_MAX))
        return {
            topic_partition: min(
                max(found.get(topic_partition, latest[topic_partition]), waiting[topic_partition]),
                latest[topic_partition],
            )
            for topic_partition in waiting
        }

    def _oldest_ms(self, waiting: Offsets, latest: Offsets) -> int:
        """Return a time that is not after the oldest waiting record's, and before it by no more than the precision."""
        precision_ms = max(self._span_ms // PRECISION, 1)

        def passes(time_ms: int) -> bool:
            """Tell whether a batch that ends at this time would have a record."""
            found = self._first_not_older(waiting, time_ms)
            return any(
                found.get(topic_partition, latest[topic_partition]) > begin
                for topic_partition, begin in waiting.items()
            )

        low_ms, high_ms = _around(self._floor_ms or self._now_ms(), self._span_ms, passes)
        while high_ms - low_ms > precision_ms:
            middle_ms = (low_ms + high_ms) // 2
            if passes(middle_ms):
                high_ms = middle_ms
            else:
                low_ms = middle_ms
        return low_ms

    def _first_not_older(self, waiting: Offsets, time_ms: int) -> Offsets:
        """Return for each partition the first offset that is not older than a time; partitions whose records are all
        older are left out."""
        found = self._at_times(dict.fromkeys(waiting, time_ms))
        return {topic_partition: offset for topic_partition, offset in found.items() if offset is not None}


def _around(guess_ms: int, step_ms: int, passes: Callable[[int], bool]) -> tuple[int, int]:
    """Return a time that does not pass and a later one that does, found from a guess by steps that double. Time 0 never
    passes, because no record is older; the end of time always does."""
    if passes(guess_ms):
        high_ms, low_ms = guess_ms, guess_ms - step_ms
        while low_ms > 0 and passes(low_ms):
            step_ms *= 2
            high_ms, low_ms = low_ms, low_ms - step_ms
        return max(low_ms, 0), high_ms
    low_ms, high_ms = guess_ms, guess_ms + step_ms
    while high_ms < OFFSET_MAX and not passes(high_ms):
        step_ms *= 2
        low_ms, high_ms = high_ms, high_ms + step_ms
    return low_ms, min(high_ms, OFFSET_MAX)
