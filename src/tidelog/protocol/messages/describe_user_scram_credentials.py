"""DescribeUserScramCredentials: which SCRAM credentials users have; never the secrets."""

from tidelog.protocol.schema import field, int8, int16, int32, request, response, string, struct


@struct
class UserName:
    name: string


@request(api_key=50, versions="0", flexible="0+")
class DescribeUserScramCredentialsRequest:
    users: list[UserName] | None = field(nullable="0+")


@struct
class CredentialInfo:
    mechanism: int8
    iterations: int32


@struct
class DescribeUserScramCredentialsResult:
    user: string
    error_code: int16
    error_message: string | None = field(nullable="0+")
    credential_infos: list[CredentialInfo]


@response(api_key=50, versions="0", flexible="0+")
class DescribeUserScramCredentialsResponse:
    throttle_time_ms: int32
    error_code: int16
    error_message: string | None = field(nullable="0+")
    results: list[DescribeUserScramCredentialsResult]
