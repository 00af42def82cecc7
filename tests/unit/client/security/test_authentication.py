"""A connection with SASL: the order of its requests, which of them wait, when it authenticates again, and why it
ends."""

from typing import Any

import pytest
from tests.unit.client.test_connection import NODE, Broker, versions

from tidelog.client.connection import CONNECT_TIMEOUT_MS, Connection
from tidelog.client.errors import ClientError
from tidelog.client.security.access import Access
from tidelog.client.security.security import SaslSettings, Security
from tidelog.model.errors import ErrorCode
from tidelog.protocol.codec import decode
from tidelog.protocol.messages.metadata import MetadataRequest, MetadataResponse
from tidelog.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from tidelog.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from tidelog.protocol.schema import schema_of
from tidelog.protocol.server_connection import Request

RANGES = [(3, 0, 12), (17, 0, 1), (18, 0, 4), (36, 0, 2)]
SESSION_MS = 100_000
RENEW_MS = 85_000


class SaslBroker(Broker):
    def __init__(self, mechanism: str = "PLAIN", ranges: list[tuple[int, int, int]] = RANGES) -> None:
        super().__init__()
        access = Access(Security(sasl=SaslSettings(mechanism, "alice", "secret")))
        self.connection = Connection(self, NODE, "me", access)
        self.outcomes: list[Any] = []
        self.connection.send(MetadataRequest(topics=[]), self.outcomes.append, 200_000)
        self.receiver.connected()
        self.say(self.request(), versions(ranges))

    def next(self, kind: type) -> Request:
        request = self.request()
        assert isinstance(request, Request)
        assert request.api_key == schema_of(kind).api_key
        return request

    def token(self) -> tuple[Request, bytes]:
        request = self.next(SaslAuthenticateRequest)
        assert request.api_version == 2
        found, _ = decode(SaslAuthenticateRequest, request.buffer, 2, request.position, request.end)
        return request, bytes(found.auth_bytes)

    def say(self, request: Any, message: object) -> None:
        self.answer(request, message)
        self.connection.advance(self.clock.monotonic_ms())

    def let_in(self, lifetime_ms: int = 0) -> None:
        handshake = self.next(SaslHandshakeRequest)
        found, _ = decode(SaslHandshakeRequest, handshake.buffer, 1, handshake.position, handshake.end)
        assert (handshake.api_version, found.mechanism) == (1, "PLAIN")
        self.say(handshake, SaslHandshakeResponse(error_code=0, mechanisms=["PLAIN"]))
        request, token = self.token()
        assert token == b"\0alice\0secret"
        self.say(request, authenticated(lifetime_ms=lifetime_ms))


def authenticated(code: int = 0, said: str | None = None, lifetime_ms: int = 0) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(
        error_code=code, error_message=said, auth_bytes=b"", session_lifetime_ms=lifetime_ms
    )


def metadata() -> MetadataResponse:
    return MetadataResponse(brokers=[], cluster_id="c", topics=[])


def refusal(broker: SaslBroker) -> ClientError:
    (outcome,) = broker.outcomes
    assert isinstance(outcome, ClientError)
    assert broker.connection.is_closed
    assert "secret" not in str(outcome)
    return outcome


def test_requests_wait_until_we_are_let_in() -> None:
    broker = SaslBroker()
    assert not broker.connection.is_ready
    broker.let_in()
    broker.say(broker.next(MetadataRequest), metadata())
    assert broker.outcomes[0].cluster_id == "c"
    broker.clock.advance(10 * SESSION_MS)
    broker.connection.send(MetadataRequest(topics=[]), broker.outcomes.append, 1_000)
    broker.next(MetadataRequest)  # a session without an end is not renewed


def test_a_session_is_renewed_before_it_is_over_and_requests_wait_meanwhile() -> None:
    broker = SaslBroker()
    broker.let_in(SESSION_MS)
    owed = broker.next(MetadataRequest)
    broker.clock.advance(RENEW_MS)
    broker.connection.advance(broker.clock.monotonic_ms())
    broker.connection.send(MetadataRequest(topics=[]), broker.outcomes.append, 200_000)
    assert not broker.connection.is_ready
    broker.say(owed, metadata())
    assert len(broker.outcomes) == 1
    broker.let_in(SESSION_MS)
    broker.say(broker.next(MetadataRequest), metadata())
    assert len(broker.outcomes) == 2


