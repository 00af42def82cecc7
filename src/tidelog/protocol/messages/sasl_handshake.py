"""SaslHandshake: choose the SASL mechanism of a connection. Never flexible.

After 0 the tokens follow raw on the connection; after 1 they travel in SaslAuthenticate.
"""

from tidelog.protocol.schema import int16, request, response, string


@request(api_key=17, versions="0-1", flexible="none")
class SaslHandshakeRequest:
    mechanism: string


@response(api_key=17, versions="0-1", flexible="none")
class SaslHandshakeResponse:
    error_code: int16
    mechanisms: list[string]
