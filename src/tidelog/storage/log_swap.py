"""The log's side of a compaction: a cleaned segment takes the place of those it was made from (`cleaner.swap`).

The cleaning read closed segments while the log went on. If the log was truncated, had records deleted or was moved
meanwhile, its generation says so, and what was cleaned is thrown away.
"""

from collections.abc import Sequence

from tidelog.storage.cleaner.swap import remove_cleaned, swap
from tidelog.storage.log import DeletedSegment, Log, index_settings
from tidelog.storage.names import DELETED_SUFFIX, NO_SUFFIX
from tidelog.storage.segment import Segment


def swap_in(log: Log, generation: int, base_offset: int, replaced: Sequence[int], now_ms: int) -> bool:
    """Whether the `.cleaned` files at `base_offset` are now the log, in place of the segments that begin at the
    offsets in `replaced`; waits for the disk."""
    if generation != log.generation or any(each not in log.segments.base_offsets[:-1] for each in replaced):
        remove_cleaned(log.descriptors, log.directory, base_offset)
        return False
    swap(log.descriptors, log.directory, base_offset, replaced)
    for offset in replaced:
        log.segments.remove(log.segments.holding(offset))
        if offset != base_offset:
            snapshot_path = log.snapshots.mark_deleted(offset)
            old = _open(log, offset, DELETED_SUFFIX, now_ms)
            log.deleted.append(DeletedSegment(now_ms + log.config.file_delete_delay_ms, old, snapshot_path))
    log.segments.add(_open(log, base_offset, NO_SUFFIX, now_ms))
    return True


def _open(log: Log, base_offset: int, suffix: str, now_ms: int) -> Segment:
    settings = index_settings(log.config)
    return Segment.open(log.descriptors, log.directory, base_offset, settings, now_ms, suffix)
