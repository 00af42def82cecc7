"""DescribeTransactions, ListTransactions, and what tools want to know beyond them: which are open, since when, whose.

The answers wait, like any other, until all that they show is committed.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from tidelog.coordinator.group.subscription_regex import InvalidRegex, compile_regex
from tidelog.coordinator.requests import CoordinatorRequest
from tidelog.coordinator.transaction.expiry import TRANSACTIONS_A_SLICE
from tidelog.coordinator.transaction.metadata import TransactionMetadata
from tidelog.coordinator.transaction.shard import Steps, TransactionShard
from tidelog.coordinator.transaction.states import STATE_NAMES, STATES_BY_NAME, TransactionState
from tidelog.model.decisions import Result
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.protocol.messages import describe_transactions, list_transactions


class OpenTransaction(NamedTuple):
    """A transaction that the coordinator has open: a candidate for hanging."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    state: str
    start_ms: int
    timeout_ms: int
    partitions: tuple[tuple[str, int], ...]  # once it is prepared, only those whose markers are missing
    client_id: str  # as last heard of; unknown after a reload
    client_host: str


def open_transactions(shard: TransactionShard) -> Iterator[OpenTransaction]:
    for transactional_id in (*shard.ongoing, *shard.prepared):
        metadata = shard.transactions[transactional_id]
        yield OpenTransaction(
            transactional_id,
            metadata.producer_id,
            metadata.producer_epoch,
            STATE_NAMES[metadata.state],
            metadata.start_ms,
            metadata.timeout_ms,
            tuple(_partitions(shard, metadata)),
            *shard.clients.get(transactional_id, ("", "")),
        )


def describe(shard: TransactionShard, _now_ms: int, request: CoordinatorRequest) -> Result:
    message: describe_transactions.DescribeTransactionsRequest = request.message
    states = [_described(shard, transactional_id) for transactional_id in message.transactional_ids]
    response = describe_transactions.DescribeTransactionsResponse(throttle_time_ms=0, transaction_states=states)
    return Result([], response)


def _described(shard: TransactionShard, transactional_id: str) -> describe_transactions.TransactionState:
    metadata = shard.transactions.get(transactional_id)
    if not transactional_id:
        return _not_described(transactional_id, ErrorCode.INVALID_REQUEST)
    if metadata is None or metadata.state is TransactionState.DEAD:
        return _not_described(transactional_id, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
    topics: dict[str, list[int]] = {}
    for topic, partition in _partitions(shard, metadata):
        topics.setdefault(topic, []).append(partition)
    return describe_transactions.TransactionState(
        error_code=ErrorCode.NONE,
        transactional_id=transactional_id,
        transaction_state=STATE_NAMES[metadata.state],
        transaction_timeout_ms=metadata.timeout_ms,
        transaction_start_time_ms=metadata.start_ms,
        producer_id=metadata.producer_id,
        producer_epoch=metadata.producer_epoch,
        topics=[describe_transactions.TopicData(topic=name, partitions=ids) for name, ids in topics.items()],
    )


def _not_described(transactional_id: str, code: ErrorCode) -> describe_transactions.TransactionState:
    return describe_transactions.TransactionState(
        error_code=code,
        transactional_id=transactional_id,
        transaction_state="",
        transaction_timeout_ms=0,
        transaction_start_time_ms=0,
        producer_id=0,
        producer_epoch=0,
        topics=[],
    )


def _partitions(shard: TransactionShard, metadata: TransactionMetadata) -> Iterator[tuple[str, int]]:
    """Return the partitions that the transaction is in. A prepared one is no longer in those that have their marker."""
    return iter(shard.markers_missing.get(metadata.transactional_id, metadata.partitions))


def list_all(shard: TransactionShard, _now_ms: int, request: CoordinatorRequest) -> Steps:
    message: list_transactions.ListTransactionsRequest = request.message
    is_wanted = _filter(message, request.wall_ms)
    listed = []
    for count, metadata in enumerate(shard.transactions.values(), 1):
        if count % TRANSACTIONS_A_SLICE == 0:
            yield
        if is_wanted(metadata):
            listed.append(_listed(metadata))
    response = list_transactions.ListTransactionsResponse(
        throttle_time_ms=0,
        error_code=ErrorCode.NONE,
        unknown_state_filters=[name for name in message.state_filters if name not in STATES_BY_NAME],
        transaction_states=listed,
    )
    return Result([], response)


def _listed(metadata: TransactionMetadata) -> list_transactions.TransactionState:
    return list_transactions.TransactionState(
        transactional_id=metadata.transactional_id,
        producer_id=metadata.producer_id,
        transaction_state=STATE_NAMES[metadata.state],
    )


def _filter(message: list_transactions.ListTransactionsRequest, wall_ms: int) -> Callable[[TransactionMetadata], bool]:
    """Return a test that a transaction passes if every filter lets it through. A state filter with only unknown names
    lets none through."""
    producer_ids = frozenset(message.producer_id_filters)
    states = frozenset(STATES_BY_NAME[name] for name in message.state_filters if name in STATES_BY_NAME)
    matches = _pattern(message.transactional_id_pattern)

    def is_wanted(metadata: TransactionMetadata) -> bool:
        return (
            metadata.state is not TransactionState.DEAD
            and (not producer_ids or metadata.producer_id in producer_ids)
            and (not message.state_filters or metadata.state in states)
            and (message.duration_filter < 0 or wall_ms - metadata.start_ms > message.duration_filter)
            and (matches is None or matches(metadata.transactional_id))
        )

    return is_wanted


def _pattern(text: str | None) -> Callable[[str], bool] | None:
    if not text:
        return None
    try:
        matcher = compile_regex(text)
    except InvalidRegex as error:
        raise ApiError(ErrorCode.INVALID_REGULAR_EXPRESSION, str(error)) from None
    return lambda transactional_id: matcher.fullmatch(transactional_id.encode()) is not None
