"""Which neighbouring segments become one. Compaction makes segments smaller and smaller; without this a log would end
up as thousands of files with a few records each.

A group's sources would fit one segment even if nothing of them went: by bytes, by the size of each index, and by the
32 bits that an index has for an offset. (A delete horizon adds a few bytes to each record of its batch, so a segment
may come out a little larger than `segment.bytes`; that is no limit of the format.) A group has no more sources than a
turn of the broker's loop can rename; what is left over is for the next cleaning.
"""

from collections.abc import Sequence
from typing import Final

from tidelog.storage.cleaner.job import CleanerSettings, SegmentFacts, with_ends
from tidelog.storage.names import MAX_INT32

SEGMENTS_MAX: Final = 64


def group_segments(
    segments: Sequence[SegmentFacts], settings: CleanerSettings, end_offset: int
) -> list[list[SegmentFacts]]:
    """Split the segments into groups, in order; every segment is in exactly one group. `end_offset` is where the
    segment behind the last of them begins."""
    groups: list[list[SegmentFacts]] = []
    total: SegmentFacts | None = None  # of the last group
    for segment, end in with_ends(segments, end_offset):
        together = segment if total is None else _sum(total, segment)
        if total is not None and len(groups[-1]) < SEGMENTS_MAX and _fits(together, end, settings):
            groups[-1].append(segment)
            total = together
        else:
            groups.append([segment])
            total = segment
    return groups


def _sum(total: SegmentFacts, added: SegmentFacts) -> SegmentFacts:
    return total._replace(
        size_bytes=total.size_bytes + added.size_bytes,
        offset_index_bytes=total.offset_index_bytes + added.offset_index_bytes,
        time_index_bytes=total.time_index_bytes + added.time_index_bytes,
    )


def _fits(total: SegmentFacts, end_offset: int, settings: CleanerSettings) -> bool:
    return (
        total.size_bytes <= settings.segment_bytes_max
        and total.offset_index_bytes <= settings.index.max_bytes
        and total.time_index_bytes <= settings.index.max_bytes
        and end_offset - 1 - total.base_offset <= MAX_INT32
    )
