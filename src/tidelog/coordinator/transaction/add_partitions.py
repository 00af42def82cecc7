"""AddPartitionsToTxn and AddOffsetsToTxn: partitions become part of the transaction before data gets into them.

Up to version 3 a client adds to its transaction. From 4 a broker asks for several producers at once: to add (the client
does so implicitly, by producing) or only to verify that a partition is in it.
"""

from collections.abc import Generator
from typing import Final, TypeAlias, TypeVar

from tidelog.coordinator.requests import CoordinatorRequest
from tidelog.coordinator.transaction.metadata import (
    EPOCH_PER_TRANSACTION,
    Partitions,
    TransactionMetadata,
    record_bytes_at_most,
)
from tidelog.coordinator.transaction.shard import TransactionShard
from tidelog.coordinator.transaction.states import PREPARED, TransactionState
from tidelog.coordinator.transaction.transitions import with_partitions
from tidelog.model.decisions import Record, Result, finish
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from tidelog.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)

T = TypeVar("T")
Slices: TypeAlias = Generator[None, None, T]
Steps: TypeAlias = Slices[Result]
BATCHED_VERSION: Final = 4
PARTITIONS_A_SLICE: Final = 500  # partitions of a large request between two yields
KNOWS_PRODUCER_FENCED: Final = 2  # the version of either request from which clients know it
OFFSETS_TOPIC: Final = "__consumer_offsets"

Added = Record | ErrorCode  # NONE: all partitions are in the transaction already


def handle(shard: TransactionShard, _now_ms: int, request: CoordinatorRequest) -> Result | Steps:
    message: AddPartitionsToTxnRequest = request.message
    if request.api_version < BATCHED_VERSION:
        topics = message.v3_and_below_topics
        steps = _handle_client(shard, request)
    else:
        topics = [topic for transaction in message.transactions for topic in transaction.topics]
        steps = _handle_batch(shard, request)
    is_large = len(topics) + sum(len(topic.partitions) for topic in topics) > PARTITIONS_A_SLICE
    return steps if is_large else finish(steps)


def _handle_batch(shard: TransactionShard, request: CoordinatorRequest) -> Steps:
    message: AddPartitionsToTxnRequest = request.message
    records: list[Record] = []
    results: dict[str, AddPartitionsToTxnResult] = {}
    for transaction in message.transactions:
        if transaction.transactional_id in results:
            partitions = yield from _partitions(transaction.topics)
            codes = dict.fromkeys(partitions, ErrorCode.CONCURRENT_TRANSACTIONS)
        else:
            codes = yield from _one_of_batch(shard, request, transaction, records)
        result = AddPartitionsToTxnResult(
            transactional_id=transaction.transactional_id,
            topic_results=(yield from _topic_results(transaction.topics, codes)),
        )
        results.setdefault(transaction.transactional_id, result)
    response = AddPartitionsToTxnResponse(throttle_time_ms=0, results_by_transaction=list(results.values()))
    return Result(records, response, is_atomic=False)


def _handle_client(shard: TransactionShard, request: CoordinatorRequest) -> Steps:
    message: AddPartitionsToTxnRequest = request.message
    topics = message.v3_and_below_topics
    pair = (message.v3_and_below_producer_id, message.v3_and_below_producer_epoch)
    partitions = yield from _partitions(topics)
    added = add(shard, request, message.v3_and_below_transactional_id, pair, partitions, 0)
    code = client_code(request, ErrorCode.NONE if isinstance(added, tuple) else added)
    results = yield from _topic_results(topics, dict.fromkeys(partitions, code))
    response = AddPartitionsToTxnResponse(throttle_time_ms=0, results_by_topic_v3_and_below=results)
    return Result([added] if isinstance(added, tuple) else [], response)


def handle_offsets(shard: TransactionShard, _now_ms: int, request: CoordinatorRequest) -> Result:
    """Add the partition with a group's offsets, which are data in a partition like any other. Clients of transaction
    version 2 do this implicitly."""
    message: AddOffsetsToTxnRequest = request.message
    partition: Partitions = {TopicPartition(OFFSETS_TOPIC, shard.offsets_partition_for(message.group_id)): None}
    pair = (message.producer_id, message.producer_epoch)
    added = add(shard, request, message.transactional_id, pair, partition, 0)
    code = client_code(request, ErrorCode.NONE if isinstance(added, tuple) else added)
    return Result(
        [added] if isinstance(added, tuple) else [], AddOffsetsToTxnResponse(throttle_time_ms=0, error_code=code)
    )


