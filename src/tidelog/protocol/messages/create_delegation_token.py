"""CreateDelegationToken: issue a token that stands for a principal. 3 may name another owner than the caller."""

from tidelog.protocol.schema import byte_string, field, int16, int32, int64, request, response, string, struct


@struct
class CreatableRenewers:
    principal_type: string
    principal_name: string


@request(api_key=38, versions="1-3", flexible="2+")
class CreateDelegationTokenRequest:
    owner_principal_type: string | None = field("3+", nullable="3+", default="")
    owner_principal_name: string | None = field("3+", nullable="3+", default="")
    renewers: list[CreatableRenewers]
    max_lifetime_ms: int64


@response(api_key=38, versions="1-3", flexible="2+")
class CreateDelegationTokenResponse:
    error_code: int16
    principal_type: string
    principal_name: string
    token_requester_principal_type: string = field("3+", default="")
    token_requester_principal_name: string = field("3+", default="")
    issue_timestamp_ms: int64
    expiry_timestamp_ms: int64
    max_timestamp_ms: int64
    token_id: string
    hmac: byte_string
    throttle_time_ms: int32
