"""The segments of one log in the order of their base offsets, found by offset.

There is always at least one; the last is the active segment, the only one that is written to. Two lists side by side,
because bisect on plain numbers is the fastest lookup there is, and every fetch makes one.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from tidelog.storage.segment.segment import Segment


class LogSegments:
    __slots__ = ("_base_offsets", "_segments")

    def __init__(self, segments: Sequence[Segment] = ()) -> None:
        self._segments: list[Segment] = sorted(segments, key=lambda segment: segment.base_offset)
        self._base_offsets: list[int] = [segment.base_offset for segment in self._segments]

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._segments)

    def __len__(self) -> int:
        return len(self._segments)

    def __getitem__(self, index: int) -> Segment:
        return self._segments[index]

    @property
    def active(self) -> Segment:
        return self._segments[-1]

    @property
    def first(self) -> Segment:
        return self._segments[0]

    @property
    def base_offsets(self) -> Sequence[int]:
        return self._base_offsets

    @property
    def size_bytes(self) -> int:
        return sum(segment.size_bytes for segment in self._segments)

    def index_of(self, offset: int) -> int:
        """The index of the segment that has the offset, or had it before compaction; 0 for an offset before all
        segments."""
        return max(0, bisect_right(self._base_offsets, offset) - 1)

    def holding(self, offset: int) -> Segment:
        return self._segments[self.index_of(offset)]

    def from_offset(self, offset: int) -> list[Segment]:
        """Return the segment that holds the offset, and all behind it."""
        return self._segments[self.index_of(offset) :]

    def beyond(self, offset: int) -> list[Segment]:
        """Return the segments that begin past the offset."""
        return self._segments[bisect_right(self._base_offsets, offset) :]

    def end_of(self, index: int, log_end_offset: int) -> int:
        """The first offset that is no longer in this segment: where the next begins, or the log ends."""
        return self._base_offsets[index + 1] if index + 1 < len(self._segments) else log_end_offset

    def add(self, segment: Segment) -> None:
        index = bisect_left(self._base_offsets, segment.base_offset)
        if self._base_offsets[index : index + 1] == [segment.base_offset]:
            raise ValueError(f"there is a segment at offset {segment.base_offset} already")
        self._segments.insert(index, segment)
        self._base_offsets.insert(index, segment.base_offset)

    def remove(self, segment: Segment) -> None:
        index = self._segments.index(segment)
        del self._segments[index]
        del self._base_offsets[index]
