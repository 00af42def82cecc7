"""InitProducerId with a transactional id: the producer's id and epoch from now on. Its predecessors are fenced.

    no such id                a new producer id at epoch 0
    at rest                   the next epoch; a new producer id at 0 when epochs are exhausted
    ongoing                   aborted and fenced; CONCURRENT_TRANSACTIONS until that is complete
    ongoing, keep prepared    left open; the client gets an epoch of its own with which to end it (KIP-939)
    prepared                  CONCURRENT_TRANSACTIONS

A client that names the id and epoch it has (KIP-360) recovers from an error: it is fenced unless they are the latest,
or those before the latest, in which case the answer to the same request got lost and is given again. Kafka looks at
the epoch only when nothing is open, so that there a fenced producer may still abort its successor's transaction.
"""

from typing import Final

from tidelog.config.settings.transactions import TRANSACTION_MAX_TIMEOUT_MS, TRANSACTION_TWO_PHASE_COMMIT_ENABLE
from tidelog.coordinator.requests import CoordinatorRequest
from tidelog.coordinator.transaction.endings import abort_and_fence
from tidelog.coordinator.transaction.metadata import (
    EPOCH_PER_TRANSACTION,
    NO_EPOCH,
    NO_ID,
    NO_PRODUCER,
    NO_TIMEOUT_MS,
    Pair,
    TransactionMetadata,
    is_exhausted,
)
from tidelog.coordinator.transaction.shard import TransactionShard
from tidelog.coordinator.transaction.states import PREPARED, TransactionState
from tidelog.coordinator.transaction.transitions import initialised, kept_for
from tidelog.model.decisions import Result
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

KNOWS_PRODUCER_FENCED: Final = 4  # the version of the request from which clients know it


def handle(shard: TransactionShard, _now_ms: int, request: CoordinatorRequest) -> Result:
    message: InitProducerIdRequest = request.message
    refused = _refusal(shard, message)
    if refused is not None:
        return _refused(request, refused)
    before = shard.transactions.get(message.transactional_id or "")
    if before is None:
        return _create(shard, request)
    if before.state in PREPARED:
        return _refused(request, ErrorCode.CONCURRENT_TRANSACTIONS)
    if _expected(message) not in (None, before.client, before.last_producer):
        return _refused(request, ErrorCode.PRODUCER_FENCED)
    if before.state is not TransactionState.ONGOING:
        return _next(shard, before, request)
    return _keep(shard, before, request) if message.keep_prepared_txn else _abort(shard, before, request)


def _refusal(shard: TransactionShard, message: InitProducerIdRequest) -> ErrorCode | None:
    if (message.producer_id == NO_ID) != (message.producer_epoch == NO_EPOCH) or not message.transactional_id:
        return ErrorCode.INVALID_REQUEST
    if message.enable_2pc and not shard.config.get(TRANSACTION_TWO_PHASE_COMMIT_ENABLE):
        return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    if message.keep_prepared_txn and shard.transaction_version() < EPOCH_PER_TRANSACTION:
        return ErrorCode.UNSUPPORTED_VERSION  # there is no room for a second pair of id and epoch
    timeout_ms_max = shard.config.get(TRANSACTION_MAX_TIMEOUT_MS)
    if not message.enable_2pc and not 0 < message.transaction_timeout_ms <= timeout_ms_max:
        return ErrorCode.INVALID_TRANSACTION_TIMEOUT
    return None


def _create(shard: TransactionShard, request: CoordinatorRequest) -> Result:
    message: InitProducerIdRequest = request.message
    producer_id = shard.allocate_producer_id()
    if producer_id is None:
        return _refused(request, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    created = TransactionMetadata(
        transactional_id=message.transactional_id or "",
        producer_id=producer_id,
        producer_epoch=0,
        timeout_ms=_timeout_ms(message),
        last_update_ms=request.wall_ms,
        previous_producer_id=producer_id,
    )
    return Result([shard.decide(None, created)], _response(ErrorCode.NONE, (producer_id, 0)))


def _next(shard: TransactionShard, before: TransactionMetadata, request: CoordinatorRequest) -> Result:
    """Return the id and epoch of the next producer of an id at rest, or once more those of the one that lost its
    answer."""
    client = _next_client(shard, before, request.message)
    if client is None:
        return _refused(request, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    last = _last_client(before, client, request.message)
    after = initialised(before, client, last, _timeout_ms(request.message), request.wall_ms)
    return Result([shard.decide(before, after)], _response(ErrorCode.NONE, client))


def _keep(shard: TransactionShard, before: TransactionMetadata, request: CoordinatorRequest) -> Result:
    client = _next_client(shard, before, request.message)
    if client is None:
        return _refused(request, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    last = _last_client(before, client, request.message)
    after = kept_for(before, client, last, _timeout_ms(request.message), request.wall_ms)
    ongoing = (before.producer_id, before.producer_epoch)
    return Result([shard.decide(before, after)], _response(ErrorCode.NONE, client, ongoing))


def _abort(shard: TransactionShard, before: TransactionMetadata, request: CoordinatorRequest) -> Result:
    """Abort the open transaction. The epoch of the fence is told to nobody: the client comes again, and gets the one
    after it."""
    ending = abort_and_fence(shard, before, request.wall_ms)
    if isinstance(ending, ErrorCode):
        return _refused(request, ending)
    refused = _response(ErrorCode.CONCURRENT_TRANSACTIONS)
    return Result(ending.records, refused, effects=ending.effects)


def _next_client(shard: TransactionShard, before: TransactionMetadata, message: InitProducerIdRequest) -> Pair | None:
    """Return the id and epoch to hand out. None: a new producer id is needed, and there is none at hand."""
    producer_id, epoch = before.client
    if _expected(message) == before.last_producer:
        return before.client
    if not is_exhausted(epoch):
        return producer_id, epoch + 1
    fresh_id = shard.allocate_producer_id()
    return None if fresh_id is None else (fresh_id, 0)


def _last_client(before: TransactionMetadata, client: Pair, message: InitProducerIdRequest) -> Pair:
    """Return the id and epoch by which a retry is recognised. A client that named none leaves none: its predecessor
    must not be taken for it."""
    if client == before.client:
        return before.last_producer
    return NO_PRODUCER if _expected(message) is None else before.client


def _expected(message: InitProducerIdRequest) -> Pair | None:
    return None if message.producer_id == NO_ID else (message.producer_id, message.producer_epoch)


def _timeout_ms(message: InitProducerIdRequest) -> int:
    return NO_TIMEOUT_MS if message.enable_2pc else message.transaction_timeout_ms


def _refused(request: CoordinatorRequest, code: ErrorCode) -> Result:
    if code is ErrorCode.PRODUCER_FENCED and request.api_version < KNOWS_PRODUCER_FENCED:
        code = ErrorCode.INVALID_PRODUCER_EPOCH
    return Result([], _response(code))


def _response(code: ErrorCode, pair: Pair = NO_PRODUCER, ongoing: Pair = NO_PRODUCER) -> InitProducerIdResponse:
    return InitProducerIdResponse(
        throttle_time_ms=0,
        error_code=code,
        producer_id=pair[0],
        producer_epoch=pair[1],
        ongoing_txn_producer_id=ongoing[0],
        ongoing_txn_producer_epoch=ongoing[1],
    )
