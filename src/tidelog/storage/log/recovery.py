"""After an unclean stop: what lies past the recovery point is scanned, checked, and cut at the first damage.

    the segments below the recovery point      trusted: they were synced whole, indexes and names included
    the one that holds it, and all behind it   scanned: indexes, producers and epochs come out of the batches anew
    the first damage, or hole between two      a torn tail: cut there, durably, and what follows is deleted

Only bytes that never were durable may be cut. Damage below the recovery point, or a log that ends before it, is
a CorruptSegmentError instead: nothing is cut, the replica is set aside and reported (`logs`), and a peer or an operator
decides. The recovery point itself stays where it was: what a scan found good may still be in the page cache alone.

One kind of rot stays unseen: in the base offset of the very last batch, which no checksum covers. Turned to a higher
number it looks like a gap; past the recovery point a gap is cut, except in a compacted log, where it is allowed.
"""

from typing import Final, NamedTuple

from tidelog.records.header import MAX_INT32
from tidelog.storage.errors import CorruptSegmentError
from tidelog.storage.log.log import Log
from tidelog.storage.producers.replay import index_aborted, rebuild_producers, replay, snapshot_at_roll
from tidelog.storage.segment.recovery import recover_segment
from tidelog.storage.segment.scan import ScannedChunk
from tidelog.storage.segment.segment import Segment

_LAST_OFFSET_DELTA_END: Final = 27  # of a batch header


class Truncation(NamedTuple):
    """The cut that recovery made in a log: from which file and offset on, how much, and why."""

    path: str
    offset: int
    truncated_bytes: int
    reason: str


class _StaleSegment(Exception):
    """The error for a segment of records that had been truncated, whose name came back with the power loss."""


def recover(log: Log, scan_from: int, now_ms: int, problems: list[str] | None = None) -> list[Truncation]:
    """Scan the segments from `scan_from` on and cut the log at the first damage; return the cuts.

    `log` has all its segments; it is made to end where the first one to scan begins, and grows as they prove good.
    `scan_from` is the recovery point, or lower where an index has to be rebuilt. What else is found, and dealt with,
    goes to `problems`.
    """
    problems = [] if problems is None else problems
    recovery_point = log.flush.recovery_point
    truncations: list[Truncation] = []
    pending = log.segments.from_offset(scan_from)
    log.log_end_offset = pending[0].base_offset
    log.flush.indexes_durable_to = min(log.flush.indexes_durable_to, pending[0].base_offset)
    log.epochs.truncate_from_end(log.log_end_offset)
    problems += map(str, rebuild_producers(log, now_ms, problems))
    while pending and not truncations:
        segment = pending.pop(0)
        truncations += _recover_segment(log, segment, recovery_point, problems, is_last=not pending)
        if pending and not truncations:
            segment.seal()
            snapshot_at_roll(log, pending[0].base_offset)
    if truncations:
        truncations += _drop(log, pending, "behind a segment that was cut")
        _sync_cut(log, now_ms)
    _check_end(log, recovery_point)
    return truncations


def _recover_segment(
    log: Log, segment: Segment, recovery_point: int, problems: list[str], *, is_last: bool
) -> list[Truncation]:
    if segment.base_offset < log.log_end_offset:
        return _drop(log, [segment], f"it begins below offset {log.log_end_offset}, where the one before it ends")
    if _is_hole(log, segment):
        return _drop(log, [segment], f"the one before it has lost its end, from offset {log.log_end_offset} on")
    end_before, log.log_end_offset = log.log_end_offset, segment.base_offset
    try:
        found = recover_segment(
            segment,
            lambda chunk: _take_over(log, segment, chunk, problems),
            recovery_point,
            allows_gaps=log.config.compacts,
            is_last=is_last,
        )
    except _StaleSegment as stale:
        log.log_end_offset = end_before
        return _drop(log, [segment], str(stale))
    log.log_end_offset = found.next_offset
    log.producers.map_end_offset = max(log.producers.map_end_offset, found.next_offset)
    if not found.truncated_bytes:
        return []
    return [Truncation(segment.path, found.next_offset, found.truncated_bytes, found.reason or "")]


def _is_hole(log: Log, segment: Segment) -> bool:
    """Tell whether records are missing in front of the segment. A segment begins where the one before it ended, unless
    its own records were too far away from there; then all before it was durable when it was made
    (`GroupCommit._hides_loss`). Below the log start nothing can be missed: retention was deleting there, and a power
    loss brings some of the names back."""
    if segment.base_offset <= max(log.log_start_offset, log.log_end_offset):
        return False
    if log.config.compacts and segment.base_offset <= log.flush.recovery_point:
        return False  # compaction may take the end of a segment; below the recovery point only indexes are rebuilt
    header = segment.read(0, _LAST_OFFSET_DELTA_END)
    if len(header) < _LAST_OFFSET_DELTA_END:
        return True
    last_offset_delta = int.from_bytes(header[-4:], "big", signed=True)
    return segment.base_offset + last_offset_delta - log.log_end_offset <= MAX_INT32


def _take_over(log: Log, segment: Segment, chunk: ScannedChunk, problems: list[str]) -> None:
    """Take over what the batches of one chunk say about epochs, producers and aborted transactions."""
    batches = chunk.batches
    if log.epochs.latest_epoch is not None and 0 <= batches.leader_epochs[0] < log.epochs.latest_epoch:
        raise _StaleSegment(f"leader epoch {batches.leader_epochs[0]} after {log.epochs.latest_epoch}")
    for row in range(len(batches)):
        log.assign_epoch(batches.leader_epochs[row], batches.base_offsets[row])
    found: list[str] = []
    index_aborted(segment, replay(log.producers, chunk.data, batches, found))
    problems += [f"{segment.path}: {each}" for each in found]


def _drop(log: Log, segments: list[Segment], reason: str) -> list[Truncation]:
    dropped = [Truncation(each.path, each.base_offset, each.size_bytes, reason) for each in segments]
    for each in segments:
        if each.base_offset < log.flush.recovery_point:
            raise CorruptSegmentError(each.path, 0, reason, log.log_end_offset)
    log.delete_segments(segments)
    return dropped


def _sync_cut(log: Log, now_ms: int) -> None:
    """Make the cut durable before anything is appended: what was cut must not come back behind new records."""
    if not len(log.segments):
        log.segments.add(log.create_segment(log.log_end_offset, now_ms))
    log.snapshots.remove_out_of_range(log.log_start_offset, log.log_end_offset)
    active = log.segments.active
    active.seal()  # so that its indexes are synced as well
    active.flush()
    active.is_sealed = False
    log.fs.sync_directory(log.directory)


def _check_end(log: Log, recovery_point: int) -> None:
    if log.log_end_offset < recovery_point:
        active = log.segments.active
        reason = f"the log ends at offset {log.log_end_offset}, but was durable up to {recovery_point}"
        raise CorruptSegmentError(active.path, active.size_bytes, reason, log.log_end_offset)
