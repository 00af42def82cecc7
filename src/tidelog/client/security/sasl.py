"""Authentication of one connection, without I/O: requests out, responses in, until the broker lets us in.

    SaslHandshake (which mechanism) -> SaslAuthenticate, once (PLAIN) or twice (SCRAM) -> done

The same exchange renews a session on a connection that is in use: brokers end one that has gone on for longer than
`connections.max.reauth.ms` (KIP-368).
"""

from base64 import b64encode
from collections.abc import Generator
from typing import Final

from tidelog.client.errors import error_code
from tidelog.client.security.errors import SecurityFailure
from tidelog.client.security.scram import Scram, ScramError
from tidelog.client.security.security import HASHES, PLAIN, SaslSettings
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from tidelog.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

NONCE_BYTES: Final = 24
# A session is renewed when this part of it is over; the rest is time for doing so.
RENEW_AFTER: Final = 0.85

_CREDENTIALS: Final = "see user and password in sasl.jaas.config (or sasl.username, sasl.password), and sasl.mechanism"

SaslRequest = SaslHandshakeRequest | SaslAuthenticateRequest
SaslResponse = SaslHandshakeResponse | SaslAuthenticateResponse
Exchange = Generator[SaslRequest, SaslResponse, int]


def authenticate(settings: SaslSettings, nonce: bytes) -> Exchange:
    """Yield requests, and be sent their responses. Returns after how many milliseconds to authenticate again; 0 is
    never. SecurityFailure says why we were not let in, or do not want to be."""
    handshake = yield SaslHandshakeRequest(mechanism=settings.mechanism)
    assert isinstance(handshake, SaslHandshakeResponse)
    _check_handshake(settings.mechanism, handshake)
    if settings.mechanism == PLAIN:
        said = yield from _authenticate(b"\0".join((b"", settings.user.encode(), settings.password.encode())))
    else:
        try:
            said = yield from _scram(settings, b64encode(nonce).decode())
        except ScramError as error:
            raise SecurityFailure(ErrorCode.SASL_AUTHENTICATION_FAILED, str(error), _CREDENTIALS) from None
    return int(said.session_lifetime_ms * RENEW_AFTER)


def _scram(settings: SaslSettings, nonce: str) -> Generator[SaslRequest, SaslResponse, SaslAuthenticateResponse]:
    scram = Scram(HASHES[settings.mechanism], settings.user, settings.password, nonce)
    challenge = yield from _authenticate(scram.first())
    outcome = yield from _authenticate(scram.final(bytes(challenge.auth_bytes)))
    scram.verify(bytes(outcome.auth_bytes))
    return outcome


def _authenticate(token: bytes) -> Generator[SaslRequest, SaslResponse, SaslAuthenticateResponse]:
    said = yield SaslAuthenticateRequest(auth_bytes=token)
    assert isinstance(said, SaslAuthenticateResponse)
    if said.error_code:
        raise SecurityFailure(error_code(said.error_code), said.error_message or "the broker says no", _CREDENTIALS)
    return said


def _check_handshake(mechanism: str, said: SaslHandshakeResponse) -> None:
    code = error_code(said.error_code)
    if code is ErrorCode.NONE:
        return
    if code is ErrorCode.ILLEGAL_SASL_STATE:
        step = "set security.protocol to PLAINTEXT or SSL, or use the address of a listener with SASL"
        raise SecurityFailure(code, "this listener asks for no SASL", step)
    offered = ", ".join(said.mechanisms) or "none"
    step = "set sasl.mechanism to one that it offers"
    raise SecurityFailure(code, f"the broker does not offer {mechanism}; it offers {offered}", step)
