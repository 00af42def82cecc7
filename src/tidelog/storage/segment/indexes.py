"""The three indexes of one segment, and the rule by which they grow with its log.

An entry is due when more than `index.interval.bytes` have been appended since the last one. Then the offset index gets
the batch that is next, and the time index the largest timestamp so far, if it is a new one. All of it happens in
memory; `spill` and `write` bring it to the files.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from tidelog.ports.errors import DiskFull
from tidelog.records.header import NO_TIMESTAMP
from tidelog.records.kernels_walk import BatchIndex
from tidelog.storage.append.outcome import AppendedBatch
from tidelog.storage.names import INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX
from tidelog.storage.segment.files import SegmentFiles
from tidelog.storage.segment.index_file import IndexFile
from tidelog.storage.segment.kernels_scan import entries_due
from tidelog.storage.segment.offset_index import OffsetIndex
from tidelog.storage.segment.time_index import TimeIndex, TimestampOffset
from tidelog.storage.segment.transaction_index import AbortedTxn, TransactionIndex


class IndexSettings(NamedTuple):
    """The settings index.interval.bytes and segment.index.bytes."""

    interval_bytes: int
    max_bytes: int


DEFAULT_INDEX_SETTINGS: Final = IndexSettings(interval_bytes=4096, max_bytes=10 * 1024 * 1024)


class SegmentIndexes:
    __slots__ = (
        "_bytes_since_entry",
        "_interval_bytes",
        "_knows_largest",
        "_largest_offset",
        "_largest_timestamp",
        "is_written",
        "offset",
        "time",
        "transaction",
    )

    def __init__(self, files: SegmentFiles, settings: IndexSettings) -> None:
        self.offset = OffsetIndex(files, settings.max_bytes)
        self.time = TimeIndex(files, settings.max_bytes)
        self.transaction = TransactionIndex(files)
        self.is_written = True  # the files have everything, the largest timestamp included
        self._interval_bytes = settings.interval_bytes
        self._bytes_since_entry = 0
        self._knows_largest = False  # not read yet
        self._largest_timestamp = NO_TIMESTAMP
        self._largest_offset = files.base_offset

    @property
    def is_full(self) -> bool:
        return self.offset.is_full or self.time.is_full

    def largest(self) -> TimestampOffset:
        """The largest timestamp, with the last offset of the first batch that has it; (-1, base offset) where there is
        none."""
        self._know_largest()
        return TimestampOffset(self._largest_timestamp, self._largest_offset)

    def _know_largest(self) -> None:
        if not self._knows_largest:
            self.correct_largest(self.time.last_entry())

    def correct_largest(self, largest: TimestampOffset) -> None:
        """Set the largest timestamp after a truncation, which may have taken it away; the caller has found what is left
        in the log."""
        self._knows_largest = True
        self._largest_timestamp, self._largest_offset = largest

    def note_appended(self, position: int, batches: Sequence[AppendedBatch]) -> None:
        """Add the entries that are due for these batches, which the log has from `position` on. A full index gets no
        more entries: lookups walk further, and are right."""
        self.is_written = False
        self._know_largest()
        for batch in batches:
            if batch.max_timestamp > self._largest_timestamp:
                self._largest_timestamp, self._largest_offset = batch.max_timestamp, batch.last_offset
            if self._bytes_since_entry > self._interval_bytes:
                self._add_entries(position, batch.last_offset)
                self._bytes_since_entry = 0
            self._bytes_since_entry += batch.size_bytes
            position += batch.size_bytes

    def note_batches(self, position: int, batches: BatchIndex) -> None:
        """Do what `note_appended` does, for many batches at once, which lie in the file from `position` on."""
        self.is_written = False
        due = entries_due(
            batches,
            position,
            self.offset.base_offset,
            self._interval_bytes,
            self._bytes_since_entry,
            *self.largest(),
            self.time.last_entry().timestamp,
        )
        self.offset.append_entries(due.offset_entries)
        self.time.append_entries(due.time_entries)
        self.correct_largest(TimestampOffset(due.timestamp, due.offset))
        self._bytes_since_entry = due.bytes_since_entry

    def _add_entries(self, position: int, last_offset: int) -> None:
        if not self.offset.is_full:
            self.offset.append(last_offset, position)
        if not self.time.is_full:
            self.time.maybe_append(self._largest_timestamp, self._largest_offset)

    def note_aborted(self, aborted: AbortedTxn) -> None:
        self.is_written = False
        self.transaction.append(aborted)

    def truncate_to(self, offset: int) -> None:
        self.is_written = False
        self._bytes_since_entry = 0
        self.offset.truncate_to(offset)
        self.time.truncate_to(offset)
        self.transaction.truncate_to(offset)

    def reset(self) -> None:
        """Drop everything, to be built anew."""
        self.is_written = False
        self._bytes_since_entry = 0
        self.correct_largest(TimestampOffset(NO_TIMESTAMP, self.offset.base_offset))
        for index in self._all():
            index.reset()

    def spill(self) -> None:
        """Write the entries of an index that has many waiting. Where there is no room they go on waiting."""
        for index in self._all():
            if index.wants_flush:
                with suppress(DiskFull):
                    index.flush_entries()

    def write(self) -> None:
        """Write everything; the largest timestamp becomes the time index's last entry."""
        if not self.is_written:
            self.time.maybe_append(*self.largest(), use_last_slot=True)
            for index in self._all():
                index.flush_entries()
            self.is_written = True

    def kinds(self) -> list[str]:
        """Return the kinds of the files that are there once all is written."""
        kinds = [INDEX_SUFFIX, TIME_INDEX_SUFFIX]
        return [*kinds, TRANSACTION_INDEX_SUFFIX] if self.transaction.file_size() is not None else kinds

    def _all(self) -> tuple[IndexFile, ...]:
        return self.offset, self.time, self.transaction
