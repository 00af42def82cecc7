"""A connection with TLS, to a server in memory: bytes that come in any pieces, and every way in which it can fail."""

import ssl
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from tests.support.certificates import A_DAY, Authority
from tests.unit.client.test_connection import NODE, RANGES, Broker, versions

from tidelog.client.connection import Connection
from tidelog.client.errors import ClientError
from tidelog.client.security.access import Access
from tidelog.client.security.security import Pem, Security, TlsSettings
from tidelog.client.security.tls_context import _file
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.metadata import MetadataRequest, MetadataResponse
from tidelog.protocol.server_connection import Request, encode_response

OURS, STRANGER = Authority("ours"), Authority("a stranger")
BROKER = OURS.sign("broker", NODE.host)
CLIENT = OURS.sign("client")


def trusting(authority: Authority = OURS, shown: tuple[str, str] | None = None, **changes: Any) -> Access:
    chain, key = shown or (None, None)
    tls = TlsSettings(
        Pem("ssl.truststore.certificates", text=authority.pem),
        chain and Pem("ssl.keystore.certificate.chain", text=chain),  # type: ignore[arg-type]
        key and Pem("ssl.keystore.key", text=key),  # type: ignore[arg-type]
        **changes,
    )
    return Access(Security(tls))


class TlsBroker(Broker):
    """A broker with TLS between its protocol and the network."""

    def __init__(
        self,
        access: Access,
        shown: tuple[str, str] = BROKER,
        *,
        wants: Authority | None = None,
        version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3,
        piece_bytes: int = 1 << 20,
    ) -> None:
        super().__init__()
        self.piece_bytes = piece_bytes
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.maximum_version = version
        with _file("".join(shown).encode()) as path:
            context.load_cert_chain(path)
        if wants is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(cadata=wants.pem)
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_side=True)
        self.connection = Connection(self, NODE, "me", access)
        self.outcomes: list[Any] = []
        self.connection.send(MetadataRequest(topics=[]), self.outcomes.append, 1_000)

    def send(self, _connection: Any, parts: list[Any]) -> bool:
        for part in parts:
            self.incoming.write(part)
        return True

    def agree(self) -> None:
        """Exchange handshake messages until neither side has more to send."""
        self.receiver.connected()
        for _ in range(4):
            try:
                self.tls.do_handshake()
            except ssl.SSLWantReadError:
                pass
            except ssl.SSLError:
                self.deliver()
                return
            self.deliver()

    def deliver(self) -> None:
        rest = self.outgoing.read()
        while rest and not self.connection.is_closed:
            room = self.receiver.writable()
            piece, rest = rest[: self.piece_bytes], rest[self.piece_bytes :]
            room[: len(piece)] = piece
            self.receiver.received(len(piece))

    def serve(self, message: object) -> None:
        self.protocol.receive.feed(self.read())
        request = self.request()
        assert isinstance(request, Request)
        for part in encode_response(request.correlation_id, message, request.api_version):
            self.tls.write(part)
        self.deliver()
        self.connection.advance(self.clock.monotonic_ms())

    def read(self) -> bytes:
        """Return all the bytes that have arrived."""
        pieces = []
        with suppress(ssl.SSLWantReadError):
            while True:
                pieces.append(self.tls.read(1 << 16))
        return b"".join(pieces)


def error_of(broker: TlsBroker) -> ClientError:
    (error,) = broker.outcomes
    assert isinstance(error, ClientError)
    assert broker.connection.is_closed
    return error


@pytest.mark.parametrize("piece_bytes", [1, 100, 1 << 20])
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_requests_and_responses_of_any_size(piece_bytes: int, version: ssl.TLSVersion) -> None:
    access = trusting(shown=CLIENT)
    broker = TlsBroker(access, wants=OURS, version=version, piece_bytes=piece_bytes)
    broker.agree()
    broker.serve(versions(RANGES))
    broker.serve(MetadataResponse(brokers=[], topics=[], cluster_id="c" * 30_000))
    assert broker.outcomes[0].cluster_id == "c" * 30_000


