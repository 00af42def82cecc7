"""ExpireDelegationToken: end a delegation token, now or at a time."""

from tidelog.protocol.schema import byte_string, int16, int32, int64, request, response


@request(api_key=40, versions="1-2", flexible="2+")
class ExpireDelegationTokenRequest:
    hmac: byte_string
    expiry_time_period_ms: int64


@response(api_key=40, versions="1-2", flexible="2+")
class ExpireDelegationTokenResponse:
    error_code: int16
    expiry_timestamp_ms: int64
    throttle_time_ms: int32
