"""EndTxn, AddPartitionsToTxn and AddOffsetsToTxn: what a producer tells the coordinator of its transaction.

The coordinator is the machine of the transactional id's partition of `__transaction_state`. A batched
AddPartitionsToTxn (between brokers) may name transactions of several of them: each is asked, and the answers put
together.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tidelog.coordinator.requests import CoordinatorRequest
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.protocol.api import ApiKey
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
from tidelog.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from tidelog.server.handling import Handler, RequestContext

if TYPE_CHECKING:
    from tidelog.server.broker import Broker

_FIRST_BATCHED = 4
_FIRST_WITH_FENCED = 2  # of all three; before it a fenced producer understands only INVALID_PRODUCER_EPOCH


def coordinator_request(broker: "Broker", context: RequestContext, body: Any) -> CoordinatorRequest:
    host = f"/{context.connection.accepted.peer.host}"
    return CoordinatorRequest(body, context.api_version, broker.turn.wall_ms, context.client_id, host)


def ask(
    broker: "Broker",
    context: RequestContext,
    transactional_id: str,
    body: Any,
    refuse: Callable[[Any, ErrorCode, str | None], Any],
    answer: Callable[[Any], None],
) -> None:
    """Ask the coordinator of this id. `answer` gets its response, or `refuse`'s where there is none."""

    def reply(said: Any) -> None:
        if isinstance(said, ApiError):
            said = refuse(body, said.code, said.message)
        elif isinstance(said, ErrorCode):
            said = refuse(body, said, None)
        answer(said)

    request = coordinator_request(broker, context, body)
    broker.coordinators.transactions.submit(transactional_id, request, reply)


def understood(code: int, version: int, first_with_fenced: int = _FIRST_WITH_FENCED) -> int:
    is_unknown = code == ErrorCode.PRODUCER_FENCED and version < first_with_fenced
    return ErrorCode.INVALID_PRODUCER_EPOCH if is_unknown else code


# EndTxn and AddOffsetsToTxn


def _handle(
    broker: "Broker",
    context: RequestContext,
    body: AddOffsetsToTxnRequest | EndTxnRequest,
    refuse: Callable[[Any, ErrorCode, str | None], Any],
) -> None:
    def answer(response: AddOffsetsToTxnResponse | EndTxnResponse) -> None:
        response.error_code = understood(response.error_code, context.api_version)
        context.respond(response)

    ask(broker, context, body.transactional_id, body, refuse, answer)


def handle_end_txn(broker: "Broker", context: RequestContext, body: EndTxnRequest) -> None:
    _handle(broker, context, body, refuse_end_txn)


def refuse_end_txn(_body: EndTxnRequest, code: ErrorCode, _message: str | None) -> EndTxnResponse:
    return EndTxnResponse(throttle_time_ms=0, error_code=code)


def handle_add_offsets(broker: "Broker", context: RequestContext, body: AddOffsetsToTxnRequest) -> None:
    _handle(broker, context, body, refuse_add_offsets)


def refuse_add_offsets(_body: AddOffsetsToTxnRequest, code: ErrorCode, _message: str | None) -> AddOffsetsToTxnResponse:
    return AddOffsetsToTxnResponse(throttle_time_ms=0, error_code=code)


# AddPartitionsToTxn


def handle_add_partitions(
    broker: "Broker", context: RequestContext, body: AddPartitionsToTxnRequest
) -> AddPartitionsToTxnResponse | None:
    if context.api_version < _FIRST_BATCHED:
        topics = body.v3_and_below_topics
        missing = _missing(broker, topics)
        if missing is not None:
            return AddPartitionsToTxnResponse(throttle_time_ms=0, results_by_topic_v3_and_below=missing)
        ask(broker, context, body.v3_and_below_transactional_id, body, refuse_add_partitions, _answer_one(context))
        return None
    if not body.transactions:
        return AddPartitionsToTxnResponse(throttle_time_ms=0)
    _AddsOfSeveral(broker, context, body).ask()
    return None


