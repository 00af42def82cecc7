"""EndTxn: commit or abort. Answered when the decision is committed; the markers follow.

From version 5 each end raises the epoch, so that an epoch names one transaction, and the answer says what to use next.
What the client asks of a transaction that is not open:

                       abort                      commit
                       retry (epoch - 1)  current  retry  current
    EMPTY              fenced             end      fenced invalid
    COMPLETE_ABORT     as before          end      invalid invalid
    COMPLETE_COMMIT    invalid            end      as before invalid

(end: an abort of nothing is recorded, with the next epoch: the client may not know whether its data got anywhere.)

Before version 5 a retry has the epoch of the transaction itself: COMPLETE_COMMIT answers another commit as before,
COMPLETE_ABORT another abort, all else is invalid.
"""

from typing import Final

from tidelog.coordinator.requests import CoordinatorRequest
from tidelog.coordinator.transaction.add_partitions import client_code
from tidelog.coordinator.transaction.endings import Ending, end_v1, end_v2
from tidelog.coordinator.transaction.metadata import EPOCH_MAX, NO_EPOCH, NO_ID, TransactionMetadata
from tidelog.coordinator.transaction.shard import TransactionShard
from tidelog.coordinator.transaction.states import PREPARED, TransactionState
from tidelog.model.decisions import Result
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse

EPOCH_BUMP_VERSION: Final = 5

_COMPLETE = {True: TransactionState.COMPLETE_COMMIT, False: TransactionState.COMPLETE_ABORT}


def handle(shard: TransactionShard, _now_ms: int, request: CoordinatorRequest) -> Result:
    message: EndTxnRequest = request.message
    if not message.transactional_id:
        return _refused(request, ErrorCode.INVALID_REQUEST)
    before = shard.transactions.get(message.transactional_id)
    if before is None:
        return _refused(request, ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    end = _end_v2 if request.api_version >= EPOCH_BUMP_VERSION else _end_v1
    ending = end(shard, before, request)
    if ending is ErrorCode.NONE:
        return Result([], _again(before, request))
    if isinstance(ending, ErrorCode):
        return _refused(request, ending)
    return Result(ending.records, _ended(ending, request), effects=ending.effects)


def _end_v1(shard: TransactionShard, before: TransactionMetadata, request: CoordinatorRequest) -> Ending | ErrorCode:
    message: EndTxnRequest = request.message
    if before.client[0] != message.producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if before.client[1] != message.producer_epoch:
        return ErrorCode.PRODUCER_FENCED
    if before.state in PREPARED:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if before.state is TransactionState.ONGOING and not before.is_kept:
        return end_v1(shard, before, commit=message.committed, wall_ms=request.wall_ms)
    return ErrorCode.NONE if before.state is _COMPLETE[message.committed] else ErrorCode.INVALID_TXN_STATE


def _end_v2(shard: TransactionShard, before: TransactionMetadata, request: CoordinatorRequest) -> Ending | ErrorCode:
    message: EndTxnRequest = request.message
    if before.state in PREPARED:
        # Checked first: the producer may have been told an id and epoch that are its own only once this is complete.
        return ErrorCode.CONCURRENT_TRANSACTIONS
    is_retry = _is_retry(before, message)
    if before.client[0] != message.producer_id and not is_retry:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if is_retry:
        if before.state in (TransactionState.EMPTY, TransactionState.ONGOING):
            return ErrorCode.PRODUCER_FENCED
        return ErrorCode.NONE if before.state is _COMPLETE[message.committed] else ErrorCode.INVALID_TXN_STATE
    if before.client[1] != message.producer_epoch:
        return ErrorCode.PRODUCER_FENCED
    if message.committed and before.state is not TransactionState.ONGOING:
        return ErrorCode.INVALID_TXN_STATE
    return end_v2(shard, before, commit=message.committed, wall_ms=request.wall_ms)


def _is_retry(before: TransactionMetadata, message: EndTxnRequest) -> bool:
    """Tell whether the request ends the transaction before the one that the client could make now. Its end may have
    brought a new producer id."""
    if before.client[0] == message.producer_id:
        return before.client[1] == message.producer_epoch + 1
    is_first_epoch = before.producer_epoch == 0 and message.producer_epoch == EPOCH_MAX - 1
    return is_first_epoch and before.previous_producer_id == message.producer_id


def _again(before: TransactionMetadata, request: CoordinatorRequest) -> EndTxnResponse:
    return _response(request, before.producer_id, before.producer_epoch)


def _ended(ending: Ending, request: CoordinatorRequest) -> EndTxnResponse:
    return _response(request, ending.producer_id, ending.producer_epoch)


def _response(request: CoordinatorRequest, producer_id: int, producer_epoch: int) -> EndTxnResponse:
    if request.api_version < EPOCH_BUMP_VERSION:
        producer_id, producer_epoch = NO_ID, NO_EPOCH
    return EndTxnResponse(
        throttle_time_ms=0, error_code=ErrorCode.NONE, producer_id=producer_id, producer_epoch=producer_epoch
    )


def _refused(request: CoordinatorRequest, code: ErrorCode) -> Result:
    return Result([], EndTxnResponse(throttle_time_ms=0, error_code=client_code(request, code)))