def test_large_requests_are_encrypted_part_by_part() -> None:
    broker = TlsBroker(trusting())
    broker.agree()
    broker.serve(versions(RANGES))
    broker.read()
    parts = [b"small", b"s", b"L" * 50_000, b"end"]
    assert broker.connection._network.send(broker.connection._id, parts)  # type: ignore[arg-type]
    assert broker.read() == b"".join(parts)


@pytest.mark.parametrize(
    ("access", "shown", "texts"),
    [
        (trusting(STRANGER), BROKER, ("not to be trusted", "ssl.truststore.location")),
        (trusting(), OURS.sign("broker", "other"), ("not for host", "ssl.endpoint.identification.algorithm")),
        (trusting(), OURS.sign("broker", "10.0.0.1"), ("not for host", "ssl.endpoint.identification.algorithm")),
        (trusting(), OURS.sign("b", NODE.host, valid_from=-2 * A_DAY, valid_to=-A_DAY), ("expired", "renew")),
        (trusting(), OURS.sign("b", NODE.host, valid_from=A_DAY, valid_to=2 * A_DAY), ("not valid yet", "renew")),
    ],
)
def test_brokers_that_we_do_not_trust(access: Access, shown: tuple[str, str], texts: tuple[str, ...]) -> None:
    broker = TlsBroker(access, shown)
    broker.agree()
    assert error_of(broker).code is ErrorCode.INVALID_CONFIG
    assert not error_of(broker).is_retriable
    for text in texts:
        assert text in str(error_of(broker))


def test_a_brokers_own_certificate_may_be_what_is_trusted() -> None:
    own = Access(Security(TlsSettings(Pem("ssl.truststore.certificates", text=BROKER[0]))))
    broker = TlsBroker(own)
    broker.agree()
    broker.serve(versions(RANGES))
    assert broker.connection.is_ready


def test_without_the_check_of_the_host() -> None:
    broker = TlsBroker(trusting(checks_host=False), OURS.sign("broker", "other"))
    broker.agree()
    broker.serve(versions(RANGES))
    assert broker.connection.is_ready


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (None, "asks for a certificate of ours; set ssl.keystore.location"),
        (STRANGER.sign("client"), "does not take our certificate"),
        (OURS.sign("client", valid_to=-timedelta(hours=1)), "does not take our certificate"),
    ],
)
def test_brokers_that_do_not_trust_us(shown: tuple[str, str] | None, text: str, version: ssl.TLSVersion) -> None:
    broker = TlsBroker(trusting(shown=shown), wants=OURS, version=version)
    broker.agree()
    assert text in str(error_of(broker))


def test_versions_that_do_not_meet() -> None:
    broker = TlsBroker(trusting(protocols=("TLSv1.3",)), version=ssl.TLSVersion.TLSv1_2)
    broker.agree()
    assert "ssl.enabled.protocols" in str(error_of(broker))


def test_a_listener_without_tls() -> None:
    broker = TlsBroker(trusting())
    broker.receiver.connected()
    broker.outgoing.write(b"\0\0\0\x10 not a record of TLS")
    broker.deliver()
    assert "speaks no TLS; set security.protocol" in str(error_of(broker))


def test_bytes_that_are_damaged_later_on_are_tried_again_on_another_connection() -> None:
    broker = TlsBroker(trusting())
    broker.agree()
    broker.serve(versions(RANGES))
    broker.serve(MetadataResponse(brokers=[], topics=[], cluster_id="c"))
    broker.outcomes.clear()
    broker.connection.send(MetadataRequest(topics=[]), broker.outcomes.append, 1_000)
    broker.outgoing.write(b"\x17\x03\x03\0\x20" + bytes(32))
    broker.deliver()
    assert error_of(broker).is_retriable


def test_a_listener_that_hangs_up_during_the_handshake() -> None:
    broker = TlsBroker(trusting())
    broker.receiver.connected()
    broker.receiver.closed("closed by the peer")
    assert error_of(broker).is_retriable
    assert "security.protocol" in str(error_of(broker))


def test_the_end_of_tls_is_the_end_of_the_connection() -> None:
    broker = TlsBroker(trusting())
    broker.agree()
    broker.serve(versions(RANGES))
    broker.read()
    with pytest.raises(ssl.SSLWantReadError):
        broker.tls.unwrap()
    broker.deliver()
    assert error_of(broker).is_retriable
    assert "closed by the peer" in str(error_of(broker))
