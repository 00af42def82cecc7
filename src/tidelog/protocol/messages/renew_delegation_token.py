"""RenewDelegationToken: let a delegation token live longer."""

from tidelog.protocol.schema import byte_string, int16, int32, int64, request, response


@request(api_key=39, versions="1-2", flexible="2+")
class RenewDelegationTokenRequest:
    hmac: byte_string
    renew_period_ms: int64


@response(api_key=39, versions="1-2", flexible="2+")
class RenewDelegationTokenResponse:
    error_code: int16
    expiry_timestamp_ms: int64
    throttle_time_ms: int32
