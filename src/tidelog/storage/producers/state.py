"""The producers of one partition: who may append what next, which transactions are open, how far readers may go.

    append = state.begin()                   one group commit
    append.stage(batches, origin, ...)       each request of it: None, a DuplicateBatch, or Refused
    state.commit(append, log_end_offset)     written: the state moves on; gives the transactions that ended
                                             (not written: forget `append`, and nothing has happened)

A transaction is *ongoing* until its marker is written, and *unreplicated* from then until the high watermark has passed
the marker. The first offset of either is the first unstable offset: read_committed consumers stop there.

The state is of the offsets below `map_end_offset`. On disk it is a snapshot and the log behind it (`snapshots`).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

from tidelog.model.errors import ErrorCode
from tidelog.storage.append.outcome import Refused
from tidelog.storage.producers.append import ProducerAppend, TransactionEnded, TransactionStarted
from tidelog.storage.producers.entry import BATCHES_RETAINED, ProducerEntry
from tidelog.storage.producers.verification import Verification, VerificationGuard

# How long beyond the longest allowed timeout a transaction is given before it counts as hanging.
LATE_TRANSACTION_BUFFER_MS: Final = 5 * 60 * 1000


@dataclass(slots=True)
class ProducerStateConfig:
    """The broker's settings for producers, one object for all partitions: a dynamic change is seen at once."""

    expiration_ms: int = 86_400_000  # producer.id.expiration.ms
    verification_enabled: bool = True  # transaction.partition.verification.enable
    max_transaction_timeout_ms: int = 900_000  # transaction.max.timeout.ms


class CompletedTransaction(NamedTuple):
    """A transaction that has ended. `last_offset` is the marker's, `last_stable_offset` the log's after the marker: the
    transaction index keeps both."""

    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool
    last_stable_offset: int


class LastRecord(NamedTuple):
    """The part of a live producer that compaction must keep: its last data, if it has any, and its epoch."""

    last_data_offset: int | None
    producer_epoch: int


