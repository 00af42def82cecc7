"""EndTxn: commit or abort a transaction. 5 bumps the epoch each time and returns it (KIP-890)."""

from tidelog.protocol.schema import boolean, field, int16, int32, int64, request, response, string


@request(api_key=26, versions="0-5", flexible="3+")
class EndTxnRequest:
    transactional_id: string
    producer_id: int64
    producer_epoch: int16
    committed: boolean


@response(api_key=26, versions="0-5", flexible="3+")
class EndTxnResponse:
    throttle_time_ms: int32
    error_code: int16
    producer_id: int64 = field("5+", default=-1, ignorable=True)
    producer_epoch: int16 = field("5+", default=-1, ignorable=True)
