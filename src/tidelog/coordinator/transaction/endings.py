"""How a transaction comes to its end: decided (a PREPARE_* record), its markers written, complete.

Whoever wants an end comes here: a client that commits or aborts, an init that finds a transaction open, a timeout. A
transaction without partitions has nothing to wait for and completes in the same decision.
"""

from dataclasses import dataclass

from tidelog.coordinator.requests import CoordinatorRequest
from tidelog.coordinator.transaction.metadata import EPOCH_PER_TRANSACTION, NO_ID, TransactionMetadata, is_exhausted
from tidelog.coordinator.transaction.requests import MarkersWritten, SendMarkers
from tidelog.coordinator.transaction.shard import TransactionShard
from tidelog.coordinator.transaction.states import PREPARED, TransactionState
from tidelog.coordinator.transaction.transitions import completed, prepared_v1, prepared_v2
from tidelog.model.decisions import Record, Result
from tidelog.model.errors import ErrorCode

# Codes of a partition that took no data of this producer: there is nothing in it to end.
_WITHOUT_DATA = (ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, ErrorCode.UNSUPPORTED_VERSION)


@dataclass(slots=True)
class Ending:
    """The records and effects that end a transaction."""

    records: list[Record]
    effects: list[SendMarkers]
    # The producer's id and epoch from now on.
    producer_id: int
    producer_epoch: int


def end_v1(
    shard: TransactionShard, before: TransactionMetadata, *, commit: bool, wall_ms: int, fence: bool = False
) -> Ending:
    return _ending(shard, before, prepared_v1(before, commit=commit, wall_ms=wall_ms, fence=fence), wall_ms)


def end_v2(shard: TransactionShard, before: TransactionMetadata, *, commit: bool, wall_ms: int) -> Ending | ErrorCode:
    """End a transaction with a new epoch. Refused only where a new producer id is needed and there is none at hand."""
    fresh_id = shard.allocate_producer_id() if is_exhausted(before.client[1]) else NO_ID
    if fresh_id is None:
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    return _ending(shard, before, prepared_v2(before, fresh_id, commit=commit, wall_ms=wall_ms), wall_ms)


def abort_and_fence(shard: TransactionShard, before: TransactionMetadata, wall_ms: int) -> Ending | ErrorCode:
    """End an open transaction over its producer's head, which from now on has an old epoch. One step up is enough:
    under version 2 the end itself takes it, and a second one could leave the range."""
    if before.is_kept or shard.transaction_version() >= EPOCH_PER_TRANSACTION:
        return end_v2(shard, before, commit=False, wall_ms=wall_ms)
    return end_v1(shard, before, commit=False, wall_ms=wall_ms, fence=True)


def _ending(shard: TransactionShard, before: TransactionMetadata, after: TransactionMetadata, wall_ms: int) -> Ending:
    records = [shard.decide(before, after)]
    complete = completed(after, wall_ms)
    effects = []
    if after.partitions:
        effects.append(send_markers(shard, after))
    else:
        records.append(shard.decide(after, complete))
    shard.count("committed" if after.state is TransactionState.PREPARE_COMMIT else "aborted")
    return Ending(records, effects, complete.producer_id, complete.producer_epoch)


def send_markers(shard: TransactionShard, prepared: TransactionMetadata) -> SendMarkers:
    shard.markers_missing[prepared.transactional_id] = dict(prepared.partitions)
    shard.decision_count += 1
    shard.decisions[prepared.transactional_id] = shard.decision_count
    return SendMarkers(
        transactional_id=prepared.transactional_id,
        producer_id=prepared.producer_id,
        producer_epoch=prepared.producer_epoch,
        committed=prepared.state is TransactionState.PREPARE_COMMIT,
        coordinator_epoch=shard.coordinator_epoch,
        transaction_version=prepared.client_transaction_version,
        partitions=tuple(prepared.partitions),
        decision=shard.decision_count,
    )


def markers_written(shard: TransactionShard, _now_ms: int, request: CoordinatorRequest) -> Result:
    message: MarkersWritten = request.message
    prepared = shard.transactions.get(message.transactional_id)
    missing = shard.markers_missing.get(message.transactional_id)
    if prepared is None or missing is None or not _is_current(shard, prepared, message):
        return Result([], None)
    for partition, code in message.outcomes.items():
        if code == ErrorCode.NONE or code in _WITHOUT_DATA:
            missing.pop(partition, None)
        else:
            # The partition knows a newer producer or coordinator: whether the transaction ended in it is not ours to
            # say. It stays prepared, as in Kafka, and the next coordinator tries again.
            shard.count("markers_refused")
    if missing:
        return Result([], None)
    return Result([shard.decide(prepared, completed(prepared, request.wall_ms))], None)


def _is_current(shard: TransactionShard, prepared: TransactionMetadata, message: MarkersWritten) -> bool:
    """Tell whether the report is about the markers of this transaction, and not about those of an earlier transaction
    or an earlier coordinator."""
    asked = (message.producer_id, message.producer_epoch, message.coordinator_epoch)
    is_same = asked == (prepared.producer_id, prepared.producer_epoch, shard.coordinator_epoch)
    is_this = message.decision in (None, shard.decisions.get(message.transactional_id))
    return is_same and is_this and prepared.state in PREPARED
