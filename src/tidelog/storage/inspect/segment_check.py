"""One segment, checked from its first batch to its last: the log itself, and its indexes along with it.

A batch whose checksum is wrong is reported, and nothing else that it says is believed; one flipped bit is one finding.
The batches behind it are checked on, the indexes are not: they were judged as far as the log is good.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from tidelog.ports.files import FileSystem
from tidelog.ports.paths import join
from tidelog.records.errors import RecordError
from tidelog.records.header import MAX_INT32
from tidelog.storage.errors import CorruptIndexError, CorruptSegmentError
from tidelog.storage.inspect.batches import FoundBatch, read_batches
from tidelog.storage.inspect.findings import Finding, warning
from tidelog.storage.inspect.index_check import OffsetIndexCheck, TimeIndexCheck
from tidelog.storage.inspect.indexes import read_transaction_index
from tidelog.storage.inspect.log_state import LogState
from tidelog.storage.names import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    segment_name,
)


@dataclass(slots=True)
class SegmentPlan:
    """The facts about a segment before it is read."""

    directory: str
    base_offset: int
    kinds: set[str]  # which of its files are there
    end_offset: int | None  # where the next segment begins; None for the active one
    check_records: bool

    def path(self, kind: str) -> str:
        return join(self.directory, segment_name(self.base_offset, kind))


class SegmentCheck:
    def __init__(self, fs: FileSystem, plan: SegmentPlan, state: LogState) -> None:
        self.path = plan.path(LOG_SUFFIX)
        self.findings: list[Finding] = []
        self.batches = 0
        self._fs = fs
        self._plan = plan
        self._state = state
        self._indexes = self._open_indexes()
        self._is_whole = True  # no damage so far

    def _open_indexes(self) -> list[OffsetIndexCheck | TimeIndexCheck]:
        """Return a check for each index. A missing index is only a warning: it is built anew at the next start."""
        checks: list[OffsetIndexCheck | TimeIndexCheck] = []
        for kind, check in ((INDEX_SUFFIX, OffsetIndexCheck), (TIME_INDEX_SUFFIX, TimeIndexCheck)):
            path = self._plan.path(kind)
            if kind in self._plan.kinds:
                checks.append(check(self._fs, path, self._plan.base_offset))
            else:
                self.findings.append(warning(path, "is missing"))
        return checks

    def run(self) -> Iterator[int]:
        """Check the segment; yields the position in the file after each batch."""
        try:
            for found in read_batches(self._fs, self.path):
                self._pass_batch(found)
                yield found.position + found.batch.header.size_bytes
            self._finish()
        except CorruptSegmentError as damage:
            self._damaged(damage.position, damage.reason)
        for check in self._indexes:
            self.findings += check.findings

    def _pass_batch(self, found: FoundBatch) -> None:
        self.batches += 1
        try:
            found.batch.check_crc()
        except RecordError as error:
            self._damaged(found.position, error.reason)
            return
        for reason in self._problems(found):
            self._report(found.position, reason)
        if self._is_whole:
            for check in self._indexes:
                check.pass_batch(found)
        try:
            self._state.pass_batch(found.batch)
        except RecordError as error:
            self._report(found.position, error.reason)

    def _damaged(self, position: int, reason: str) -> None:
        self._is_whole = False
        self._state.lose_track()
        self._report(position, reason)

    def _problems(self, found: FoundBatch) -> Iterator[str]:
        header = found.batch.header
        if self._plan.check_records:
            yield from _record_problems(found)
        yield from self._state.problems(header)
        if header.base_offset < self._plan.base_offset:
            yield f"offset {header.base_offset} is below the segment's base offset"
        if self._plan.end_offset is not None and header.last_offset >= self._plan.end_offset:
            yield f"offset {header.last_offset} reaches into the next segment, which begins at {self._plan.end_offset}"
        if header.last_offset - self._plan.base_offset > MAX_INT32:
            yield f"offset {header.last_offset} is too far from the segment's base offset for an index"

    def _finish(self) -> None:
        for check in self._indexes if self._is_whole else ():
            if isinstance(check, TimeIndexCheck):
                check.finish(sealed=self._plan.end_offset is not None)
            else:
                check.finish()
        self._check_transactions()

    def _check_transactions(self) -> None:
        path = self._plan.path(TRANSACTION_INDEX_SUFFIX)
        try:
            known = TRANSACTION_INDEX_SUFFIX in self._plan.kinds
            entries = [entry for _, entry in read_transaction_index(self._fs, path)] if known else []
        except CorruptIndexError as damage:
            self.findings.append(Finding(path, damage.reason))
        else:
            self.findings += self._state.check_transactions(path, entries)

    def _report(self, position: int, reason: str) -> None:
        self.findings.append(Finding(self.path, reason, position))


def _record_problems(found: FoundBatch) -> Iterator[str]:
    header = found.batch.header
    try:
        latest = max((record.timestamp for record in found.batch.records()), default=header.max_timestamp)
    except RecordError as error:
        yield error.reason
        return
    if latest != header.max_timestamp:
        yield f"its latest record is of {latest}, its header says {header.max_timestamp}"
