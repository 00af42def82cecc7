"""A connection for fetching and nothing else: a blocking socket, and responses straight into memory of their own.

`recv` with MSG_WAITALL lets the kernel fill one `bytes` object with a whole response, in one call and without a copy
by us, which a reactor that receives whatever is there into a shared buffer cannot do. It asks for a socket that really
blocks, so that the time limit is the kernel's (SO_RCVTIMEO) and begins when we begin to wait: a response may lie in
the socket for as long as the caller likes.
"""

import socket
from struct import Struct, pack
from typing import Final

from tidelog.client.connection import CONNECT_TIMEOUT_MS, SOFTWARE_NAME, SOFTWARE_VERSION
from tidelog.client.errors import UnsupportedByBroker
from tidelog.client.fetch.fetch_reply import FetchReply, read_reply
from tidelog.client.metadata import Node
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import ZERO_UUID
from tidelog.protocol.api import ApiKey, request_header_version
from tidelog.protocol.codec import decode, encode, encode_parts
from tidelog.protocol.errors import CorrelationMismatch, InvalidFrameSize
from tidelog.protocol.framing import framed
from tidelog.protocol.headers import RequestHeader
from tidelog.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tidelog.protocol.messages.fetch import FetchRequest
from tidelog.protocol.schema import schema_of
from tidelog.protocol.versions import Versions

# Brokers exceed the size that was asked for only to send a single large batch. What is beyond this is no fetch
# response, but another protocol's bytes read as a size.
FRAME_BYTES_MAX: Final = 1 << 30
_BY_NAME_MAX: Final = 12  # later versions name topics by their ids only
_SIZE: Final = Struct(">i")
_ERROR_CODE: Final = Struct(">ih")  # correlation id, error code: what every response to ApiVersions begins with


class FetchLink:
    def __init__(self, connected: socket.socket, node: Node, client_id: str, timeout_ms: int) -> None:
        """Wrap a connected socket. `timeout_ms`: how long to wait for more of a response."""
        self.node = node
        self._socket = connected
        self._client_id = client_id
        self._timeout_ms = timeout_ms
        self._correlation_id = 0
        self._version = 0  # of the request that is in flight
        self._served = Versions(0, 0)
        self._ranges: dict[int, Versions] = {}  # versions that the broker serves, by API

    def negotiate(self, served: Versions | None = None) -> None:
        """Find out which versions of Fetch the broker serves, unless `served` tells. UnsupportedByBroker where we know
        none of them."""
        if served is None:
            self._ranges = self._versions(schema_of(ApiVersionsRequest).versions.highest)
            served = self._ranges.get(ApiKey.FETCH, Versions(-1, -1))
        self._served = served
        ours = schema_of(FetchRequest).versions
        if not ours.intersection(self._served):
            message = f"it serves versions {self._served} of Fetch, we know {ours}"
            raise UnsupportedByBroker(ErrorCode.UNSUPPORTED_VERSION, "fetch", str(self.node), message)

    def _versions(self, asked_version: int) -> dict[int, Versions]:
        request = ApiVersionsRequest(client_software_name=SOFTWARE_NAME, client_software_version=SOFTWARE_VERSION)
        self._send(request, asked_version)
        frame = self._receive()
        answered, error_code = _ERROR_CODE.unpack_from(frame)
        if answered != self._correlation_id:
            raise CorrelationMismatch(self._correlation_id, answered)
        is_refused = error_code == ErrorCode.UNSUPPORTED_VERSION
        response, _ = decode(ApiVersionsResponse, frame, 0 if is_refused else asked_version, _SIZE.size)
        served = {each.api_key: Versions(each.min_version, each.max_version) for each in response.api_keys}
        if is_refused and asked_version:
            highest = served.get(ApiKey.API_VERSIONS, Versions(0, 0)).highest
            return self._versions(max(0, min(highest, asked_version - 1)))
        return served

    @property
    def takes_ids(self) -> bool:
        """Tell whether the broker can be told by id which topic is meant. An older broker goes by the name, and the
        topic of that name may be another by now."""
        return self._served.highest > _BY_NAME_MAX

    def ask(self, request: FetchRequest) -> None:
        """Send a fetch of one partition. One request at a time may be in flight."""
        highest = self._served.intersection(schema_of(FetchRequest).versions).highest
        is_by_name = request.topics[0].topic_id == ZERO_UUID
        self._version = min(highest, _BY_NAME_MAX) if is_by_name else highest
        self._send(request, self._version)

    def answer(self) -> tuple[bytes, FetchReply]:
        """Return the frame and where its parts are. OSError where the connection is gone or time runs out,
        ProtocolError where the answer makes no sense."""
        frame = self._receive()
        return frame, read_reply(frame, self._version, self._correlation_id)

    def close(self) -> None:
        self._socket.close()

    def _send(self, request: object, version: int) -> None:
        self._correlation_id = (self._correlation_id + 1) & 0x7FFF_FFFF
        header = RequestHeader(
            request_api_key=schema_of(type(request)).api_key,
            request_api_version=version,
            correlation_id=self._correlation_id,
            client_id=self._client_id,
        )
        head = encode(header, request_header_version(type(request), version))
        self._socket.sendall(b"".join(framed(head, encode_parts(request, version))))

    def _receive(self) -> bytes:
        (size,) = _SIZE.unpack(self._receive_exactly(_SIZE.size))
        if not _ERROR_CODE.size <= size <= FRAME_BYTES_MAX:
            raise InvalidFrameSize(size, FRAME_BYTES_MAX)
        return self._receive_exactly(size)

    def _receive_exactly(self, count: int) -> bytes:
        """Receive `count` bytes, in one call unless a signal or a pause comes in between."""
        received = self._receive_some(count)
        if len(received) == count:
            return received
        pieces, missing = [received], count - len(received)
        while missing:
            pieces.append(self._receive_some(missing))
            missing -= len(pieces[-1])
        return b"".join(pieces)

    def _receive_some(self, count: int) -> bytes:
        try:
            received = self._socket.recv(count, socket.MSG_WAITALL)
        except BlockingIOError:
            raise self._too_late() from None
        if not received:
            raise self._gone()
        return received

    def _too_late(self) -> TimeoutError:
        return TimeoutError(f"no answer within {self._timeout_ms / 1000:g} s")

    def _gone(self) -> ConnectionError:
        return ConnectionError("it closed the connection")


def open_link(node: Node, client_id: str, timeout_ms: int, *, served: Versions | None = None) -> FetchLink:
    """Return a link that is connected and has negotiated. OSError, ProtocolError or UnsupportedByBroker where that is
    not possible. `served`: the versions of Fetch that the broker serves, where somebody has negotiated before."""
    connected = socket.create_connection((node.host, node.port), min(timeout_ms, CONNECT_TIMEOUT_MS) / 1000)
    link = FetchLink(connected, node, client_id, timeout_ms)
    try:
        make_blocking(connected, timeout_ms)
        link.negotiate(served)
    except BaseException:
        link.close()
        raise
    return link


def make_blocking(connected: socket.socket, timeout_ms: int) -> None:
    connected.settimeout(None)
    limit = pack("@ll", timeout_ms // 1000, timeout_ms % 1000 * 1000)
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
