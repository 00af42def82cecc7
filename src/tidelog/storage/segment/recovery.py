"""Recovering a segment: the log is scanned, its indexes are built anew, and it is truncated at the first damage.

Interpreted: it runs once a segment, and what it spends its time on, the scan and the indexes, is compiled.
"""

from tidelog.storage.errors import CorruptSegmentError
from tidelog.storage.names import MAX_INT64
from tidelog.storage.segment.facts import RecoveredSegment
from tidelog.storage.segment.scan import OnChunk, ScannedChunk, scan
from tidelog.storage.segment.segment import Segment

__all__ = ["recover_segment"]


def recover_segment(
    segment: Segment, on_chunk: OnChunk, recovery_point: int = 0, *, allows_gaps: bool = True, is_last: bool = False
) -> RecoveredSegment:
    """Scan everything, build the indexes anew, and truncate the log at the first damage. The transaction index comes
    out empty: `on_chunk` has to know the transactions, and to call `Segment.append_aborted`.

    `allows_gaps`: compaction makes them. Without it a gap past the recovery point is a torn base offset. So is, in the
    last segment of a log (`is_last`), an offset out of the segment's reach: no compaction ever made that.

    Raises CorruptSegmentError, and truncates nothing, when the damage is below the recovery point: those bytes were
    durable once, and their loss is not ours to hide.
    """

    def index(chunk: ScannedChunk) -> None:
        segment.index_scanned(chunk)
        on_chunk(chunk)

    segment.forget_indexes()
    size_bytes = segment.log.open().size()
    found = scan(
        segment.path,
        segment.log.read_file,
        segment.base_offset,
        size_bytes,
        index,
        dense_from=MAX_INT64 if allows_gaps else recovery_point,
        torn_from=recovery_point if is_last or not allows_gaps else MAX_INT64,
    )
    if found.damage is not None and max(segment.base_offset, found.doubtful_from) < recovery_point:
        raise CorruptSegmentError(segment.path, found.valid_bytes, found.damage, found.next_offset)
    segment.keep_scanned(found.valid_bytes)
    return RecoveredSegment(found.valid_bytes, size_bytes - found.valid_bytes, found.damage, found.next_offset)
