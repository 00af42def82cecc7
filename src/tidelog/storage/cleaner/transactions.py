"""Transactions, as the cleaner walks over them: which data were aborted, and which markers nobody needs any more.

A marker is needed while data of its transaction are in the log: an ABORT to tell readers from where on the producer's
batches count again, a COMMIT because the last stable offset is rebuilt from it. Data that this very cleaning removes
still count, since the marker goes only when a crash can not bring them back: in a later cleaning, which meets none.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter

from tidelog.records.batch import RecordBatch
from tidelog.records.control import ControlRecordType, read_control_type
from tidelog.records.header import BatchHeader
from tidelog.storage.segment.transaction_index import AbortedTxn


@dataclass(slots=True)
class _Ongoing:
    transaction: AbortedTxn
    has_data: bool = False


class CleanedTransactions:
    """The transactions of a log during one pass over it. It must be asked about every batch from some offset on, in
    order; transactions that had ended before that offset do no harm."""

    def __init__(self, aborted: Iterable[AbortedTxn]) -> None:
        self._pending = sorted(aborted, key=attrgetter("first_offset"), reverse=True)
        self._aborted: dict[int, _Ongoing] = {}  # by producer id
        self._committed: set[int] = set()  # producers with data, in this transaction, that were not aborted
        self._kept: list[AbortedTxn] = []

    def is_aborted(self, header: BatchHeader) -> bool:
        """Tell whether the records of a data batch were aborted."""
        self._begin_up_to(header.last_offset)
        if not header.is_transactional:
            return False
        ongoing = self._aborted.get(header.producer_id)
        if ongoing is None or ongoing.transaction.last_offset < header.base_offset:
            self._committed.add(header.producer_id)
            return False
        ongoing.has_data = True
        return True

    def is_unneeded(self, batch: RecordBatch) -> bool:
        """Tell whether a control batch ends a transaction without data. The quorum's own control records never do."""
        self._begin_up_to(batch.header.last_offset)
        record = next(batch.records(), None)
        if record is None:
            return True  # an earlier cleaning removed the marker, and kept the empty batch for its offset
        match read_control_type(record):
            case ControlRecordType.ABORT:
                return self._end_aborted(batch.header.producer_id)
            case ControlRecordType.COMMIT:
                had_data = batch.header.producer_id in self._committed
                self._committed.discard(batch.header.producer_id)
                return not had_data
        return False

    def take_kept(self) -> list[AbortedTxn]:
        """Return the aborted transactions whose marker was found needed since the last call: entries for the new
        segment's index."""
        kept, self._kept = self._kept, []
        return kept

    def _end_aborted(self, producer_id: int) -> bool:
        ongoing = self._aborted.pop(producer_id, None)
        if ongoing is None or not ongoing.has_data:
            return True
        self._kept.append(ongoing.transaction)
        return False

    def _begin_up_to(self, offset: int) -> None:
        while self._pending and self._pending[-1].first_offset <= offset:
            transaction = self._pending.pop()
            known = self._aborted.get(transaction.producer_id)
            if known is None or known.transaction.last_offset < transaction.first_offset:
                self._aborted[transaction.producer_id] = _Ongoing(transaction)
