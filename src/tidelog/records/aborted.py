"""What a read_committed consumer must not see.

A fetch up to the last stable offset comes with the aborted transactions that touch it: producer id and first offset.
From that offset on, until the producer's next ABORT marker, its transactional batches are hidden. A producer's later
transaction, which committed, starts after that marker and is seen.
"""

from collections.abc import Iterable
from operator import attrgetter
from typing import NamedTuple

from tidelog.records.batch import RecordBatch
from tidelog.records.control import ControlRecordType, read_control_type
from tidelog.records.header import BatchHeader


class AbortedTransaction(NamedTuple):
    producer_id: int
    first_offset: int


class AbortedFilter:
    """The aborted transactions of one fetch. It must be asked about every batch of the fetch, in order."""

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._pending = sorted(aborted, key=attrgetter("first_offset"), reverse=True)
        self._open: set[int] = set()  # ids of producers inside a transaction that was aborted

    def hides(self, batch: RecordBatch) -> bool:
        """Tell whether the records of the batch were aborted. Markers are never hidden: they carry no data, and they
        tell the filter that a transaction ended."""
        header = batch.header
        if not header.has_producer_id:
            return False
        self._open_up_to(header)
        if header.is_control:
            if header.producer_id in self._open and is_abort_marker(batch):
                self._open.discard(header.producer_id)
            return False
        return header.is_transactional and header.producer_id in self._open

    def _open_up_to(self, header: BatchHeader) -> None:
        while self._pending and self._pending[-1].first_offset <= header.last_offset:
            self._open.add(self._pending.pop().producer_id)


def is_abort_marker(batch: RecordBatch) -> bool:
    record = next(batch.records(), None) if batch.header.is_control else None
    return record is not None and read_control_type(record) is ControlRecordType.ABORT
