"""ListTransactions: the transactions that a broker coordinates. 1 filters by age, 2 by a pattern of the id."""

from tidelog.protocol.schema import field, int16, int32, int64, request, response, string, struct


@request(api_key=66, versions="0-2", flexible="0+")
class ListTransactionsRequest:
    state_filters: list[string]
    producer_id_filters: list[int64]
    duration_filter: int64 = field("1+", default=-1)
    transactional_id_pattern: string | None = field("2+", nullable="2+", default=None)


@struct
class TransactionState:
    transactional_id: string
    producer_id: int64
    transaction_state: string


@response(api_key=66, versions="0-2", flexible="0+")
class ListTransactionsResponse:
    throttle_time_ms: int32
    error_code: int16
    unknown_state_filters: list[string]
    transaction_states: list[TransactionState]
