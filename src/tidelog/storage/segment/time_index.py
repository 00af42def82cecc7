"""`.timeindex`: from timestamps to offsets.

    timestamp i64 | relative offset i32

An entry says: up to and including this offset no record is later than this timestamp (and the batch that ends at the
offset has one that is not earlier). Timestamps of records come in any order; those of entries only increase, since
each is the largest so far. The last slot is kept for the moment at which the segment is sealed, when the largest
timestamp of all goes in: retention by time reads it from there.
"""

from struct import Struct
from typing import Final, NamedTuple

from tidelog.records.header import NO_TIMESTAMP
from tidelog.storage.errors import CorruptIndexError, SegmentOverflowError
from tidelog.storage.names import MAX_INT32, TIME_INDEX_SUFFIX
from tidelog.storage.segment.files import SegmentFiles
from tidelog.storage.segment.index_file import Column, IndexFile

ENTRY: Final = Struct(">qi")
_TIMESTAMP: Final = Column(0, is_wide=True)
_OFFSET: Final = Column(8, is_wide=False)


class TimestampOffset(NamedTuple):
    timestamp: int
    offset: int


class TimeIndex(IndexFile):
    __slots__ = ("_max_entries",)

    def __init__(self, files: SegmentFiles, max_bytes: int) -> None:
        super().__init__(files, TIME_INDEX_SUFFIX, ENTRY.size)
        self._max_entries = max_bytes // ENTRY.size

    @property
    def base_offset(self) -> int:
        return self._files.base_offset

    @property
    def is_full(self) -> bool:
        return self.entries >= self._max_entries - 1

    def maybe_append(self, timestamp: int, offset: int, *, use_last_slot: bool = False) -> None:
        """Append an entry, unless its timestamp is not later than the last entry's."""
        if timestamp < 0:
            return
        relative = offset - self.base_offset
        if not 0 <= relative <= MAX_INT32:
            raise SegmentOverflowError(self.path, f"offset {offset} does not fit an entry")
        entry = ENTRY.pack(timestamp, relative)
        if self.entries:  # numbers that are not negative compare as their big-endian bytes do
            last = self._last_entry()
            if entry[:8] <= last[:8]:
                return
            assert entry[8:] >= last[8:], f"{self.path}: offset {offset} is before the last entry's"
        assert use_last_slot or not self.is_full, f"{self.path}: the index is full"
        self._append_entry(entry)

    def append_entries(self, entries: bytes) -> None:
        """Append many entries at once, as far as there is room; the last slot stays free."""
        self._append_entries(entries[: max(0, self._max_entries - 1 - self.entries) * ENTRY.size])

    def lookup(self, timestamp: int) -> TimestampOffset:
        """The last entry at or before the time; (-1, base offset) when there is none."""
        slot, entry = self._last_slot_up_to(_TIMESTAMP, timestamp)
        return self._nothing() if slot < 0 else self._parse(entry)

    def last_entry(self) -> TimestampOffset:
        return self._parse(self._last_entry()) if self.entries else self._nothing()

    def entry(self, slot: int) -> TimestampOffset:
        return self._parse(self._read(slot, 1))

    def truncate_to(self, offset: int) -> None:
        """Drop the entries at or past the offset."""
        slot, _ = self._last_slot_up_to(_OFFSET, offset - self.base_offset - 1)
        self._truncate_entries(slot + 1)

    def sanity_check(self) -> None:
        """Check what the size and the first and last entry can tell; raises CorruptIndexError."""
        size = self.file_size() or 0
        if size % ENTRY.size:
            raise CorruptIndexError(self.path, f"{size} bytes are no multiple of {ENTRY.size}")
        if not self.entries:
            return
        first, last = self.entry(0), self.last_entry()
        if last.timestamp < first.timestamp or last.offset < self.base_offset:
            raise CorruptIndexError(self.path, f"the first entry is {first}, the last {last}")

    def _nothing(self) -> TimestampOffset:
        return TimestampOffset(NO_TIMESTAMP, self.base_offset)

    def _parse(self, entry: bytes) -> TimestampOffset:
        timestamp, relative = ENTRY.unpack(entry)
        return TimestampOffset(timestamp, self.base_offset + relative)
