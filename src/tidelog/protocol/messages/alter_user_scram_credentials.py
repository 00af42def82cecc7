"""AlterUserScramCredentials: set or delete SCRAM credentials. The client salts and hashes; no password travels."""

from tidelog.protocol.schema import byte_string, field, int8, int16, int32, request, response, string, struct


@struct
class ScramCredentialDeletion:
    name: string
    mechanism: int8


@struct
class ScramCredentialUpsertion:
    name: string
    mechanism: int8
    iterations: int32
    salt: byte_string
    salted_password: byte_string


@request(api_key=51, versions="0", flexible="0+")
class AlterUserScramCredentialsRequest:
    deletions: list[ScramCredentialDeletion]
    upsertions: list[ScramCredentialUpsertion]


@struct
class AlterUserScramCredentialsResult:
    user: string
    error_code: int16
    error_message: string | None = field(nullable="0+")


@response(api_key=51, versions="0", flexible="0+")
class AlterUserScramCredentialsResponse:
    throttle_time_ms: int32
    results: list[AlterUserScramCredentialsResult]