def add(
    shard: TransactionShard,
    request: CoordinatorRequest,
    transactional_id: str,
    pair: tuple[int, int],
    partitions: Partitions,
    client_transaction_version: int,
) -> Added:
    if not transactional_id:
        return ErrorCode.INVALID_REQUEST
    before = shard.transactions.get(transactional_id)
    if before is not None and before.state in PREPARED:
        # Checked first: the producer may have been told an id and epoch that are its own only once this is complete.
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if before is None or before.client[0] != pair[0]:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if before.client[1] != pair[1]:
        return ErrorCode.PRODUCER_FENCED
    if before.is_kept:
        return ErrorCode.INVALID_TXN_STATE  # a kept transaction was prepared with the partitions that it has
    if before.state is TransactionState.ONGOING and partitions.keys() <= before.partitions.keys():
        return ErrorCode.NONE
    return _added(shard, request, before, partitions, client_transaction_version)


def _added(
    shard: TransactionShard,
    request: CoordinatorRequest,
    before: TransactionMetadata,
    partitions: Partitions,
    client_transaction_version: int,
) -> Added:
    after = with_partitions(before, partitions, client_transaction_version, request.wall_ms)
    if record_bytes_at_most(after.transactional_id, after.partitions) > shard.max_record_bytes:
        return ErrorCode.UNKNOWN_SERVER_ERROR  # Kafka's answer to a record that its log does not take
    if before.state is not TransactionState.ONGOING:
        shard.count("started")
    shard.clients[after.transactional_id] = (request.client_id, request.client_host)
    return shard.decide(before, after)


def _one_of_batch(
    shard: TransactionShard,
    request: CoordinatorRequest,
    transaction: AddPartitionsToTxnTransaction,
    records: list[Record],
) -> Slices[dict[TopicPartition, ErrorCode]]:
    partitions = yield from _partitions(transaction.topics)
    if transaction.verify_only:
        return _verified(shard, transaction, partitions)
    pair = (transaction.producer_id, transaction.producer_epoch)
    added = add(shard, request, transaction.transactional_id, pair, partitions, EPOCH_PER_TRANSACTION)
    if isinstance(added, tuple):
        records.append(added)
        return dict.fromkeys(partitions, ErrorCode.NONE)
    return dict.fromkeys(partitions, added)


def _verified(
    shard: TransactionShard, transaction: AddPartitionsToTxnTransaction, partitions: Partitions
) -> dict[TopicPartition, ErrorCode]:
    metadata = shard.transactions.get(transaction.transactional_id)
    code = ErrorCode.INVALID_REQUEST if not transaction.transactional_id else _whole_code(metadata, transaction)
    if code is not ErrorCode.NONE or metadata is None:
        return dict.fromkeys(partitions, code)
    missing = ErrorCode.TRANSACTION_ABORTABLE
    return {each: ErrorCode.NONE if each in metadata.partitions else missing for each in partitions}


def _whole_code(metadata: TransactionMetadata | None, transaction: AddPartitionsToTxnTransaction) -> ErrorCode:
    """Return the code that holds for all partitions of the transaction alike."""
    if metadata is None or metadata.client[0] != transaction.producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if metadata.client[1] != transaction.producer_epoch:
        return ErrorCode.PRODUCER_FENCED
    if metadata.state in PREPARED:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    return ErrorCode.INVALID_TXN_STATE if metadata.is_kept else ErrorCode.NONE


def client_code(request: CoordinatorRequest, code: ErrorCode) -> ErrorCode:
    is_too_new = code is ErrorCode.PRODUCER_FENCED and request.api_version < KNOWS_PRODUCER_FENCED
    return ErrorCode.INVALID_PRODUCER_EPOCH if is_too_new else code


def _partitions(topics: list[AddPartitionsToTxnTopic]) -> Slices[Partitions]:
    partitions: Partitions = {}
    for topic in topics:
        for first in range(0, len(topic.partitions), PARTITIONS_A_SLICE):
            for partition in topic.partitions[first : first + PARTITIONS_A_SLICE]:
                partitions[TopicPartition(topic.name, partition)] = None
            yield
    return partitions


def _topic_results(
    topics: list[AddPartitionsToTxnTopic], codes: dict[TopicPartition, ErrorCode]
) -> Slices[list[AddPartitionsToTxnTopicResult]]:
    results: list[AddPartitionsToTxnTopicResult] = []
    for topic in topics:
        result = AddPartitionsToTxnTopicResult(name=topic.name, results_by_partition=[])
        results.append(result)
        for first in range(0, len(topic.partitions), PARTITIONS_A_SLICE):
            result.results_by_partition += [
                AddPartitionsToTxnPartitionResult(
                    partition_index=partition, partition_error_code=codes[TopicPartition(topic.name, partition)]
                )
                for partition in topic.partitions[first : first + PARTITIONS_A_SLICE]
            ]
            yield
    return results
