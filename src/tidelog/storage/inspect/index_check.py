"""An index held against the log that it belongs to, in one pass over both: entries and batches come in the same order,
so a check keeps one entry in hand, whatever the size of the segment.

    check = OffsetIndexCheck(fs, path, base_offset)
    for found in read_batches(...):
        check.pass_batch(found)
    check.finish()
    check.findings

Without any batch the entries are held against each other only.
"""

from collections.abc import Iterator

from tidelog.ports.files import FileSystem
from tidelog.records.header import NO_TIMESTAMP
from tidelog.storage.errors import CorruptIndexError
from tidelog.storage.inspect.batches import FoundBatch
from tidelog.storage.inspect.findings import Finding, warning
from tidelog.storage.inspect.indexes import read_offset_index, read_time_index
from tidelog.storage.segment.offset_index import OffsetPosition
from tidelog.storage.segment.time_index import TimestampOffset


class OffsetIndexCheck:
    """The check of an offset index: offsets and positions increase, and each entry names a batch: where it begins, and
    its last offset.

    A lookup reads on from the position, so an entry may claim a later offset than the batch has without harm (brokers
    of old wrote the last offset of several batches); one that claims an earlier offset hides records.
    """

    def __init__(self, fs: FileSystem, path: str, base_offset: int) -> None:
        self.path = path
        self.findings: list[Finding] = []
        self._entries = self._in_order(read_offset_index(fs, path, base_offset))
        self._next = next(self._entries, None)

    def _in_order(self, entries: Iterator[tuple[int, OffsetPosition]]) -> Iterator[tuple[int, OffsetPosition]]:
        """Yield the entries in order. One that does not fit between its neighbours is reported, and left out of the
        other checks."""
        last: OffsetPosition | None = None
        try:
            for at, entry in entries:
                if last is not None and (entry.offset <= last.offset or entry.position <= last.position):
                    self._report(at, f"{_shown(entry)} comes after {_shown(last)}")
                    continue
                last = entry
                yield at, entry
        except CorruptIndexError as damage:
            self.findings.append(Finding(self.path, damage.reason))

    def pass_batch(self, found: FoundBatch) -> None:
        header = found.batch.header
        while self._next is not None and self._next[1].position <= found.position:
            at, entry = self._next
            if entry.position < found.position:
                self._report(at, f"{_shown(entry)}: no batch begins there")
            elif entry.offset < header.base_offset:
                self._report(at, f"{_shown(entry)}: the batch there begins with offset {header.base_offset}")
            elif entry.offset != header.last_offset:
                reason = f"{_shown(entry)}: the batch there ends with offset {header.last_offset}"
                self.findings.append(warning(self.path, reason, at))
            self._next = next(self._entries, None)

    def finish(self) -> None:
        """Report the entries that are left when there are no more batches."""
        while self._next is not None:
            at, entry = self._next
            self._report(at, f"{_shown(entry)} points past the last batch")
            self._next = next(self._entries, None)

    def finish_without_log(self) -> None:
        for _ in self._entries:
            pass

    def _report(self, at: int, reason: str) -> None:
        self.findings.append(Finding(self.path, reason, at))


def _shown(entry: OffsetPosition) -> str:
    return f"the entry of offset {entry.offset} at position {entry.position}"


class TimeIndexCheck:
    """The check of a time index: timestamps increase, offsets do not decrease, and each entry is true: its batch has
    that timestamp, and no earlier batch a later one. A lookup by time skips everything before the entry it finds, so
    that an entry which claims too early a time hides records."""

    def __init__(self, fs: FileSystem, path: str, base_offset: int) -> None:
        self.path = path
        self.findings: list[Finding] = []
        self._max_timestamp = NO_TIMESTAMP
        self._last: TimestampOffset | None = None
        self._entries = self._in_order(read_time_index(fs, path, base_offset))
        self._next = next(self._entries, None)

    def _in_order(self, entries: Iterator[tuple[int, TimestampOffset]]) -> Iterator[tuple[int, TimestampOffset]]:
        try:
            for at, entry in entries:
                last = self._last
                if last is not None and (entry.timestamp <= last.timestamp or entry.offset < last.offset):
                    self._report(at, f"{_shown_time(entry)} comes after {_shown_time(last)}")
                    continue
                self._last = entry
                yield at, entry
        except CorruptIndexError as damage:
            self.findings.append(Finding(self.path, damage.reason))

    def pass_batch(self, found: FoundBatch) -> None:
        header = found.batch.header
        self._max_timestamp = max(self._max_timestamp, header.max_timestamp)
        while self._next is not None and self._next[1].offset <= header.last_offset:
            at, entry = self._next
            if entry.offset < header.base_offset:
                self._report(at, f"{_shown_time(entry)}: no batch has that offset")
            elif entry.timestamp > header.max_timestamp:
                self._report(at, f"{_shown_time(entry)}: the batch there is not later than {header.max_timestamp}")
            elif entry.timestamp < self._max_timestamp:
                self._report(at, f"{_shown_time(entry)}: timestamp {self._max_timestamp} comes before it")
            self._next = next(self._entries, None)

    def finish(self, *, sealed: bool = False) -> None:
        """Report the entries that are left when there are no more batches. A sealed segment's last entry must have the
        latest timestamp of all: retention by time looks at no other."""
        while self._next is not None:
            at, entry = self._next
            self._report(at, f"{_shown_time(entry)} is past the last batch")
            self._next = next(self._entries, None)
        indexed = self._last.timestamp if self._last else NO_TIMESTAMP
        if sealed and self._max_timestamp > max(indexed, 0):
            reason = f"ends with timestamp {indexed}, and the segment has a record of {self._max_timestamp}"
            self.findings.append(Finding(self.path, reason))

    def finish_without_log(self) -> None:
        for _ in self._entries:
            pass

    def _report(self, at: int, reason: str) -> None:
        self.findings.append(Finding(self.path, reason, at))


def _shown_time(entry: TimestampOffset) -> str:
    return f"the entry of timestamp {entry.timestamp} at offset {entry.offset}"
