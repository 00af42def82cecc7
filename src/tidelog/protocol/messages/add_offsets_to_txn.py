"""AddOffsetsToTxn: make a group's offsets partition part of a transaction."""

from tidelog.protocol.schema import int16, int32, int64, request, response, string


@request(api_key=25, versions="0-4", flexible="3+")
class AddOffsetsToTxnRequest:
    transactional_id: string
    producer_id: int64
    producer_epoch: int16
    group_id: string


@response(api_key=25, versions="0-4", flexible="3+")
class AddOffsetsToTxnResponse:
    throttle_time_ms: int32
    error_code: int16
