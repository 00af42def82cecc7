"""Where the readers of one log are: from the offset that each asks for next to the position of its batch.

A consumer goes on where its last answer ended, and a follower does so all the time. To find that place once more takes
a lookup in the index and a walk along headers; to remember it takes a dict. What is remembered holds as long as the
segment is the one that the log has there (a swap replaces it) and has not been cut since (`Segment.version`).

Compiled by mypyc: every fetch asks here.
"""

from typing import Final

from tidelog.storage.segment.segment import Segment

REMEMBERED_MAX: Final = 16  # a log; with more readers, those that have not asked for longest look in the index again


class BatchPosition:
    """The position in a segment at which a batch starts, or will start. `size_bytes` is 0 where nothing else is known
    of it."""

    __slots__ = ("base_offset", "last_offset", "position", "segment", "size_bytes", "version")

    def __init__(self, segment: Segment, position: int, base_offset: int, size_bytes: int, last_offset: int) -> None:
        self.segment = segment
        self.version = segment.version
        self.position = position
        self.base_offset = base_offset
        self.size_bytes = size_bytes
        self.last_offset = last_offset

    def is_of(self, segment: Segment) -> bool:
        return self.segment is segment and self.version == segment.version


class ReadPositions:
    __slots__ = ("_by_offset",)

    def __init__(self) -> None:
        self._by_offset: dict[int, BatchPosition] = {}  # in the order in which they were noted, the latest last

    def find(self, offset: int, segment: Segment) -> BatchPosition | None:
        """Return the position at which a reader at `offset` begins, if it is known and in this segment."""
        found = self._by_offset.get(offset)
        return found if found is not None and found.is_of(segment) else None

    def note(self, offset: int, place: BatchPosition) -> None:
        known = self._by_offset
        known.pop(offset, None)
        known[offset] = place
        if len(known) > REMEMBERED_MAX:
            del known[next(iter(known))]
