"""EndTxn, AddPartitionsToTxn and AddOffsetsToTxn: what a producer tells the coordinator of its transaction.

The coordinator is the machine of the transactional id's partition of `__transaction_state`. A batched
AddPartitionsToTxn (between brokers) may name transactions of several of them: each is asked, and the answers put
together.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tidelog.model.errors import ErrorCode
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
from tidelog.server.cluster.internal_topics import is_internal
from tidelog.server.coordination.asking import Gathering, ask_transaction
from tidelog.server.requests.handler import Handler, RequestContext, Steps, whole

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

_FIRST_BATCHED = 4
_FIRST_WITH_FENCED = 2  # of all three; before it a fenced producer understands only INVALID_PRODUCER_EPOCH


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

    ask_transaction(broker, context, body.transactional_id, body, refuse, answer)


def handle_end_txn(broker: "Broker", context: RequestContext, body: EndTxnRequest) -> None:
    _handle(broker, context, body, refuse_end_txn)


def refuse_end_txn(_body: EndTxnRequest, code: ErrorCode, _message: str | None) -> EndTxnResponse:
    return EndTxnResponse(throttle_time_ms=0, error_code=code)


def handle_add_offsets(broker: "Broker", context: RequestContext, body: AddOffsetsToTxnRequest) -> None:
    _handle(broker, context, body, refuse_add_offsets)


def refuse_add_offsets(_body: AddOffsetsToTxnRequest, code: ErrorCode, _message: str | None) -> AddOffsetsToTxnResponse:
    return AddOffsetsToTxnResponse(throttle_time_ms=0, error_code=code)


# AddPartitionsToTxn


def add_partitions_steps(
    broker: "Broker", context: RequestContext, body: AddPartitionsToTxnRequest
) -> Steps[AddPartitionsToTxnResponse | None]:
    if context.api_version < _FIRST_BATCHED:
        topics = body.v3_and_below_topics
        refused = yield from _not_to_be_added(broker, topics, is_client=True)
        if refused is not None:
            return AddPartitionsToTxnResponse(throttle_time_ms=0, results_by_topic_v3_and_below=refused)
        transactional_id, answer = body.v3_and_below_transactional_id, _answer_one(context)
        ask_transaction(broker, context, transactional_id, body, refuse_add_partitions, answer)
    else:
        yield from _add_to_several(broker, context, body.transactions)
    return None


def _answer_one(context: RequestContext) -> Callable[[AddPartitionsToTxnResponse], None]:
    def answer(response: AddPartitionsToTxnResponse) -> None:
        for topic in response.results_by_topic_v3_and_below:
            for each in topic.results_by_partition:
                each.partition_error_code = understood(each.partition_error_code, context.api_version)
        context.respond(response)

    return answer


def _not_to_be_added(
    broker: "Broker", topics: list[AddPartitionsToTxnTopic], *, is_client: bool
) -> Steps[list[AddPartitionsToTxnTopicResult] | None]:
    """Where one of the partitions can not be added none is, and each is told why."""
    codes: dict[TopicPartition, ErrorCode] = {}
    for topic in topics:
        for index in topic.partitions:
            topic_partition = TopicPartition(topic.name, index)
            codes[topic_partition] = _refusal(broker, topic_partition, is_client)
            yield
    if not any(codes.values()):
        return None
    return _results(topics, lambda topic_partition: codes[topic_partition] or ErrorCode.OPERATION_NOT_ATTEMPTED)


def _refusal(broker: "Broker", topic_partition: TopicPartition, is_client: bool) -> ErrorCode:
    """Offsets take part through AddOffsetsToTxn; a broker may name their partition here."""
    if is_client and is_internal(topic_partition.topic):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return ErrorCode.NONE if broker.has_partition(topic_partition) else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


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


def _add_to_several(
    broker: "Broker", context: RequestContext, transactions: list[AddPartitionsToTxnTransaction]
) -> Steps[None]:
    """Each by its own coordinator, answered in the order of the request."""

    def done(answers: list[AddPartitionsToTxnResponse]) -> None:
        results = [result for answer in answers for result in answer.results_by_transaction]
        context.respond(AddPartitionsToTxnResponse(throttle_time_ms=0, results_by_transaction=results))

    gathering = Gathering(len(transactions), done)
    for index, transaction in enumerate(transactions):
        transactional_id, answer = transaction.transactional_id, gathering.part(index)
        refused = yield from _not_to_be_added(broker, transaction.topics, is_client=False)
        if refused is None:
            alone = AddPartitionsToTxnRequest(transactions=[transaction])
            ask_transaction(broker, context, transactional_id, alone, refuse_add_partitions, answer)
        else:
            result = AddPartitionsToTxnResult(transactional_id=transactional_id, topic_results=refused)
            answer(AddPartitionsToTxnResponse(throttle_time_ms=0, results_by_transaction=[result]))
        yield


def refuse_add_partitions(
    body: AddPartitionsToTxnRequest, code: ErrorCode, _message: str | None
) -> AddPartitionsToTxnResponse:
    def same(_topic_partition: TopicPartition) -> int:
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
ADD_PARTITIONS_TO_TXN = Handler(
    ApiKey.ADD_PARTITIONS_TO_TXN, whole(add_partitions_steps), refuse_add_partitions, steps=add_partitions_steps
)
