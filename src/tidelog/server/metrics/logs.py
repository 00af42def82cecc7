"""Metrics of the log directories, of syncing them, and of the cleaner."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from tidelog.ports.errors import StorageFault
from tidelog.server.metrics.declaration import MILLISECONDS_PER_S, Family, Kind, Read, Sample, Section, one
from tidelog.storage.cleaner.metrics import CleanerMetrics

if TYPE_CHECKING:
    from tidelog.server.metrics.scrape import Scrape

_DIRECTORY = ("logdirectory",)


def _cleaner(scrape: "Scrape") -> CleanerMetrics | None:
    cleaner = scrape.node.cleaner
    return None if cleaner is None else cleaner.metrics(scrape.wall_ms)


def _cleaner_value(read: Callable[[CleanerMetrics], float]) -> Read:
    def value(scrape: "Scrape") -> float | None:
        metrics = _cleaner(scrape)
        return None if metrics is None else read(metrics)

    return one(value)


def _by_directory(read: Callable[[CleanerMetrics], dict[str, int]]) -> Read:
    def samples(scrape: "Scrape") -> Iterable[Sample]:
        metrics = _cleaner(scrape)
        found = {} if metrics is None else read(metrics)
        return [((path,), found.get(path, 0)) for path in scrape.broker.logs.directories]

    return samples


def _offline(scrape: "Scrape") -> Iterable[Sample]:
    return [((path,), int(not each.is_online)) for path, each in scrape.broker.logs.directories.items()]


def _usable_bytes(scrape: "Scrape") -> Iterable[Sample]:
    """A disk that does not answer has no sample."""
    for path, directory in scrape.broker.logs.directories.items():
        with suppress(StorageFault):
            yield (path,), directory.room.usable_bytes()


def _reserved_bytes(scrape: "Scrape") -> Iterable[Sample]:
    return [((path,), each.room.reserved_bytes) for path, each in scrape.broker.logs.directories.items()]


def _offline_count(scrape: "Scrape") -> int:
    return sum(not each.is_online for each in scrape.broker.logs.directories.values())


def _cleaner_gauge(name: str, bean: str, help_text: str, read: Callable[[CleanerMetrics], float]) -> Family:
    kafka = f"kafka.log:type={bean}"
    return Family(f"kafka_log_{name}", Kind.GAUGE, help_text, _cleaner_value(read), (), kafka)


LOG_METRICS = Section(
    "Log directories",
    (
        Family(
            "kafka_log_logmanager_offlinelogdirectorycount",
            Kind.GAUGE,
            "Log directories that failed.",
            one(_offline_count),
            (),
            "kafka.log:type=LogManager,name=OfflineLogDirectoryCount",
        ),
        Family(
            "kafka_log_logmanager_logdirectoryoffline",
            Kind.GAUGE,
            "1 for a log directory that failed.",
            _offline,
            _DIRECTORY,
            "kafka.log:type=LogManager,name=LogDirectoryOffline,logDirectory=*",
        ),
        Family(
            "tidelog_log_directory_usable_bytes",
            Kind.GAUGE,
            "Free on the disk of a log directory. Below the reserve, writes are refused with KAFKA_STORAGE_ERROR.",
            _usable_bytes,
            _DIRECTORY,
        ),
        Family(
            "tidelog_log_directory_reserved_bytes",
            Kind.GAUGE,
            "The reserve of a log directory (log.dir.reserved.bytes).",
            _reserved_bytes,
            _DIRECTORY,
        ),
        Family(
            "kafka_log_logflushstats_logflushrateandtime_seconds",
            Kind.HISTOGRAM,
            "Time of helper threads for syncing one log: all of its files that had to be. The loop does not wait.",
            one(lambda scrape: scrape.broker.flush_times),
            (),
            "kafka.log:type=LogFlushStats,name=LogFlushRateAndTimeMs",
        ),
    ),
)

CLEANER_METRICS = Section(
    "Log cleaner",
    (
        Family(
            "kafka_log_logcleanermanager_uncleanable_partitions_count",
            Kind.GAUGE,
            "Partitions that the cleaner leaves alone, because cleaning them failed.",
            _by_directory(lambda metrics: metrics.uncleanable_partitions_count),
            _DIRECTORY,
            "kafka.log:type=LogCleanerManager,name=uncleanable-partitions-count,logDirectory=*",
        ),
        Family(
            "kafka_log_logcleanermanager_uncleanable_bytes",
            Kind.GAUGE,
            "Bytes in them that wait to be cleaned.",
            _by_directory(lambda metrics: metrics.uncleanable_bytes),
            _DIRECTORY,
            "kafka.log:type=LogCleanerManager,name=uncleanable-bytes,logDirectory=*",
        ),
        _cleaner_gauge(
            "logcleanermanager_max_dirty_percent",
            "LogCleanerManager,name=max-dirty-percent",
            "The largest part of a log that waits to be cleaned.",
            lambda metrics: metrics.max_dirty_percent,
        ),
        _cleaner_gauge(
            "logcleanermanager_time_since_last_run_seconds",
            "LogCleanerManager,name=time-since-last-run-ms",
            "Since the cleaner last looked for something to clean.",
            lambda metrics: metrics.time_since_last_run_ms / MILLISECONDS_PER_S,
        ),
        _cleaner_gauge(
            "logcleaner_max_clean_time_seconds",
            "LogCleaner,name=max-clean-time-secs",
            "The longest of the last cleanings.",
            lambda metrics: metrics.max_clean_time_secs,
        ),
        _cleaner_gauge(
            "logcleaner_max_compaction_delay_seconds",
            "LogCleaner,name=max-compaction-delay-secs",
            "By how much the most overdue log is past its max.compaction.lag.ms.",
            lambda metrics: metrics.max_compaction_delay_secs,
        ),
        _cleaner_gauge(
            "logcleaner_cleaner_recopy_percent",
            "LogCleaner,name=cleaner-recopy-percent",
            "How much of what the last cleanings read they had to write again.",
            lambda metrics: metrics.cleaner_recopy_percent,
        ),
        _cleaner_gauge(
            "logcleaner_max_buffer_utilization_percent",
            "LogCleaner,name=max-buffer-utilization-percent",
            "How full the map of keys was at most, in the last cleanings.",
            lambda metrics: metrics.max_buffer_utilization_percent,
        ),
        _cleaner_gauge(
            "logcleaner_deadthreadcount",
            "LogCleaner,name=DeadThreadCount",
            "Workers of the cleaner that died. Each was replaced, so this only grows.",
            lambda metrics: metrics.dead_thread_count,
        ),
        Family(
            "tidelog_cleanings_total",
            Kind.COUNTER,
            "Cleanings that came to their end.",
            _cleaner_value(lambda metrics: metrics.cleanings),
        ),
        Family(
            "tidelog_cleanings_failed_total",
            Kind.COUNTER,
            "Cleanings that failed.",
            _cleaner_value(lambda metrics: metrics.cleanings_failed),
        ),
        Family(
            "tidelog_cleaner_reclaimed_bytes_total",
            Kind.COUNTER,
            "Bytes that cleanings gave back.",
            _cleaner_value(lambda metrics: metrics.bytes_reclaimed),
        ),
    ),
)
