"""The link that fetches, with TLS or SASL. A part of its own, because the plain one is fast by doing nothing else.

TLS hands out a record of 16 KB at a time, so a response is put together from pieces here; and the time limit is
Python's, because OpenSSL under a socket that blocks would not come back when the kernel's runs out.
"""

import secrets
import socket
import ssl
import time

from tidelog.client.connection import CONNECT_TIMEOUT_MS
from tidelog.client.errors import UnsupportedByBroker
from tidelog.client.fetch.fetch_link import FetchLink, make_blocking
from tidelog.client.metadata import Node
from tidelog.client.security.access import Access
from tidelog.client.security.errors import SecurityFailure
from tidelog.client.security.sasl import NONCE_BYTES, SaslRequest, SaslResponse, authenticate
from tidelog.client.security.security import SaslSettings
from tidelog.client.security.tls_failures import failure_of
from tidelog.client.security.tls_network import TLS_RECORD_BYTES
from tidelog.model.errors import ErrorCode
from tidelog.protocol.api import response_header_version
from tidelog.protocol.codec import decode
from tidelog.protocol.errors import CorrelationMismatch
from tidelog.protocol.headers import ResponseHeader
from tidelog.protocol.messages.fetch import FetchRequest
from tidelog.protocol.messages.registry import RESPONSES
from tidelog.protocol.schema import schema_of
from tidelog.protocol.versions import Versions


def open_secured(access: Access, node: Node, client_id: str, timeout_ms: int) -> FetchLink:
    """Return a link that is connected, authenticated and has negotiated. The errors are those of `open_link`, and a
    ClientError where we are not let in."""
    connected = socket.create_connection((node.host, node.port), min(timeout_ms, CONNECT_TIMEOUT_MS) / 1000)
    try:
        connected = _encrypted(connected, access, node, timeout_ms)
        link = SecuredLink(connected, node, client_id, timeout_ms, access)
        link.negotiate()
    except SecurityFailure as failure:
        connected.close()
        raise failure.as_client_error("fetch", str(node)) from None
    except BaseException:
        connected.close()
        raise
    return link


def _encrypted(connected: socket.socket, access: Access, node: Node, timeout_ms: int) -> socket.socket:
    if access.tls is None:
        make_blocking(connected, timeout_ms)
        return connected
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        encrypted = access.tls.wrap_socket(connected, server_hostname=node.host)
    except (ssl.SSLEOFError, ssl.SSLSyscallError):
        raise ConnectionError("it closed the connection during the TLS handshake") from None
    except ssl.SSLError as error:
        raise failure_of(error, node.host, shows_certificate=access.shows_certificate) from None
    encrypted.settimeout(timeout_ms / 1000)
    return encrypted


class SecuredLink(FetchLink):
    def __init__(self, connected: socket.socket, node: Node, client_id: str, timeout_ms: int, access: Access) -> None:
        super().__init__(connected, node, client_id, timeout_ms)
        self._access = access
        self._renew_s: float | None = None  # when to authenticate again

    def negotiate(self, served: Versions | None = None) -> None:
        """Negotiate, then authenticate. SecurityFailure where the two sides do not come to terms."""
        try:
            super().negotiate(served)
        except ssl.SSLError as error:  # with TLS 1.3, a broker refuses our certificate only now
            shows_certificate = self._access.shows_certificate
            raise failure_of(error, self.node.host, shows_certificate=shows_certificate) from None
        if self._access.sasl is not None:
            self._authenticate(self._access.sasl)

    def ask(self, request: FetchRequest) -> None:
        if self._access.sasl is not None and self._renew_s is not None and time.monotonic() >= self._renew_s:
            try:
                self._authenticate(self._access.sasl)
            except SecurityFailure as failure:
                raise failure.as_client_error("fetch", str(self.node)) from None
        super().ask(request)

    def _authenticate(self, settings: SaslSettings) -> None:
        exchange = authenticate(settings, secrets.token_bytes(NONCE_BYTES))
        request = next(exchange)
        try:
            while True:
                request = exchange.send(self._answer_to(request))
        except StopIteration as done:
            self._renew_s = time.monotonic() + done.value / 1000 if done.value else None

    def _answer_to(self, request: SaslRequest) -> SaslResponse:
        version = self._version_of(type(request))
        self._send(request, version)
        frame = self._receive()
        cls = RESPONSES[schema_of(type(request)).api_key]
        header, position = decode(ResponseHeader, frame, response_header_version(cls, version))
        if header.correlation_id != self._correlation_id:
            raise CorrelationMismatch(self._correlation_id, header.correlation_id)
        response: SaslResponse
        response, _ = decode(cls, frame, version, position)
        return response

    def _version_of(self, request: type) -> int:
        schema = schema_of(request)
        served = self._ranges.get(schema.api_key)
        common = None if served is None else schema.versions.intersection(served)
        if not common:
            message = f"it serves {served or 'no version'} of {request.__name__}, we know {schema.versions}"
            raise UnsupportedByBroker(ErrorCode.UNSUPPORTED_VERSION, "authenticate", str(self.node), message)
        return common.highest

    def _receive_some(self, count: int) -> bytes:
        if self._access.tls is None:
            return super()._receive_some(count)
        try:
            received = self._socket.recv(min(count, TLS_RECORD_BYTES))
        except TimeoutError:
            raise self._too_late() from None
        if not received:
            raise self._gone()
        return received
