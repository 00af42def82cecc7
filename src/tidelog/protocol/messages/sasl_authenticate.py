"""SaslAuthenticate: one step of the SASL exchange. 1 returns how long the session may live."""

from tidelog.protocol.schema import byte_string, field, int16, int64, request, response, string


@request(api_key=36, versions="0-2", flexible="2+")
class SaslAuthenticateRequest:
    auth_bytes: byte_string


@response(api_key=36, versions="0-2", flexible="2+")
class SaslAuthenticateResponse:
    error_code: int16
    error_message: string | None = field(nullable="0+")
    auth_bytes: byte_string
    session_lifetime_ms: int64 = field("1+", default=0, ignorable=True)
