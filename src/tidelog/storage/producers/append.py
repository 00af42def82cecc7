"""Appends between validation and the disk: the changes that they will make to the producers' state, once written.

A later request of the same group commit is checked against what the earlier ones will have done. A request is staged as
a whole or not at all.

What each origin is held to:

                    epoch        sequence    verified transaction   coordinator epoch of a marker
    CLIENT          not lower    in order    yes                    -
    COORDINATOR     not lower    -           yes                    not lower
    REPLICATION     any          -           -                      any (the leader has checked; the log is right)

and all of them to this: inside a transaction a producer writes nothing but that transaction.
"""

from collections import ChainMap
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from tidelog.model.errors import ErrorCode
from tidelog.records.header import MAX_INT32, NO_PRODUCER_EPOCH
from tidelog.storage.append.outcome import AppendedBatch, AppendOrigin, Refused
from tidelog.storage.producers.entry import BatchMetadata, ProducerEntry
from tidelog.storage.producers.verification import Verification, VerificationGuard

MAX_PRODUCER_EPOCH: Final = 2**15 - 1
_EPOCH_PER_TRANSACTION: Final = 2  # the transaction version from which a marker carries a higher epoch than its data


class TransactionStarted(NamedTuple):
    producer_id: int
    first_offset: int


class TransactionEnded(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool


@dataclass(slots=True)
class DuplicateBatch:
    """The answer to a request that is in the log already: the one that it got, or would have got, the first time."""

    first_offset: int
    last_offset: int
    timestamp: int
    is_staged: bool  # the first one is part of this group commit and not written yet: both are answered together


Outcome = Refused | DuplicateBatch | None


class ProducerAppend:
    """The changes to the producers of one group commit. `ProducerState.begin` makes it, `ProducerState.commit` takes
    it."""

    __slots__ = (
        "_base_offset",
        "_producers",
        "_verification_enabled",
        "_verifications",
        "_verified_before",
        "_written_offset",
        "entries",
        "events",
        "verified",
    )

    def __init__(
        self,
        producers: MutableMapping[int, ProducerEntry],
        verifications: Mapping[int, Verification],
        base_offset: int,
        verification_enabled: bool,
    ) -> None:
        self.entries: dict[int, ProducerEntry] = {}
        self.events: list[TransactionStarted | TransactionEnded] = []
        self.verified: dict[int, None] = {}  # producers whose verification is done with; in order, unlike a set
        self._producers = producers
        self._verifications = verifications  # as they are: one may be begun while batches are staged here
        self._verified_before: dict[int, None] = {}  # producers in `verified` of the runs in front (`follow`)
        self._base_offset = base_offset
        self._written_offset = base_offset  # what lies below is in the log, what lies above is staged
        self._verification_enabled = verification_enabled

    def follow(self, base_offset: int) -> "ProducerAppend":
        """Return the changes for what the same group commit writes behind a roll, from `base_offset` on. They see what
        is staged here, and are committed after it: the snapshot of a roll is of the producers at that very offset."""
        behind = ProducerAppend(
            ChainMap(self.entries, self._producers), self._verifications, base_offset, self._verification_enabled
        )
        behind._written_offset = self._written_offset
        behind._verified_before = {**self._verified_before, **self.verified}
        return behind

    def is_based_on(self, map_end_offset: int) -> bool:
        return self._base_offset == map_end_offset

    def entry(self, producer_id: int) -> ProducerEntry | None:
        return self.entries.get(producer_id) or self._producers.get(producer_id)

    def stage(
        self,
        batches: Sequence[AppendedBatch],
        origin: AppendOrigin,
        *,
        guard: VerificationGuard | None = None,
        transaction_version: int | None = None,
    ) -> Outcome:
        """Stage the batches of one request and return None; otherwise nothing of the request is staged. Markers from a
        coordinator need the transaction version that their request named; batches without a producer id pass
        through."""
        if len(batches) == 1:
            return self._stage(batches[0], origin, guard, transaction_version)
        before = dict(self.entries), len(self.events), dict(self.verified)
        for batch in batches:
            outcome = self._stage(batch, origin, guard, transaction_version)
            if outcome is not None:
                self.entries, self.verified = before[0], before[2]
                del self.events[before[1] :]
                return outcome
        return None

    def _stage(
        self,
        batch: AppendedBatch,
        origin: AppendOrigin,
        guard: VerificationGuard | None,
        transaction_version: int | None,
    ) -> Outcome:
        producer_id = batch.producer_id
        if producer_id < 0:
            return None
        entry = self.entry(producer_id) or ProducerEntry(producer_id)
        outcome: Outcome = self._find_duplicate(entry, batch) if origin is AppendOrigin.CLIENT else None
        if outcome is None and batch.is_transactional and origin in (AppendOrigin.CLIENT, AppendOrigin.COORDINATOR):
            outcome = self._check_verified(entry, batch, guard)
        if outcome is None:
            if batch.is_control:
                outcome = self._stage_marker(entry, batch, origin, transaction_version)
            else:
                outcome = self._stage_data(entry, batch, origin)
        if outcome is None and batch.is_transactional:
            self._end_verification(batch)
        return outcome

    def _find_duplicate(self, entry: ProducerEntry, batch: AppendedBatch) -> DuplicateBatch | None:
        known: BatchMetadata | None = entry.find_duplicate(batch)
        if known is None:
            return None
        is_staged = known.last_offset >= self._written_offset
        return DuplicateBatch(known.first_offset, known.last_offset, known.timestamp, is_staged)

    # Verification

    def _verification(self, producer_id: int) -> Verification | None:
        if producer_id in self.verified or producer_id in self._verified_before:
            return None
        return self._verifications.get(producer_id)

    def _check_verified(
        self, entry: ProducerEntry, batch: AppendedBatch, guard: VerificationGuard | None
    ) -> Refused | None:
        """Refuse the first batch of a transaction unless the coordinator, asked with this guard, knew of the
        transaction."""
        if entry.current_txn_first_offset is not None and entry.producer_epoch == batch.producer_epoch:
            return None
        if batch.producer_epoch < entry.producer_epoch:
            return _stale_epoch(entry, batch)
        if not self._verification_enabled or batch.is_control:
            return None
        known = self._verification(batch.producer_id)
        if known is not None and guard is known.guard:
            return None
        reason = f"producer {batch.producer_id} has no transaction here, and the coordinator was not asked about one"
        return Refused(ErrorCode.INVALID_TXN_STATE, reason)

    def _end_verification(self, batch: AppendedBatch) -> None:
        """End the verification of the producer, because its transaction has begun, or ended. With an epoch for each
        transaction, a marker that already carries the epoch under verification ended the one before, and the next one's
        verification stays."""
        known = self._verification(batch.producer_id)
        if known is None:
            return
        of_the_one_before = (
            known.supports_epoch_bump and batch.is_control and batch.producer_epoch == known.producer_epoch
        )
        if not of_the_one_before:
            self.verified[batch.producer_id] = None

    # Data

    def _stage_data(self, entry: ProducerEntry, batch: AppendedBatch, origin: AppendOrigin) -> Refused | None:
        if batch.producer_epoch < entry.producer_epoch and origin is not AppendOrigin.REPLICATION:
            return _stale_epoch(entry, batch)
        if origin is AppendOrigin.CLIENT:
            refused = self._check_sequence(entry, batch)
            if refused is not None:
                return refused
        txn_first_offset = entry.current_txn_first_offset
        if txn_first_offset is not None and not batch.is_transactional:
            reason = f"producer {batch.producer_id} has a transaction open since offset {txn_first_offset}"
            return Refused(ErrorCode.INVALID_TXN_STATE, f"{reason}: a batch outside of it is not allowed")
        if txn_first_offset is None and batch.is_transactional:
            txn_first_offset = batch.base_offset
            self.events.append(TransactionStarted(batch.producer_id, txn_first_offset))
        self.entries[batch.producer_id] = entry.with_batch(batch, txn_first_offset)
        return None

    def _check_sequence(self, entry: ProducerEntry, batch: AppendedBatch) -> Refused | None:
        sequence = batch.base_sequence
        known = self._verification(batch.producer_id) if self._verifications else None
        if known is not None:
            if known.supports_epoch_bump and sequence != 0 and not entry.batches:
                return _out_of_order(batch, "0, as there is no state")
            if sequence > known.lowest_sequence:
                return _out_of_order(batch, f"{known.lowest_sequence}, the lowest under verification,")
        if entry.producer_epoch == NO_PRODUCER_EPOCH:
            # The producer is unknown, perhaps expired or deleted with its records: any sequence may be its next one.
            return None
        if batch.producer_epoch != entry.producer_epoch:
            return None if sequence == 0 else _out_of_order(batch, f"0, as epoch {batch.producer_epoch} is new,")
        expected = (entry.last_sequence + 1) & MAX_INT32
        return None if sequence == expected else _out_of_order(batch, str(expected))

    # Markers

    def _stage_marker(
        self, entry: ProducerEntry, batch: AppendedBatch, origin: AppendOrigin, transaction_version: int | None
    ) -> Refused | None:
        marker = batch.marker
        if marker is None:
            return None  # compaction has removed the whole transaction, and left this batch empty
        if origin is not AppendOrigin.REPLICATION:
            if transaction_version is None:
                raise ValueError("a marker needs the transaction version of its request")
            if _is_stale_marker(entry, batch.producer_epoch, transaction_version):
                return _stale_epoch(entry, batch)
            if marker.coordinator_epoch < entry.coordinator_epoch:
                epochs = f"{marker.coordinator_epoch}, but {entry.coordinator_epoch} has written here"
                reason = f"the marker of producer {batch.producer_id} is from coordinator epoch {epochs}"
                return Refused(ErrorCode.TRANSACTION_COORDINATOR_FENCED, reason)
        first_offset = entry.current_txn_first_offset
        if first_offset is not None:  # a marker without data before it moves no stable offset
            ended = TransactionEnded(batch.producer_id, first_offset, batch.base_offset, not marker.committed)
            self.events.append(ended)
        self.entries[batch.producer_id] = entry.with_marker(
            batch.producer_epoch, marker.coordinator_epoch, batch.max_timestamp
        )
        return None


def _is_stale_marker(entry: ProducerEntry, producer_epoch: int, transaction_version: int) -> bool:
    """Tell whether a marker is too late. With an epoch for each transaction the coordinator raises the epoch before it
    writes the marker: one of the same epoch is late, unless nothing is open (then it is the same marker again, whose
    answer got lost). The highest epoch can not be raised, so it must be able to end what it began."""
    if transaction_version < _EPOCH_PER_TRANSACTION or producer_epoch != entry.producer_epoch:
        return producer_epoch < entry.producer_epoch
    return entry.current_txn_first_offset is not None and producer_epoch != MAX_PRODUCER_EPOCH


def _stale_epoch(entry: ProducerEntry, batch: AppendedBatch) -> Refused:
    reason = f"producer {batch.producer_id} has epoch {entry.producer_epoch}, the batch {batch.producer_epoch}"
    return Refused(ErrorCode.INVALID_PRODUCER_EPOCH, reason)


def _out_of_order(batch: AppendedBatch, expected: str) -> Refused:
    reason = f"producer {batch.producer_id} sent sequence {batch.base_sequence} where {expected} was expected"
    return Refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, reason)
