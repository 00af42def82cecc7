"""Emptying a log while a broker starts: nobody else runs yet, so it waits for the disk.

`truncation` is how a running broker cuts a log, and says why in this order. At any time there is a segment: a
process that dies here must not leave a directory that the next start takes for one whose making was interrupted
(`half_made`), and removes.
"""

from tidelog.storage.log.log import Log
from tidelog.storage.producers.snapshots import truncate_fully


def begin_anew_at_start(log: Log, offset: int, now_ms: int) -> None:
    """Drop everything; the next record gets this offset."""
    log.finish_swap()
    log.generation += 1
    first = log.segments.first
    log.delete_segments(log.segments.beyond(first.base_offset))
    log.fs.sync_directory(log.directory)
    first.truncate_to(first.base_offset)
    first.flush()
    if first.base_offset != offset:
        log.segments.add(log.create_segment(offset, now_ms))
        log.fs.sync_directory(log.directory)
        log.delete_segments([first])
    truncate_fully(log.producers, log.snapshots, offset)
    log.fs.sync_directory(log.directory)
    log.begin_at(offset)
    log.flush.begin_at(offset)
