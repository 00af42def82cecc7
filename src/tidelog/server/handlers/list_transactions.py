"""ListTransactions and DescribeTransactions: the transactions that this broker coordinates.

Both go to the machines, each of which knows the transactional ids of its partition, and the answers are put together.
"""

from typing import TYPE_CHECKING, Any

from tidelog.coordinator.transaction.states import STATES_BY_NAME
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)
from tidelog.protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from tidelog.server.coordination.asking import Gathering, ask_transaction, coordinator_request
from tidelog.server.requests.handler import Handler, RequestContext, Steps, respond, whole

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker


def describe_steps(broker: "Broker", context: RequestContext, body: DescribeTransactionsRequest) -> Steps[None]:
    def done(answers: list[DescribeTransactionsResponse]) -> None:
        states = [state for answer in answers for state in answer.transaction_states]
        partitions = sum(len(topic.partitions) for state in states for topic in state.topics)
        response = DescribeTransactionsResponse(throttle_time_ms=0, transaction_states=states)
        respond(context, response, len(states) + partitions)

    gathering = Gathering(len(body.transactional_ids), done)
    for index, transactional_id in enumerate(body.transactional_ids):
        alone = DescribeTransactionsRequest(transactional_ids=[transactional_id])
        ask_transaction(broker, context, transactional_id, alone, refuse_describe, gathering.part(index))
        yield


def refuse_describe(
    body: DescribeTransactionsRequest, code: ErrorCode, _message: str | None
) -> DescribeTransactionsResponse:
    states = [
        TransactionState(
            error_code=code,
            transactional_id=transactional_id,
            transaction_state="",
            transaction_timeout_ms=0,
            transaction_start_time_ms=0,
            producer_id=0,
            producer_epoch=0,
            topics=[],
        )
        for transactional_id in body.transactional_ids
    ]
    return DescribeTransactionsResponse(throttle_time_ms=0, transaction_states=states)


def handle_list(broker: "Broker", context: RequestContext, body: ListTransactionsRequest) -> None:
    coordinators = broker.coordinators.transactions
    partitions = coordinators.partitions()
    unknown = [name for name in dict.fromkeys(body.state_filters) if name not in STATES_BY_NAME]

    def done(answers: list[Any]) -> None:
        response = _merged(answers, unknown)
        respond(context, response, len(response.transaction_states))

    gathering = Gathering(len(partitions), done)
    for index, partition in enumerate(partitions):
        coordinators.submit_to(partition, coordinator_request(broker, context, body), gathering.part(index))


def _merged(answers: list[Any], unknown: list[str]) -> ListTransactionsResponse:
    """What one of them can not tell makes the list wrong: a coordinator that is loading, a pattern that is none."""
    merged = ListTransactionsResponse(
        throttle_time_ms=0, error_code=ErrorCode.NONE, unknown_state_filters=unknown, transaction_states=[]
    )
    for answer in answers:
        if isinstance(answer, ListTransactionsResponse):
            code = answer.error_code
            merged.transaction_states += answer.transaction_states
        else:
            code = answer.code if isinstance(answer, ApiError) else answer
        if code and code != ErrorCode.NOT_COORDINATOR:  # that one has just moved: another broker lists it
            return refuse_list(None, ErrorCode(code), None)
    return merged


def refuse_list(_body: object, code: ErrorCode, _message: str | None) -> ListTransactionsResponse:
    return ListTransactionsResponse(
        throttle_time_ms=0, error_code=code, unknown_state_filters=[], transaction_states=[]
    )


DESCRIBE_TRANSACTIONS = Handler(
    ApiKey.DESCRIBE_TRANSACTIONS, whole(describe_steps), refuse_describe, steps=describe_steps
)
LIST_TRANSACTIONS = Handler(ApiKey.LIST_TRANSACTIONS, handle_list, refuse_list)