def _answer_one(context: RequestContext) -> Callable[[AddPartitionsToTxnResponse], None]:
    def answer(response: AddPartitionsToTxnResponse) -> None:
        for topic in response.results_by_topic_v3_and_below:
            for each in topic.results_by_partition:
                each.partition_error_code = understood(each.partition_error_code, context.api_version)
        context.respond(response)

    return answer


def _missing(broker: "Broker", topics: list[AddPartitionsToTxnTopic]) -> list[AddPartitionsToTxnTopicResult] | None:
    """Where a partition does not exist nothing is added, and each is told why."""
    is_known = {
        place: broker.has_partition(place)
        for place in (TopicPartition(topic.name, index) for topic in topics for index in topic.partitions)
    }
    if all(is_known.values()):
        return None

    def code(place: TopicPartition) -> ErrorCode:
        return ErrorCode.OPERATION_NOT_ATTEMPTED if is_known[place] else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    return _results(topics, code)


def _results(
    topics: list[AddPartitionsToTxnTopic], code: Callable[[TopicPartition], int]
) -> list[AddPartitionsToTxnTopicResult]:
    return [
        AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=[
                AddPartitionsToTxnPartitionResult(
                    partition_index=index, partition_error_code=code(TopicPartition(topic.name, index))
                )
                for index in topic.partitions
            ],
        )
        for topic in topics
    ]


class _AddsOfSeveral:
    """The transactions of a batched request, each from its own coordinator, in the order of the request."""

    def __init__(self, broker: "Broker", context: RequestContext, body: AddPartitionsToTxnRequest) -> None:
        self._broker = broker
        self._context = context
        self._transactions = body.transactions
        self._results: dict[int, AddPartitionsToTxnResult] = {}

    def ask(self) -> None:
        for index, transaction in enumerate(self._transactions):
            missing = _missing(self._broker, transaction.topics)
            if missing is not None:
                result = AddPartitionsToTxnResult(transactional_id=transaction.transactional_id, topic_results=missing)
                self._take(index, result)
                continue
            alone = AddPartitionsToTxnRequest(transactions=[transaction])
            ask(
                self._broker,
                self._context,
                transaction.transactional_id,
                alone,
                refuse_add_partitions,
                self._answer_to(index),
            )

    def _answer_to(self, index: int) -> Callable[[AddPartitionsToTxnResponse], None]:
        return lambda response: self._take(index, response.results_by_transaction[0])

    def _take(self, index: int, result: AddPartitionsToTxnResult) -> None:
        self._results[index] = result
        if len(self._results) == len(self._transactions):
            results = [self._results[index] for index in range(len(self._transactions))]
            self._context.respond(AddPartitionsToTxnResponse(throttle_time_ms=0, results_by_transaction=results))


def refuse_add_partitions(
    body: AddPartitionsToTxnRequest, code: ErrorCode, _message: str | None
) -> AddPartitionsToTxnResponse:
    def same(_place: TopicPartition) -> int:
        return code

    def of(transaction: AddPartitionsToTxnTransaction) -> AddPartitionsToTxnResult:
        results = _results(transaction.topics, same)
        return AddPartitionsToTxnResult(transactional_id=transaction.transactional_id, topic_results=results)

    return AddPartitionsToTxnResponse(
        throttle_time_ms=0,
        error_code=ErrorCode.NONE,
        results_by_transaction=[of(each) for each in body.transactions],
        results_by_topic_v3_and_below=_results(body.v3_and_below_topics, same),
    )


END_TXN = Handler(ApiKey.END_TXN, handle_end_txn, refuse_end_txn)
ADD_OFFSETS_TO_TXN = Handler(ApiKey.ADD_OFFSETS_TO_TXN, handle_add_offsets, refuse_add_offsets)
ADD_PARTITIONS_TO_TXN = Handler(ApiKey.ADD_PARTITIONS_TO_TXN, handle_add_partitions, refuse_add_partitions)
