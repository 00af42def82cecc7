"""DescribeDelegationToken: the delegation tokens of some owners. 3 returns who asked for each."""

from tidelog.protocol.schema import byte_string, field, int16, int32, int64, request, response, string, struct


@struct
class DescribeDelegationTokenOwner:
    principal_type: string
    principal_name: string


@request(api_key=41, versions="1-3", flexible="2+")
class DescribeDelegationTokenRequest:
    owners: list[DescribeDelegationTokenOwner] | None = field(nullable="0+")


@struct
class DescribedDelegationTokenRenewer:
    principal_type: string
    principal_name: string


@struct
class DescribedDelegationToken:
    principal_type: string
    principal_name: string
    token_requester_principal_type: string = field("3+", default="")
    token_requester_principal_name: string = field("3+", default="")
    issue_timestamp: int64
    expiry_timestamp: int64
    max_timestamp: int64
    token_id: string
    hmac: byte_string
    renewers: list[DescribedDelegationTokenRenewer]


@response(api_key=41, versions="1-3", flexible="2+")
class DescribeDelegationTokenResponse:
    error_code: int16
    tokens: list[DescribedDelegationToken]
    throttle_time_ms: int32
