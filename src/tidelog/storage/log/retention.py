"""Old segments go: by age, by size, or because the log starts behind them.

In two steps, because a crash must not bring back what readers have been told is gone, nor leave a hole:

    1. the log start offset passes the segments that are due        (`apply_retention`)
    2. once that offset is in its checkpoint, durably, the segments
       are renamed to `.deleted`, and removed after a while         (`delete_old_segment`)

Whole segments only, from the oldest on, and never one with records at or past the high watermark. The active segment
goes when it is due by itself: the log rolls first.

A log that is being cleaned is left alone until the cleaning is over: its segments are being read, and on a topic of
`compact,delete` each retention would otherwise send a cleaning that takes longer than the pause between two of them
back to its start.
"""

from collections.abc import Callable

from tidelog.config.topic_config import UNLIMITED
from tidelog.ports.errors import DiskFull
from tidelog.storage.log.log import Log
from tidelog.storage.names import DELETED_SUFFIX
from tidelog.storage.segment.deleted_segments import DeletedSegment
from tidelog.storage.segment.segment import Segment


def apply_retention(log: Log, now_ms: int) -> bool:
    """Let the log start behind what its topic no longer keeps; return whether anything was due."""
    if not log.config.deletes or log.is_being_cleaned or log.is_unsettled:
        return False
    target = max(_end_of_oversize(log), _end_of_expired(log, now_ms))
    if target <= log.log_start_offset:
        return False
    if target < log.log_end_offset or log.log_end_offset == log.segments.active.base_offset:
        return log.advance_log_start(target)
    active = log.segments.active
    try:
        if not log.is_staging:  # staged batches are meant for the active segment
            log.roll(now_ms)
    finally:
        # Without room for a new segment, the closed ones go all the same; the active one stays due for the next time.
        moved = log.advance_log_start(active.base_offset if log.segments.active is active else target)
    return moved


def _end_of_expired(log: Log, now_ms: int) -> int:
    retention_ms = log.config.retention_ms
    if retention_ms == UNLIMITED:
        return 0
    return _end_of_due(log, lambda segment: now_ms - segment.largest_timestamp() > retention_ms)


def _end_of_oversize(log: Log) -> int:
    """The end of the last segment that is due by size: a segment goes when the log is large enough without it."""
    if log.config.retention_bytes == UNLIMITED:
        return 0
    excess_bytes = log.size_bytes - log.config.retention_bytes

    def is_due(segment: Segment) -> bool:
        nonlocal excess_bytes
        excess_bytes -= segment.size_bytes
        return excess_bytes >= 0

    return _end_of_due(log, is_due)


def _end_of_due(log: Log, is_due: Callable[[Segment], bool]) -> int:
    """The end of the last segment in the unbroken row of due ones from the oldest on; 0 where the oldest is not due."""
    end = 0
    for index, segment in enumerate(log.segments):
        segment_end = log.segments.end_of(index, log.log_end_offset)
        is_last_and_empty = index + 1 == len(log.segments) and not segment.size_bytes
        if is_last_and_empty or segment_end > log.high_watermark or not is_due(segment):
            break
        end = segment_end
    return end


def delete_old_segment(log: Log, durable_log_start_offset: int, now_ms: int) -> bool:
    """Take the oldest segment out of the log if it ends at or below the log's start; return whether it did. Its files
    are removed by `deleted_segments.delete_expired`."""
    limit = min(log.log_start_offset, durable_log_start_offset)
    is_touched = log.is_being_cleaned or log.swap is not None or log.is_unsettled
    if is_touched or len(log.segments) < 2 or log.segments[1].base_offset > limit:
        return False
    segment = log.segments.first
    log.segments.remove(segment)
    try:
        segment.change_suffix(DELETED_SUFFIX)
        snapshot_path = log.snapshots.mark_deleted(segment.base_offset)
    except DiskFull:  # even for a longer name; removing takes no room
        segment.delete()
        log.snapshots.remove(segment.base_offset)
        return True
    log.deleted.append(DeletedSegment(now_ms + log.config.file_delete_delay_ms, segment, snapshot_path))
    return True
