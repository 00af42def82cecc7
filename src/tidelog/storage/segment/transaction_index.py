"""`.txnindex`: the aborted transactions whose marker lies in the segment. A read_committed fetch is told which of them
overlap what it gets. Most segments have none, and no such file.

    version i16 (0) | producer id i64 | first offset i64 | last offset i64 | last stable offset i64

The last offset is that of the abort marker, so it increases from entry to entry; first offsets may not.
"""

from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

from tidelog.storage.errors import CorruptIndexError
from tidelog.storage.names import TRANSACTION_INDEX_SUFFIX
from tidelog.storage.segment.files import SegmentFiles
from tidelog.storage.segment.index_file import Column, IndexFile

ENTRY: Final = Struct(">hqqqq")
VERSION: Final = 0
_LAST_OFFSET: Final = Column(18, is_wide=True)
_CHUNK_ENTRIES: Final = 256


class AbortedTxn(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TransactionIndex(IndexFile):
    __slots__ = ()

    def __init__(self, files: SegmentFiles) -> None:
        super().__init__(files, TRANSACTION_INDEX_SUFFIX, ENTRY.size)

    def append(self, aborted: AbortedTxn) -> None:
        assert not self.entries or aborted.last_offset > self._parse(self._last_entry()).last_offset, (
            f"{self.path}: {aborted} is not past the last entry"
        )
        self._append_entries(ENTRY.pack(VERSION, *aborted))

    def flush_entries(self) -> None:
        """Write the entries that wait. Unlike the other indexes, the file of this one is not made without an entry."""
        if self._pending:
            super().flush_entries()

    def collect(self, fetch_offset: int, upper_bound_offset: int) -> tuple[list[AbortedTxn], bool]:
        """Return the transactions that overlap the offsets from `fetch_offset` to before `upper_bound_offset`; and
        whether these are all, or later segments may have more."""
        found = []
        slot, _ = self._last_slot_up_to(_LAST_OFFSET, fetch_offset - 1)
        for aborted in self._from(slot + 1):
            if aborted.first_offset < upper_bound_offset:
                found.append(aborted)
            if aborted.last_stable_offset >= upper_bound_offset:
                return found, True
        return found, False

    def all(self) -> list[AbortedTxn]:
        return list(self._from(0))

    def truncate_to(self, offset: int) -> None:
        """Drop the transactions whose marker lies at or past the offset."""
        slot, _ = self._last_slot_up_to(_LAST_OFFSET, offset - 1)
        self._truncate_entries(slot + 1)

    def sanity_check(self) -> None:
        """Check every entry; raises CorruptIndexError."""
        size = self.file_size() or 0
        if size % ENTRY.size:
            raise CorruptIndexError(self.path, f"{size} bytes are no multiple of {ENTRY.size}")
        before = self._files.base_offset - 1
        for aborted in self._from(0):
            if not before < aborted.last_offset or aborted.first_offset > aborted.last_offset:
                raise CorruptIndexError(self.path, f"{aborted} follows offset {before}")
            before = aborted.last_offset

    def _from(self, slot: int) -> Iterator[AbortedTxn]:
        entries = self.entries
        for first in range(slot, entries, _CHUNK_ENTRIES):
            data = self._read(first, min(_CHUNK_ENTRIES, entries - first))
            for at in range(0, len(data), ENTRY.size):
                yield self._parse(data[at : at + ENTRY.size])

    def _parse(self, entry: bytes) -> AbortedTxn:
        version, *fields = ENTRY.unpack(entry)
        if version > VERSION:
            raise CorruptIndexError(self.path, f"entry of version {version}, only {VERSION} is known")
        return AbortedTxn(*fields)