class ProducerState:
    __slots__ = (
        "_ongoing",
        "_unreplicated",
        "config",
        "map_end_offset",
        "producers",
        "snapshot_offset",
        "verifications",
    )

    def __init__(self, config: ProducerStateConfig, start_offset: int = 0) -> None:
        self.config = config
        self.map_end_offset = start_offset
        self.snapshot_offset = start_offset  # of the last snapshot: no other is written at the same offset
        self.producers: dict[int, ProducerEntry] = {}
        self.verifications: dict[int, Verification] = {}
        self._ongoing: dict[int, int] = {}  # first offset -> producer id, ascending as transactions start in log order
        self._unreplicated: dict[int, int] = {}  # first offset -> offset of the marker, ascending by the latter

    # Appending

    def begin(self) -> ProducerAppend:
        return ProducerAppend(self.producers, self.verifications, self.map_end_offset, self.config.verification_enabled)

    def commit(self, append: ProducerAppend, end_offset: int) -> list[CompletedTransaction]:
        """Take over what was staged, which is written up to `end_offset`; return the transactions that ended. They end
        in the order of the log, so that the last stable offset of each is the one that a reader of that moment had."""
        assert append.is_based_on(self.map_end_offset), "the state moved on while the append was staged"
        self.producers.update(append.entries)
        for producer_id in append.verified:
            self.verifications.pop(producer_id, None)
        completed: list[CompletedTransaction] = []
        for event in append.events:
            match event:
                case TransactionStarted(producer_id, first_offset):
                    self._ongoing[first_offset] = producer_id
                case TransactionEnded():
                    completed.append(self._complete(event))
        self.map_end_offset = end_offset
        return completed

    def _complete(self, ended: TransactionEnded) -> CompletedTransaction:
        del self._ongoing[ended.first_offset]
        self._unreplicated[ended.first_offset] = ended.last_offset
        stable = next(iter(self._ongoing), ended.last_offset + 1)
        return CompletedTransaction(ended.producer_id, ended.first_offset, ended.last_offset, ended.is_aborted, stable)

    def start_verification(
        self, now_ms: int, producer_id: int, producer_epoch: int, sequence: int, *, supports_epoch_bump: bool
    ) -> VerificationGuard | Refused | None:
        """Begin, before a transactional batch is appended, to verify its transaction. With a guard: ask the
        coordinator, then append with the guard. None: the transaction is ongoing here, and nobody needs to be asked."""
        entry = self.producers.get(producer_id)
        if entry is not None and producer_epoch < entry.producer_epoch:
            reason = f"producer {producer_id} has epoch {entry.producer_epoch}, the request {producer_epoch}"
            return Refused(ErrorCode.INVALID_PRODUCER_EPOCH, reason)
        if self.has_ongoing_transaction(producer_id, producer_epoch):
            return None
        known = self.verifications.get(producer_id)
        if known is None:
            known = Verification(now_ms, producer_epoch, sequence, supports_epoch_bump)
            self.verifications[producer_id] = known
        known.note(sequence, producer_epoch)
        return known.guard

    def has_ongoing_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        entry = self.producers.get(producer_id)
        return (
            entry is not None and entry.current_txn_first_offset is not None and entry.producer_epoch == producer_epoch
        )

    # Transactions

    @property
    def first_undecided_offset(self) -> int | None:
        """The first offset of the oldest transaction without a marker: compaction stays below it."""
        return next(iter(self._ongoing), None)

    @property
    def first_unstable_offset(self) -> int | None:
        """The first offset of the oldest transaction that is undecided, or whose marker may still be lost. May lie
        below the log start offset, after DeleteRecords."""
        undecided = self.first_undecided_offset
        unreplicated = min(self._unreplicated, default=None)
        if undecided is None or unreplicated is None:
            return unreplicated if undecided is None else undecided
        return min(undecided, unreplicated)

    def advance_high_watermark(self, high_watermark: int) -> None:
        """Forget the ended transactions whose markers lie below the high watermark: they are decided for good."""
        while self._unreplicated:
            first_offset, last_offset = next(iter(self._unreplicated.items()))
            if last_offset >= high_watermark:
                return
            del self._unreplicated[first_offset]

    def advance_log_start(self, log_start_offset: int, latest_snapshot_offset: int | None) -> None:
        self.advance_high_watermark(log_start_offset)
        self.map_end_offset = max(self.map_end_offset, log_start_offset)
        self.snapshot_offset = log_start_offset if latest_snapshot_offset is None else latest_snapshot_offset

    def has_late_transaction(self, now_ms: int) -> bool:
        """Tell whether the oldest transaction hangs: its producer has been silent for longer than any timeout
        allows."""
        producer_id = next(iter(self._ongoing.values()), None)
        if producer_id is None:
            return False
        silent_since = self.producers[producer_id].last_timestamp
        limit = self.config.max_transaction_timeout_ms + LATE_TRANSACTION_BUFFER_MS
        return silent_since > 0 and now_ms - silent_since > limit

    # Contents

    @property
    def is_empty(self) -> bool:
        return not self.producers and not self._unreplicated

    def last_records(self) -> dict[int, LastRecord]:
        return {
            producer_id: LastRecord(entry.last_data_offset if entry.batches else None, entry.producer_epoch)
            for producer_id, entry in self.producers.items()
        }

    def expire(self, now_ms: int) -> list[int]:
        """Forget producers that have been idle for too long, never one with an open transaction; return their ids. A
        producer that comes back is unknown, and an unknown producer may go on at any sequence."""
        expired = [entry.producer_id for entry in self.producers.values() if self.is_expired(entry, now_ms)]
        for producer_id in expired:
            del self.producers[producer_id]
        deadline = now_ms - self.config.expiration_ms
        for producer_id in [each for each, known in self.verifications.items() if known.started_ms <= deadline]:
            del self.verifications[producer_id]
        return expired

    def is_expired(self, entry: ProducerEntry, now_ms: int) -> bool:
        return entry.current_txn_first_offset is None and now_ms - entry.last_timestamp >= self.config.expiration_ms

    def reset(self, offset: int, entries: Iterable[ProducerEntry] = ()) -> None:
        """Begin anew with these producers at this offset: an emptied log, or a snapshot.

        Ended transactions are forgotten with the rest, as Kafka does it: how they ended is the coordinator's decision,
        which stands, and is in the transaction index, even if a marker should have to be written once more."""
        self.producers = {entry.producer_id: entry for entry in entries}
        self._unreplicated = {}
        started = {
            entry.current_txn_first_offset: entry.producer_id
            for entry in self.producers.values()
            if entry.current_txn_first_offset is not None
        }
        self._ongoing = dict(sorted(started.items()))
        self.map_end_offset = self.snapshot_offset = offset

    def validate_state(self) -> None:
        """Assert that the state does not contradict itself. Every test ends with this."""
        assert all(first < second for first, second in pairwise(self._ongoing)), "ongoing transactions out of order"
        assert all(a < b for a, b in pairwise(self._unreplicated.values())), "markers out of order"
        assert not self._ongoing.keys() & self._unreplicated.keys(), "a transaction both ongoing and ended"
        open_by_entries = {
            entry.current_txn_first_offset: producer_id
            for producer_id, entry in self.producers.items()
            if entry.current_txn_first_offset is not None
        }
        assert open_by_entries == self._ongoing, "producers and ongoing transactions disagree"
        for producer_id, entry in self.producers.items():
            assert entry.producer_id == producer_id
            assert len(entry.batches) <= BATCHES_RETAINED
            assert all(a.last_offset < b.first_offset for a, b in pairwise(entry.batches)), "batches out of order"
            assert entry.last_data_offset < self.map_end_offset, "a batch beyond the end of the state"
