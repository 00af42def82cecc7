"""Emptying a log while a broker starts: nobody else runs yet, so it waits for the disk.

`log_truncation` is how a running broker cuts a log, and says why in this order.
"""

from tidelog.storage.log import Log
from tidelog.storage.producer_snapshots import truncate_fully


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
