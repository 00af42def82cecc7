"""`maxTimePerTrigger`: a backlog planned by time, so that the partitions of a query advance together.

Spark's watermark is the latest event time that any partition has shown. A partition that is read further than the
others moves it for all of them, and what the others still have to read is dropped as late. Shares by the number of
records do not help: a partition that was added later, or that has less traffic, has the same share of its backlog in
fewer hours. So all partitions of a micro-batch end at one time: that of the oldest record which waits anywhere, and
the span that the option names.

Only ListOffsets is asked, for all partitions at once: "where is the first record that is not older?" For a log in which
times are out of order that answer still never goes back as the time grows, and that is all that the search needs. The
oldest waiting record is found by halving, so a restart needs no more than the offsets of the checkpoint. Where nothing
lies behind (the usual trigger), one question tells that all that waits fits into the span.
"""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from pyspark_tidelog.kafka.offsets import OFFSET_MAX, Offsets
from tidelog.model.ids import TopicPartition

# For times in milliseconds, the first offset that is not older; None where all records are older.
AtTimes: TypeAlias = Callable[[Mapping[TopicPartition, int]], Mapping[TopicPartition, int | None]]

# The oldest record's time is found to this part of the span: the batch is shorter by as much at most.
PRECISION: Final = 8


class TimeBound:
    """The end of each micro-batch of one query, by time."""

    def __init__(self, span_ms: int, at_times: AtTimes, now_ms: Callable[[], int]) -> None:
        """`now_ms`: the clock of records, to guess by; a wrong one costs questions, and changes no answer."""
        self._span_ms = span_ms
        self._at_times = at_times
        self._now_ms = now_ms
        self._floor_ms: int | None = None  # what waits in these partitions is not older
        self._floor_topic_partitions: frozenset[TopicPartition] = frozenset()

    def end(self, begin: Offsets, latest: Offsets) -> Offsets:
        """`latest`, without what lies more than the span after the oldest record that waits. A partition that `begin`
        does not have goes to its end. Something that waits is always admitted: with Trigger.AvailableNow Spark would
        take an empty batch for the end of the data."""
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
        """A time that none of the records which wait is older than, and one of them is little younger than."""
        precision_ms = max(self._span_ms // PRECISION, 1)

        def passes(time_ms: int) -> bool:
            """Would a batch that ends there have a record?"""
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
        """Without the partitions whose records are all older."""
        found = self._at_times(dict.fromkeys(waiting, time_ms))
        return {topic_partition: offset for topic_partition, offset in found.items() if offset is not None}


def _around(guess_ms: int, step_ms: int, passes: Callable[[int], bool]) -> tuple[int, int]:
    """A time that does not pass and a later one that does, from a guess by steps that double. 0 passes never, because
    no record is older; the end of time always does."""
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
