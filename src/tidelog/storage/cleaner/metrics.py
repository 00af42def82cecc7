"""The cleaner in numbers, with the names and meanings of Kafka's metrics; and the partitions it has set aside."""

from collections import deque
from typing import NamedTuple

from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclass import dataclass, field
from tidelog.storage.cleaner.statistics import CleanerStats
from tidelog.storage.log.log import Log


class LastCleaning(NamedTuple):
    stats: CleanerStats
    elapsed_ms: int


@dataclass(slots=True)
class Uncleanable:
    """A partition that the cleaner leaves alone, because its cleaning failed and would fail again, until its log has
    changed."""

    partition: TopicPartition
    directory: str  # the log directory
    reason: str
    since_ms: int
    log: Log
    generation: int
    dirty_bytes: int = 0  # at the time of the last survey

    @property
    def is_still_valid(self) -> bool:
        """Tell whether the log is unchanged. Once it was truncated or had records deleted, the damage may have gone
        with them."""
        return self.log.generation == self.generation


class CleanerMetrics(NamedTuple):
    max_dirty_percent: int
    time_since_last_run_ms: int
    uncleanable_partitions_count: dict[str, int]  # by log directory, as the next
    uncleanable_bytes: dict[str, int]
    max_compaction_delay_secs: int
    max_clean_time_secs: int
    cleaner_recopy_percent: int
    max_buffer_utilization_percent: int
    dead_thread_count: int  # workers that died; each was replaced, so this only grows
    bytes_moved: int  # read and written, of all cleanings so far, those under way and those that failed included
    bytes_reclaimed: int
    cleanings: int
    cleanings_failed: int


@dataclass(slots=True)
class CleanerCounts:
    """The counters from which the metrics are made."""

    last_run_ms: int
    last_cleanings: deque[LastCleaning] = field(default_factory=deque)  # one for each worker
    dirty_ratio_max: float = 0.0
    overdue_ms_max: int = 0
    dead_workers: int = 0
    bytes_moved: int = 0
    bytes_reclaimed: int = 0
    cleanings: int = 0
    cleanings_failed: int = 0

    def note_cleaning(self, stats: CleanerStats, elapsed_ms: int, workers_max: int) -> None:
        self.cleanings += 1
        self.bytes_reclaimed += stats.bytes_reclaimed
        self.last_cleanings.append(LastCleaning(stats, elapsed_ms))
        while len(self.last_cleanings) > max(1, workers_max):
            self.last_cleanings.popleft()

    def metrics(self, now_ms: int, uncleanable: dict[TopicPartition, Uncleanable]) -> CleanerMetrics:
        count: dict[str, int] = {}
        dirty: dict[str, int] = {}
        for each in uncleanable.values():
            count[each.directory] = count.get(each.directory, 0) + 1
            dirty[each.directory] = dirty.get(each.directory, 0) + each.dirty_bytes
        read = sum(each.stats.bytes_read for each in self.last_cleanings)
        written = sum(each.stats.bytes_written for each in self.last_cleanings)
        return CleanerMetrics(
            int(100 * self.dirty_ratio_max),
            now_ms - self.last_run_ms,
            count,
            dirty,
            self.overdue_ms_max // 1000,
            max((each.elapsed_ms for each in self.last_cleanings), default=0) // 1000,
            100 * written // max(read, 1),
            int(100 * max((each.stats.map_utilization for each in self.last_cleanings), default=0.0)),
            self.dead_workers,
            self.bytes_moved,
            self.bytes_reclaimed,
            self.cleanings,
            self.cleanings_failed,
        )
