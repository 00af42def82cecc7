"""One cleaning of a broker's log, from the job to the last swap, as a cleaner does it; without a scheduler."""

from tests.sim.broker import T0, Broker

from tidelog.model.ids import TopicPartition
from tidelog.storage.cleaner.cleaning import clean_log
from tidelog.storage.cleaner.job import CleanedSegment, CleanerSettings, CleaningJob, LastRecord, SegmentFacts
from tidelog.storage.log.log import Log
from tidelog.storage.log.swap import swap_in
from tidelog.storage.segment.settings import index_settings


def clean(
    broker: Broker, first_dirty_offset: int, partition: TopicPartition = T0, dedupe_buffer_bytes: int = 4096
) -> int:
    """Clean all closed segments, as far as their keys fit into the table; return the new first dirty offset."""
    log = broker.log(partition)
    (directory,) = broker.logs.directories.values()
    # As in `log_facts`: if a crash takes the log start back, records before it return and would count as clean.
    durable_start = min(log.log_start_offset, directory.durable_log_start(partition))
    first_dirty = max(first_dirty_offset, durable_start)
    steps = clean_log(broker.fs, job_for(log, first_dirty, broker.now, dedupe_buffer_bytes))
    while True:
        try:
            step = next(steps)
        except StopIteration as end:
            return max(first_dirty_offset, int(end.value.end_offset))
        if isinstance(step, CleanedSegment):
            assert swap_in(log, log.generation, step.base_offset, step.replaced, broker.now)


def job_for(log: Log, first_dirty_offset: int, now_ms: int, dedupe_buffer_bytes: int = 4096) -> CleaningJob:
    first_dirty = max(first_dirty_offset, log.segments.first.base_offset)
    end = log.segments.holding(min(log.last_stable_offset, log.segments.active.base_offset)).base_offset
    closed = [SegmentFacts(each.base_offset, each.size_bytes) for each in log.segments if each.base_offset < end]
    settings = CleanerSettings(
        dedupe_buffer_bytes, 0.9, 256, index_settings(log.config), log.config.segment_bytes_max, 1000
    )
    last_records = {
        producer_id: LastRecord(entry.last_data_offset, entry.producer_epoch)
        for producer_id, entry in log.producers.producers.items()
    }
    return CleaningJob(
        log.directory, closed, first_dirty, end, now_ms, bytes(16), settings, [], last_records, log.generation
    )
