"""The fetch link over TLS and with SASL, to a server of the test's own."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from struct import pack, unpack

import pytest
from tests.support.certificates import Authority
from tests.unit.client.fetch.test_fetch_link import request, versions
from tests.unit.client.fetch_log import PLACE, FetchLog

from tidelog.client.errors import ClientError, UnsupportedByBroker
from tidelog.client.fetch.fetch_link import FetchLink
from tidelog.client.fetch.fetch_security import open_secured
from tidelog.client.metadata import Node
from tidelog.client.security.access import Access
from tidelog.client.security.security import Pem, SaslSettings, Security, TlsSettings
from tidelog.client.security.tls_context import _file
from tidelog.model.errors import ErrorCode
from tidelog.protocol.codec import encode
from tidelog.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from tidelog.protocol.messages.sasl_handshake import SaslHandshakeResponse

OURS = Authority("ours")
BROKER = OURS.sign("broker", "127.0.0.1")
TIMEOUT_MS = 10_000
PLAIN = SaslSettings("PLAIN", "alice", "secret")
SERVED = ((1, 4, 18), (17, 0, 1), (36, 0, 2))
LARGE = b"x" * 100_000


def tls(authority: Authority = OURS) -> TlsSettings:
    return TlsSettings(Pem("ssl.truststore.certificates", text=authority.pem))


class Server:
    """A server that answers a link's requests, one connection after the other, and remembers their APIs."""

    def __init__(self, listener: socket.socket, context: ssl.SSLContext | None) -> None:
        self.port = listener.getsockname()[1]
        self.asked: list[int] = []
        self.session_ms = 0
        self.code = 0
        self.served: tuple[tuple[int, int, int], ...] = SERVED
        self._listener = listener
        self._context = context

    def run(self) -> None:
        with suppress(OSError):  # the listener is closed at the end, a client may go at any time
            while True:
                accepted, _ = self._listener.accept()
                with accepted, suppress(OSError):
                    if self._context is not None:
                        accepted = self._context.wrap_socket(accepted, server_side=True)
                    with accepted:
                        self._serve(accepted)

    def _serve(self, connected: socket.socket) -> None:
        while head := connected.recv(4):
            (size,) = unpack(">i", head)
            frame = b""
            while len(frame) < size:
                frame += connected.recv(size - len(frame))
            key, _version, correlation_id = unpack(">hhi", frame[:8])
            self.asked.append(key)
            body = self._answer(key)
            connected.sendall(pack(">ii", len(body) + 4, correlation_id) + body)

    def _answer(self, key: int) -> bytes:
        match key:
            case 18:
                return encode(versions(0, *self.served), 4)
            case 17:
                return encode(SaslHandshakeResponse(error_code=0, mechanisms=[]), 1)
            case 36:
                return self._sasl()
        return b"\0" + encode(FetchLog().response(request()), 18) + LARGE

    def _sasl(self) -> bytes:
        said = SaslAuthenticateResponse(
            error_code=self.code, error_message=None, auth_bytes=b"", session_lifetime_ms=self.session_ms
        )
        return b"\0" + encode(said, 2)

    def open(self, security: Security) -> FetchLink:
        return open_secured(Access(security), Node(1, "127.0.0.1", self.port), "me", TIMEOUT_MS)


@contextmanager
def serving(*, with_tls: bool) -> Iterator[Server]:
    context = None
    if with_tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with _file("".join(BROKER).encode()) as path:
            context.load_cert_chain(path)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Server(listener, context)
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            yield server
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


@pytest.mark.parametrize(
    ("security", "asked"),
    [
        (Security(tls()), [18, 1]),
        (Security(None, PLAIN), [18, 17, 36, 1]),
        (Security(tls(), PLAIN), [18, 17, 36, 1]),
    ],
    ids=["SSL", "SASL_PLAINTEXT", "SASL_SSL"],
)
def test_a_response_comes_whole(security: Security, asked: list[int]) -> None:
    with serving(with_tls=security.tls is not None) as server:
        link = server.open(security)
        link.ask(request())
        frame, reply = link.answer()
        link.close()
    assert frame.endswith(LARGE)
    assert reply.partition == PLACE.partition
    assert server.asked == asked


def test_a_session_is_renewed_before_the_next_request() -> None:
    with serving(with_tls=False) as server:
        server.session_ms = 2
        link = server.open(Security(None, PLAIN))
        server.session_ms = 0
        threading.Event().wait(0.005)
        for _ in range(2):
            link.ask(request())
            link.answer()
        link.close()
    assert server.asked == [18, 17, 36, 17, 36, 1, 1]


def test_a_wrong_password() -> None:
    with serving(with_tls=False) as server:
        server.code = ErrorCode.SASL_AUTHENTICATION_FAILED
        with pytest.raises(ClientError, match=r"SASL_AUTHENTICATION_FAILED.*sasl\.jaas\.config"):
            server.open(Security(None, PLAIN))


def test_a_session_that_is_not_renewed() -> None:
    with serving(with_tls=False) as server:
        server.session_ms = 2
        link = server.open(Security(None, PLAIN))
        server.code = ErrorCode.SASL_AUTHENTICATION_FAILED
        threading.Event().wait(0.005)
        with pytest.raises(ClientError, match="SASL_AUTHENTICATION_FAILED"):
            link.ask(request())
        link.close()


def test_a_broker_without_sasl() -> None:
    with serving(with_tls=False) as server:
        server.served = ((1, 4, 18),)
        with pytest.raises(UnsupportedByBroker, match="no version of SaslHandshake"):
            server.open(Security(None, PLAIN))


def test_a_certificate_that_we_do_not_trust() -> None:
    told = pytest.raises(ClientError, match=r"INVALID_CONFIG.*ssl\.truststore\.location")
    with serving(with_tls=True) as server, told:
        server.open(Security(tls(Authority("a stranger"))))
    assert server.asked == []


def test_a_listener_that_hangs_up_may_do_better_later() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        node = Node(1, "127.0.0.1", listener.getsockname()[1])
        hanging_up = threading.Thread(target=lambda: listener.accept()[0].close())
        hanging_up.start()
        with pytest.raises(OSError, match=r".+") as told:
            open_secured(Access(Security(tls())), node, "me", TIMEOUT_MS)
        hanging_up.join()
    assert not isinstance(told.value, ssl.SSLError)


def test_a_listener_that_says_nothing_costs_the_time_limit_and_no_more() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, pytest.raises(TimeoutError):
        open_secured(Access(Security(tls())), Node(1, "127.0.0.1", listener.getsockname()[1]), "me", 50)
