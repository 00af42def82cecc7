"""`.index`: from offsets to positions, one entry for about every `index.interval.bytes` of log.

    relative offset i32 | position i32

The offset is the last one of a batch, relative to the segment's base; the position is where that batch starts. A
lookup finds the last entry at or before an offset, from where the log itself is walked.
"""

from struct import Struct
from typing import Final, NamedTuple

from tidelog.storage.errors import CorruptIndexError, SegmentOverflowError
from tidelog.storage.names import INDEX_SUFFIX, MAX_INT32
from tidelog.storage.segment.files import SegmentFiles
from tidelog.storage.segment.index_file import Column, IndexFile

ENTRY: Final = Struct(">ii")
_OFFSET: Final = Column(0, is_wide=False)
_POSITION: Final = Column(4, is_wide=False)


class OffsetPosition(NamedTuple):
    offset: int
    position: int


class OffsetIndex(IndexFile):
    __slots__ = ("_max_entries",)

    def __init__(self, files: SegmentFiles, max_bytes: int) -> None:
        super().__init__(files, INDEX_SUFFIX, ENTRY.size)
        self._max_entries = max_bytes // ENTRY.size

    @property
    def base_offset(self) -> int:
        return self._files.base_offset

    @property
    def is_full(self) -> bool:
        return self.entries >= self._max_entries

    def can_hold(self, offset: int) -> bool:
        return 0 <= offset - self.base_offset <= MAX_INT32

    def append(self, offset: int, position: int) -> None:
        relative = offset - self.base_offset
        if not 0 <= relative <= MAX_INT32 or position > MAX_INT32:
            raise SegmentOverflowError(self.path, f"offset {offset} at position {position} does not fit an entry")
        entry = (relative << 32 | position).to_bytes(8, "big")
        # Numbers that are not negative compare as their big-endian bytes do.
        assert not self.entries or entry[:4] > self._last_entry()[:4], f"{self.path}: {offset} is not past the last"
        assert not self.is_full, f"{self.path}: the index is full"
        self._append_entry(entry)

    def append_entries(self, entries: bytes) -> None:
        """Append many entries at once, as far as there is room."""
        self._append_entries(entries[: max(0, self._max_entries - self.entries) * ENTRY.size])

    def lookup(self, offset: int) -> OffsetPosition:
        """The last entry at or before the offset; the start of the segment when there is none."""
        return self._entry_or_start(*self._last_slot_up_to(_OFFSET, offset - self.base_offset))

    def lookup_position(self, position: int) -> OffsetPosition:
        """The last entry at or before the position, at which a batch starts."""
        return self._entry_or_start(*self._last_slot_up_to(_POSITION, position))

    def last_entry(self) -> OffsetPosition:
        if not self.entries:
            return OffsetPosition(self.base_offset, 0)
        return self._parse(self._last_entry())

    def entry(self, slot: int) -> OffsetPosition:
        return self._parse(self._read(slot, 1))

    def truncate_to(self, offset: int) -> None:
        """Drop the entries at or past the offset."""
        slot, _ = self._last_slot_up_to(_OFFSET, offset - self.base_offset - 1)
        self._truncate_entries(slot + 1)

    def sanity_check(self) -> None:
        """Check what the size and the last entry can tell; raises CorruptIndexError."""
        size = self.file_size() or 0
        if size % ENTRY.size:
            raise CorruptIndexError(self.path, f"{size} bytes are no multiple of {ENTRY.size}")
        last = self.last_entry()
        if last.offset < self.base_offset or last.position < 0:
            raise CorruptIndexError(self.path, f"the last entry is offset {last.offset} at position {last.position}")

    def _entry_or_start(self, slot: int, entry: bytes) -> OffsetPosition:
        return OffsetPosition(self.base_offset, 0) if slot < 0 else self._parse(entry)

    def _parse(self, entry: bytes) -> OffsetPosition:
        relative, position = ENTRY.unpack(entry)
        return OffsetPosition(self.base_offset + relative, position)
