"""The producers of one partition for tests: a state, an end offset, and appends in one line."""

from tidelog.model.errors import ErrorCode
from tidelog.records.control import EndTransactionMarker
from tidelog.storage.append.outcome import AppendedBatch, AppendOrigin, Refused
from tidelog.storage.producers.append import DuplicateBatch, Outcome
from tidelog.storage.producers.state import CompletedTransaction, ProducerState, ProducerStateConfig
from tidelog.storage.producers.verification import VerificationGuard

CLIENT, COORDINATOR, REPLICATION = AppendOrigin.CLIENT, AppendOrigin.COORDINATOR, AppendOrigin.REPLICATION
MAX_SEQUENCE = 2**31 - 1
MAX_EPOCH = 2**15 - 1


def data(
    offset: int,
    producer_id: int = 1,
    epoch: int = 0,
    sequence: int = 0,
    count: int = 1,
    *,
    timestamp: int = 0,
    txn: bool = False,
) -> AppendedBatch:
    batch = AppendedBatch(offset, offset + count - 1, timestamp, 100, count)
    batch.producer_id, batch.producer_epoch, batch.base_sequence = producer_id, epoch, sequence
    batch.is_transactional = txn
    return batch


def marker(
    offset: int,
    producer_id: int = 1,
    epoch: int = 0,
    *,
    commit: bool = True,
    coordinator_epoch: int = 0,
    timestamp: int = 0,
) -> AppendedBatch:
    batch = AppendedBatch(offset, offset, timestamp, 78, 1, producer_id=producer_id, producer_epoch=epoch)
    batch.is_transactional = batch.is_control = True
    batch.marker = EndTransactionMarker(commit, coordinator_epoch)
    return batch


class Partition:
    """The producer state of a partition. Verification is off unless a test is about it."""

    def __init__(self, *, verification: bool = False, expiration_ms: int = 1_000) -> None:
        self.config = ProducerStateConfig(expiration_ms, verification)
        self.state = ProducerState(self.config)
        self.completed: list[CompletedTransaction] = []

    @property
    def end(self) -> int:
        return self.state.map_end_offset

    def append(
        self,
        batch: AppendedBatch,
        origin: AppendOrigin = CLIENT,
        guard: VerificationGuard | None = None,
        version: int | None = None,
    ) -> Outcome:
        append = self.state.begin()
        outcome = append.stage([batch], origin, guard=guard, transaction_version=version)
        if outcome is None:
            self.completed += self.state.commit(append, batch.last_offset + 1)
        self.state.validate_state()
        return outcome

    def send(
        self,
        producer_id: int = 1,
        epoch: int = 0,
        sequence: int = 0,
        count: int = 1,
        *,
        txn: bool = False,
        timestamp: int = 0,
        origin: AppendOrigin = CLIENT,
        guard: VerificationGuard | None = None,
    ) -> ErrorCode | tuple[int, int]:
        """Append a batch: return the code when it is refused, the offsets of the original for a duplicate, NONE when
        appended."""
        batch = data(self.end, producer_id, epoch, sequence, count, timestamp=timestamp, txn=txn)
        return answer(self.append(batch, origin, guard))

    def end_txn(
        self,
        producer_id: int = 1,
        epoch: int = 0,
        *,
        commit: bool = True,
        coordinator_epoch: int = 0,
        version: int | None = 1,
        timestamp: int = 0,
        origin: AppendOrigin = COORDINATOR,
    ) -> ErrorCode | tuple[int, int]:
        batch = marker(
            self.end, producer_id, epoch, commit=commit, coordinator_epoch=coordinator_epoch, timestamp=timestamp
        )
        return answer(self.append(batch, origin, None, version))


def answer(outcome: Outcome) -> ErrorCode | tuple[int, int]:
    if isinstance(outcome, Refused):
        return outcome.code
    if isinstance(outcome, DuplicateBatch):
        return outcome.first_offset, outcome.last_offset
    return ErrorCode.NONE
