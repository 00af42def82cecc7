"""A log, as the cleaner needs to know it: copied out of the live one, in plain values.

For the choice of a log little is read. Timestamps, which may cost a read of a cold file each, are looked at only where
the topic has a lag to keep, and of the dirty segments alone; everything else is in memory.
"""

from collections.abc import Sequence

from tidelog.config.units import LONG_MAX
from tidelog.storage.cleaner.job import (
    NO_OFFSET,
    CleanerSettings,
    CleaningJob,
    LastRecord,
    SegmentFacts,
)
from tidelog.storage.cleaner.selection import LogFacts, LogToClean
from tidelog.storage.directories.log_directory import LogDirectory
from tidelog.storage.log.log import Log
from tidelog.storage.segment.segment import Segment
from tidelog.storage.segment.transaction_index import AbortedTxn


def facts_of(log: Log, directory: LogDirectory) -> LogFacts:
    """Return what the choice of a log to clean needs to know. Raises StorageFault or a LogError when a file that has to
    be looked at can not be read."""
    partition, config = log.topic_partition, log.config
    checkpoint = directory.cleaner_offsets.get(partition)
    return LogFacts(
        partition,
        _segments(log, 0 if checkpoint is None else checkpoint),
        log.segments.active.base_offset,
        _durable_start(log, directory),
        log.log_end_offset,
        log.last_stable_offset,
        checkpoint,
        config.min_compaction_lag_ms,
        config.max_compaction_lag_ms,
        config.min_cleanable_dirty_ratio,
        min(log.flush.recovery_point, directory.stored_offsets(partition).recovery_point),
    )


def _durable_start(log: Log, directory: LogDirectory) -> int:
    """The offset at which the log starts, even after a crash. If a start counted that a crash can take back, records in
    front of it would return as clean although nobody cleaned them."""
    start = min(log.log_start_offset, directory.durable_log_start(log.topic_partition))
    return max(start, log.segments.first.base_offset)


def _segments(log: Log, first_dirty_offset: int) -> list[SegmentFacts]:
    ages, delays = log.config.min_compaction_lag_ms > 0, log.config.max_compaction_lag_ms < LONG_MAX
    facts = []
    for index in range(len(log.segments) - 1):
        segment = log.segments[index]
        fact = SegmentFacts(segment.base_offset, segment.size_bytes)
        if (ages or delays) and log.segments.end_of(index, log.log_end_offset) > first_dirty_offset:
            fact = fact._replace(
                largest_timestamp=segment.largest_timestamp(), first_timestamp=segment.first_timestamp()
            )
        facts.append(fact)
    return facts


def job_of(log: Log, chosen: LogToClean, settings: CleanerSettings, seed: bytes, now_ms: int) -> CleaningJob:
    """Return the job for the chosen log: every closed segment below the first uncleanable offset, the clean ones too,
    because the dirty part may have made their records obsolete."""
    end = chosen.first_uncleanable_offset
    segments = [segment for segment in log.segments if segment.base_offset < end]
    return CleaningJob(
        log.directory,
        [_for_job(segment) for segment in segments],
        chosen.first_dirty.offset,
        end,
        now_ms,
        seed,
        settings,
        _aborted(log, end),
        _last_records(log),
        log.generation,
    )


def _for_job(segment: Segment) -> SegmentFacts:
    indexes = segment.indexes
    return SegmentFacts(
        segment.base_offset,
        segment.size_bytes,
        offset_index_bytes=indexes.offset.size_bytes,
        time_index_bytes=indexes.time.size_bytes,
    )


def _aborted(log: Log, end: int) -> Sequence[AbortedTxn]:
    """All aborted transactions that have data below `end`. The marker of one may lie behind `end`, in a segment that is
    not cleaned yet."""
    collected: list[AbortedTxn] = []
    for segment in log.segments:
        aborted, is_complete = segment.collect_aborted(0, end)
        collected += aborted
        if is_complete:
            break
    return collected


def _last_records(log: Log) -> dict[int, LastRecord]:
    return {
        producer_id: LastRecord(
            NO_OFFSET if last.last_data_offset is None else last.last_data_offset, last.producer_epoch
        )
        for producer_id, last in log.producers.last_records().items()
    }
