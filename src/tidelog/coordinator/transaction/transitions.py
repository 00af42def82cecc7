"""What becomes of a transactional id: each function makes the metadata that follows. Deciding whether it may is the
handlers' part; that the result follows from what was is checked once more before it is written (`checked`).

Epochs, where each transaction has its own (version 2):

    ONGOING (7, e) --end--> PREPARE_* (7, e + 1) --markers at e + 1--> COMPLETE_* (7, e + 1)
    ONGOING (7, 32766) ----> PREPARE_* (7, 32767), next 8 -----------> COMPLETE_* (8, 0)

Under the old protocol only an init or a fence raises the epoch, and the markers carry the epoch of the data.
"""

from dataclasses import replace

from tidelog.coordinator.transaction.metadata import (
    EPOCH_MAX,
    EPOCH_PER_TRANSACTION,
    NO_EPOCH,
    NO_ID,
    NO_PRODUCER,
    Pair,
    Partitions,
    TransactionMetadata,
    is_exhausted,
)
from tidelog.coordinator.transaction.states import AT_REST, PREPARED, PREVIOUS_STATES, TransactionState


def initialised(
    before: TransactionMetadata, client: Pair, last: Pair, timeout_ms: int, wall_ms: int
) -> TransactionMetadata:
    """Return the metadata at rest, for the producer that was told this id and epoch: a new id where the epochs of the
    old one ran out."""
    return replace(
        before,
        state=TransactionState.EMPTY,
        producer_id=client[0],
        producer_epoch=client[1],
        last_producer=last,
        previous_producer_id=before.producer_id,
        timeout_ms=timeout_ms,
        partitions={},
        start_ms=-1,
        last_update_ms=wall_ms,
    )


def kept_for(
    before: TransactionMetadata, client: Pair, last: Pair, timeout_ms: int, wall_ms: int
) -> TransactionMetadata:
    """Return the open transaction as its producer left it, with the one that was initialised now as the one who may end
    it (KIP-939). A timeout is never shortened: what was prepared without one waits for its outcome, whoever asks."""
    return replace(
        before,
        next_producer_id=client[0],
        next_producer_epoch=client[1],
        last_producer=last,
        previous_producer_id=before.producer_id,
        timeout_ms=max(before.timeout_ms, timeout_ms),
        last_update_ms=wall_ms,
    )


def with_partitions(
    before: TransactionMetadata, partitions: Partitions, client_transaction_version: int, wall_ms: int
) -> TransactionMetadata:
    return replace(
        before,
        state=TransactionState.ONGOING,
        partitions=before.partitions | partitions,
        start_ms=before.start_ms if before.state is TransactionState.ONGOING else wall_ms,
        previous_producer_id=before.producer_id,
        client_transaction_version=client_transaction_version,
        last_update_ms=wall_ms,
    )


def prepared_v1(before: TransactionMetadata, *, commit: bool, wall_ms: int, fence: bool = False) -> TransactionMetadata:
    """Return the transaction ended under the old protocol. Only a fence raises the epoch, to one that no client is ever
    told."""
    return replace(
        before,
        state=TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT,
        producer_epoch=min(before.producer_epoch + fence, EPOCH_MAX),
        last_producer=NO_PRODUCER if fence else before.last_producer,
        previous_producer_id=before.producer_id,
        next_producer_id=NO_ID,
        client_transaction_version=0,
        last_update_ms=wall_ms,
    )


def prepared_v2(before: TransactionMetadata, fresh_id: int, *, commit: bool, wall_ms: int) -> TransactionMetadata:
    """Return the transaction ended, with a higher epoch for what comes next; by `fresh_id` where the client's epochs
    are exhausted. A kept transaction continues from its last client's epoch, not from its maker's: what that client
    sent before, and comes late, must find a higher epoch than its own. Where the client has another id, the maker's is
    finished with."""
    client_id, client_epoch = before.client
    after = replace(
        before,
        state=TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT,
        producer_epoch=min((client_epoch if client_id == before.producer_id else before.producer_epoch) + 1, EPOCH_MAX),
        last_producer=before.client,
        previous_producer_id=before.producer_id,
        next_producer_id=fresh_id,
        next_producer_epoch=NO_EPOCH,
        start_ms=wall_ms if before.state in AT_REST else before.start_ms,
        client_transaction_version=EPOCH_PER_TRANSACTION,
        last_update_ms=wall_ms,
    )
    if client_id != before.producer_id and fresh_id == NO_ID:
        after.next_producer_id, after.next_producer_epoch = client_id, client_epoch + 1
    return after


def completed(before: TransactionMetadata, wall_ms: int) -> TransactionMetadata:
    is_commit = before.state is TransactionState.PREPARE_COMMIT
    after = replace(
        before,
        state=TransactionState.COMPLETE_COMMIT if is_commit else TransactionState.COMPLETE_ABORT,
        previous_producer_id=before.producer_id,
        next_producer_id=NO_ID,
        next_producer_epoch=NO_EPOCH,
        partitions={},
        last_update_ms=wall_ms,
    )
    if before.next_producer_id != NO_ID:
        after.producer_id = before.next_producer_id
        after.producer_epoch = max(before.next_producer_epoch, 0)
    return after


def checked(before: TransactionMetadata | None, after: TransactionMetadata) -> TransactionMetadata:
    """Assert, in production too, that the metadata follow from those before: a record that contradicts the one before
    it is never written."""
    assert after.producer_id >= 0, after
    assert 0 <= after.producer_epoch <= EPOCH_MAX, after
    if before is None:
        assert after.state is TransactionState.EMPTY, after
        return after
    assert before.state in PREVIOUS_STATES[after.state], (before, after)
    match after.state:
        case TransactionState.EMPTY:
            assert _is_same_or_next(before, after), (before, after)
            assert not after.partitions, after
        case TransactionState.ONGOING:
            assert (after.producer_id, after.producer_epoch) == (before.producer_id, before.producer_epoch)
            assert before.partitions.keys() <= after.partitions.keys(), (before, after)
        case _ if after.state in PREPARED:
            assert after.producer_id == before.producer_id, (before, after)
            assert after.producer_epoch >= before.producer_epoch, (before, after)
            assert after.partitions == before.partitions, (before, after)
        case _:
            is_replaced = (after.producer_id, before.next_producer_id != NO_ID) == (before.next_producer_id, True)
            is_same = (after.producer_id, after.producer_epoch) == (before.producer_id, before.producer_epoch)
            assert is_same or is_replaced, (before, after)
            assert after.start_ms != -1, after
    return after


def _is_same_or_next(before: TransactionMetadata, after: TransactionMetadata) -> bool:
    if after.producer_id != before.producer_id:
        return after.producer_epoch == 0 and is_exhausted(before.producer_epoch)
    return after.producer_epoch - before.producer_epoch in (0, 1)
