"""Cutting a log while a broker starts: nobody else runs yet, so it waits for the disk.

`log_truncation` is how a running broker does it, and says why in this order. The recovery point must have been lowered
on disk before (`LogDirectory.prepare_truncation`): otherwise what comes in place of the records would count as synced.
"""

from tidelog.storage.log import Log
from tidelog.storage.producer_replay import rebuild_producers
from tidelog.storage.producer_snapshots import truncate_fully


def truncate_at_start(log: Log, offset: int, now_ms: int) -> None:
    """Drop the records from `offset` on, and those that share a batch with it."""
    if offset >= log.log_end_offset:
        log.epochs.truncate_from_end(log.log_end_offset)
        return
    if offset < log.segments.first.base_offset:
        begin_anew_at_start(log, offset, now_ms)
        return
    log.finish_swap()
    log.generation += 1
    end_offset = log.end_if_truncated_to(offset)
    if log.delete_segments(log.segments.beyond(offset)):
        log.fs.sync_directory(log.directory)
    active = log.segments.active
    active.truncate_to(offset)
    active.seal()  # so that its indexes are synced as well
    active.flush()
    active.is_sealed = False
    log.set_end(end_offset)
    rebuild_producers(log, now_ms)
    log.fs.sync_directory(log.directory)  # a snapshot that came back would contradict the log


def begin_anew_at_start(log: Log, offset: int, now_ms: int) -> None:
    """Drop everything; the next record gets this offset."""
    log.finish_swap()
    log.generation += 1
    log.delete_segments(list(log.segments))
    truncate_fully(log.producers, log.snapshots, offset)
    log.segments.add(log.create_segment(offset, now_ms))
    log.fs.sync_directory(log.directory)
    log.begin_at(offset)
    log.flush.begin_at(offset)