def test_a_session_that_nobody_looked_at_is_renewed_before_the_next_request() -> None:
    broker = SaslBroker()
    broker.let_in(SESSION_MS)
    broker.say(broker.next(MetadataRequest), metadata())
    broker.clock.advance(2 * SESSION_MS)
    broker.connection.send(MetadataRequest(topics=[]), broker.outcomes.append, 1_000)
    broker.let_in(SESSION_MS)
    broker.next(MetadataRequest)


def test_a_broker_that_does_not_answer() -> None:
    broker = SaslBroker()
    broker.clock.advance(CONNECT_TIMEOUT_MS)
    broker.connection.advance(broker.clock.monotonic_ms())
    assert refusal(broker).code is ErrorCode.REQUEST_TIMED_OUT


@pytest.mark.parametrize(
    ("code", "mechanisms", "text"),
    [
        (ErrorCode.UNSUPPORTED_SASL_MECHANISM, ["GSSAPI", "PLAIN"], "it offers GSSAPI, PLAIN; set sasl.mechanism"),
        (ErrorCode.ILLEGAL_SASL_STATE, [], "no SASL; set security.protocol"),
    ],
)
def test_a_handshake_that_fails(code: ErrorCode, mechanisms: list[str], text: str) -> None:
    broker = SaslBroker("SCRAM-SHA-256")
    broker.say(broker.next(SaslHandshakeRequest), SaslHandshakeResponse(error_code=code, mechanisms=mechanisms))
    assert refusal(broker).code is code
    assert text in str(refusal(broker))
    assert not refusal(broker).is_retriable


def test_a_password_that_is_wrong() -> None:
    broker = SaslBroker()
    broker.say(broker.next(SaslHandshakeRequest), SaslHandshakeResponse(error_code=0, mechanisms=[]))
    code = ErrorCode.SASL_AUTHENTICATION_FAILED
    broker.say(broker.next(SaslAuthenticateRequest), authenticated(code, "no such user"))
    assert refusal(broker).code is code
    assert "no such user; see user and password in sasl.jaas.config" in str(refusal(broker))


def test_a_broker_that_lets_everybody_in_without_knowing_the_password() -> None:
    broker = SaslBroker("SCRAM-SHA-256")
    broker.say(broker.next(SaslHandshakeRequest), SaslHandshakeResponse(error_code=0, mechanisms=[]))
    first, token = broker.token()
    nonce = token.rpartition(b"r=")[2]
    challenge = authenticated()
    challenge.auth_bytes = b"r=" + nonce + b"theirs,s=c2FsdA==,i=4096"
    broker.say(first, challenge)
    final = authenticated()
    final.auth_bytes = b"v=" + b"A" * 43 + b"="
    broker.say(broker.next(SaslAuthenticateRequest), final)
    assert refusal(broker).code is ErrorCode.SASL_AUTHENTICATION_FAILED
    assert "did not show that it knows the password" in str(refusal(broker))


def test_a_broker_without_sasl_requests() -> None:
    broker = SaslBroker(ranges=[(3, 0, 12), (18, 0, 4)])
    assert refusal(broker).code is ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.parametrize("is_heard", [False, True])
def test_a_listener_that_may_want_security_is_a_guess_only_until_it_has_answered(is_heard: bool) -> None:
    broker = Broker()
    outcomes: list[Any] = []
    connection = Connection(broker, NODE, "me")
    for _ in range(2):
        connection.send(MetadataRequest(topics=[]), outcomes.append, 1_000)
    broker.negotiate(connection)
    if is_heard:
        broker.answer(broker.request(), metadata())
        connection.advance(broker.clock.monotonic_ms())
    broker.receiver.closed("closed by the peer")
    assert ("is it a listener of security.protocol PLAINTEXT?" in str(outcomes[-1])) is not is_heard
