"""From where to where a log may be cleaned, and which log is next: the one with the largest share of dirty bytes.

Dirty is what lies behind the last cleaning's end. Of it, these may not be touched, each rounded down to a segment:

- the active segment, and what is not stable yet (the last stable offset is never beyond the high watermark);
- from the first segment on that has a record younger than `min.compaction.lag.ms`;
- what is not known to be durable by the checkpoint of the recovery point (`log.swap.is_durable` says why).

A log is due when its dirty share passes `min.cleanable.dirty.ratio`, or when a dirty record is older than
`max.compaction.lag.ms`, however small its share.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclass import dataclass
from tidelog.storage.cleaner.job import SegmentFacts, with_ends
from tidelog.storage.names import MAX_INT64


class FirstDirty(NamedTuple):
    offset: int
    resets_checkpoint: bool  # the checkpoint has an impossible offset, which has to be overwritten


@dataclass(slots=True)
class LogFacts:
    """The facts about a log by which it is chosen. `segments` are the closed ones, in order."""

    topic_partition: TopicPartition
    segments: Sequence[SegmentFacts]
    active_base_offset: int
    log_start_offset: int
    log_end_offset: int
    last_stable_offset: int
    checkpoint: int | None  # the end of the last cleaning
    min_compaction_lag_ms: int
    max_compaction_lag_ms: int
    min_cleanable_dirty_ratio: float
    durable_offset: int = MAX_INT64  # everything below is on disk, and the recovery point on disk says so


@dataclass(slots=True)
class LogToClean:
    topic_partition: TopicPartition
    first_dirty: FirstDirty
    first_uncleanable_offset: int
    clean_bytes: int
    cleanable_bytes: int
    overdue_ms: int  # by how long the oldest dirty record is past max.compaction.lag.ms; 0: it is not
    min_cleanable_dirty_ratio: float

    @property
    def total_bytes(self) -> int:
        return self.clean_bytes + self.cleanable_bytes

    @property
    def dirty_ratio(self) -> float:
        return self.cleanable_bytes / self.total_bytes if self.total_bytes else 0.0

    @property
    def is_due(self) -> bool:
        if not self.cleanable_bytes:
            return False
        return self.overdue_ms > 0 or self.dirty_ratio > self.min_cleanable_dirty_ratio


def assess(log: LogFacts, now_ms: int) -> LogToClean:
    dirty = first_dirty(log)
    uncleanable = _first_uncleanable(log, dirty.offset, now_ms)
    clean = cleanable = 0
    for segment, end in with_ends(log.segments, log.active_base_offset):
        if end <= dirty.offset:
            clean += segment.size_bytes
        elif segment.base_offset < uncleanable:
            cleanable += segment.size_bytes
    overdue_ms = _overdue_ms(log, dirty.offset, now_ms)
    return LogToClean(
        log.topic_partition, dirty, uncleanable, clean, cleanable, overdue_ms, log.min_cleanable_dirty_ratio
    )


def first_dirty(log: LogFacts) -> FirstDirty:
    """Return where the dirty part begins. A checkpoint outside of the log (records were deleted, or the end was lost in
    a crash) is ignored."""
    if log.checkpoint is None:
        return FirstDirty(log.log_start_offset, False)
    if log.log_start_offset <= log.checkpoint <= log.log_end_offset:
        return FirstDirty(log.checkpoint, False)
    return FirstDirty(log.log_start_offset, True)


def filthiest(logs: Iterable[LogToClean]) -> LogToClean | None:
    """Return the log to clean next, of those that are due; among equals the first."""
    return max((log for log in logs if log.is_due), key=lambda log: log.dirty_ratio, default=None)


def _first_uncleanable(log: LogFacts, first_dirty_offset: int, now_ms: int) -> int:
    """Return the base offset of the first segment that may not be cleaned, so that a job works on whole segments."""
    too_young = _first_too_young(log, first_dirty_offset, now_ms)
    limit = min(log.last_stable_offset, log.active_base_offset, log.durable_offset, too_young)
    for segment, end in with_ends(log.segments, log.active_base_offset):
        if end > limit:
            return segment.base_offset
    return log.active_base_offset


def _first_too_young(log: LogFacts, first_dirty_offset: int, now_ms: int) -> int:
    if log.min_compaction_lag_ms <= 0:
        return log.active_base_offset
    for segment in _dirty_segments(log, first_dirty_offset):
        if segment.largest_timestamp > now_ms - log.min_compaction_lag_ms:
            return segment.base_offset
    return log.active_base_offset


def _overdue_ms(log: LogFacts, first_dirty_offset: int, now_ms: int) -> int:
    """The time by which the oldest dirty record is past its lag. Only the first batch of each dirty segment is looked
    at: its records need not be in the order of their timestamps, but looking at all of them would be a cleaning by
    itself."""
    times = [segment.first_timestamp for segment in _dirty_segments(log, first_dirty_offset)]
    earliest = min((time for time in times if time > 0), default=now_ms)
    return max(0, now_ms - log.max_compaction_lag_ms - earliest)


def _dirty_segments(log: LogFacts, first_dirty_offset: int) -> list[SegmentFacts]:
    return [segment for segment, end in with_ends(log.segments, log.active_base_offset) if end > first_dirty_offset]
