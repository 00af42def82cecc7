"""What the three indexes share: a file of entries of one size, sorted in each of their columns.

- New entries wait in memory (at most `SPILL_BYTES` of them) and are written, never synced, by `flush_entries`; what is
  in the file is never kept in memory. A process that dies leaves a short index behind, which recovery builds anew.
- Nothing is opened before it is asked for: a log of a thousand segments costs a thousand of these objects, no more.
- Lookups guess where the entry lies by interpolation and read a block there; entries grow evenly in most logs, so one
  or two reads suffice. Every other probe halves the rest instead, so that an uneven log costs twice a binary search
  and not more.
"""

from struct import Struct
from typing import Final, NamedTuple

from tidelog.ports.durable import write_fully
from tidelog.storage.errors import CorruptIndexError
from tidelog.storage.segment.files import SegmentFiles
from tidelog.storage.segment.kernels_scan import last_up_to

SPILL_BYTES: Final = 4096
BLOCK_BYTES: Final = 1024
UNKNOWN: Final = -1
_INT32: Final = Struct(">i")
_INT64: Final = Struct(">q")


class Column(NamedTuple):
    """One field of an entry: where it lies, and whether it has 64 bits or 32."""

    position: int
    is_wide: bool

    def of(self, entries: bytes, at: int = 0) -> int:
        number = _INT64 if self.is_wide else _INT32
        value: int = number.unpack_from(entries, at + self.position)[0]
        return value


class IndexFile:
    __slots__ = ("_count", "_entry_bytes", "_files", "_first", "_kind", "_last", "_pending", "_written")

    def __init__(self, files: SegmentFiles, kind: str, entry_bytes: int) -> None:
        self._files = files
        self._kind = kind
        self._entry_bytes = entry_bytes
        self._count = UNKNOWN  # the number of all entries, pending ones included
        self._written = 0  # entries in the file, once the count is known
        self._pending = bytearray()  # entries that are not in the file yet
        self._first = b""  # the first and the last entry, where known: bounds of every search
        self._last = b""

    @property
    def path(self) -> str:
        return self._files.path(self._kind)

    @property
    def entries(self) -> int:
        if self._count == UNKNOWN:
            self._count = self._written = (self.file_size() or 0) // self._entry_bytes
        return self._count

    @property
    def size_bytes(self) -> int:
        return self.entries * self._entry_bytes

    def file_size(self) -> int | None:
        """Return the size of the file in bytes, None when there is no file."""
        return self._files.size(self._kind)

    # Writing

    def _append_entries(self, entries: bytes) -> None:
        """Append any number of entries."""
        size = self._entry_bytes
        if entries:
            self._first = self._first if self.entries else entries[:size]
            self._count += len(entries) // size
            self._pending += entries
            self._last = entries[-size:]

    def _append_entry(self, entry: bytes) -> None:
        """Append one entry: `_append_entries` for the hot path."""
        if not self.entries:
            self._first = entry
        self._count += 1
        self._pending += entry
        self._last = entry

    @property
    def wants_flush(self) -> bool:
        """Tell whether so many entries wait that writing them is due."""
        return len(self._pending) >= SPILL_BYTES

    def flush_entries(self) -> None:
        """Write the entries that wait; the file is made when it is missing. After a fault the entries still wait, and
        the next attempt writes over what this one left."""
        entries = self.entries
        file = self._files.open_or_create(self._kind)
        if self._pending:
            # A copy: the traceback of a fault would keep a view of the bytearray, which could then not be shortened.
            write_fully(file, self._written * self._entry_bytes, [bytes(self._pending)])
            self._written = entries
            self._pending = bytearray()

    def _truncate_entries(self, count: int) -> None:
        """Keep the first `count` entries."""
        if count >= self.entries:
            return
        if count < self._written:
            self._files.open(self._kind).truncate(count * self._entry_bytes)
            self._written = count
        del self._pending[(count - self._written) * self._entry_bytes :]
        self._count = count
        self._first = self._first if count else b""
        self._last = b""

    def reset(self) -> None:
        """Drop all entries, whatever is in the file."""
        if self.file_size():
            self._files.open(self._kind).truncate(0)
        self._count = self._written = 0
        self._pending = bytearray()
        self._first = self._last = b""

    # Reading

    def _read(self, first: int, count: int) -> bytes:
        """Return the bytes of these entries. Raises IndexError unless there are that many."""
        if first < 0 or first + count > self.entries:
            raise IndexError(f"{self.path}: entries {first} to {first + count} of {self.entries}")
        size, written = self._entry_bytes, self._written
        if first >= written:
            return bytes(self._pending[(first - written) * size : (first - written + count) * size])
        in_file = min(count, written - first)
        data = self._files.read(self._kind, first * size, in_file * size)
        if len(data) < in_file * size:
            raise CorruptIndexError(self.path, f"ends within entry {first + len(data) // size}, {written} were there")
        return data if in_file == count else data + self._pending[: (count - in_file) * size]

    def _first_entry(self) -> bytes:
        self._first = self._first or self._read(0, 1)
        return self._first

    def _last_entry(self) -> bytes:
        self._last = self._last or self._read(self.entries - 1, 1)
        return self._last

    def _last_slot_up_to(self, column: Column, target: int) -> tuple[int, bytes]:
        """Find the last entry whose column is at most `target`; return its number and bytes, -1 when there is none."""
        size, entries = self._entry_bytes, self.entries
        if not entries:
            return -1, b""
        if (high_value := column.of(self._last_entry())) <= target:
            return entries - 1, self._last
        low, low_value = 0, column.of(self._first_entry())
        if low_value > target:
            return -1, b""
        # Entry `low` is at most the target, entry `high` beyond it.
        high, low_entry, halve, in_block = entries - 1, self._first, False, BLOCK_BYTES // size
        while high - low > 1:
            share = 0.5 if halve or high_value <= low_value else (target - low_value) / (high_value - low_value)
            halve = not halve
            start = min(max(low + 1, low + int((high - low) * share) - in_block // 2), high - 1)
            count = min(in_block, high - start)
            block = self._read(start, count)
            found = last_up_to(block, count, size, column.position, column.is_wide, target)
            if found >= 0:
                low, low_entry = start + found, block[found * size : (found + 1) * size]
                if found + 1 < count:
                    break
                low_value = column.of(low_entry)
            else:
                high, high_value = start, column.of(block)
        return low, low_entry
