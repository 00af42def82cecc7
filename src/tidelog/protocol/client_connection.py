"""The client's side of a connection, without the socket: requests in, bytes out; bytes in, responses out.

    request -> send -> parts for the socket, and the request is in flight
    bytes   -> receive.writable / commit -> next_response -> Response        (the oldest request in flight, answered)
                                                          -> ProtocolError   (close)

A broker answers in order, so the only correlation id that can come is that of the oldest request in flight. Another
one means that the two sides no longer agree on what is being answered; no response after it can be trusted.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from struct import Struct
from typing import Any

from tidelog.model.errors import ErrorCode
from tidelog.protocol.api import ApiKey, request_header_version, response_header_version
from tidelog.protocol.codec import decode, encode, encode_parts
from tidelog.protocol.errors import CorrelationMismatch, ProtocolError
from tidelog.protocol.framing import ReceiveBuffer, framed
from tidelog.protocol.headers import RequestHeader, ResponseHeader
from tidelog.protocol.schema import schema_of

# How many requests a client keeps for a broker that has stopped answering. Our own clients send a handful at a time.
MAX_IN_FLIGHT = 1_000
_LAST_CORRELATION_ID = 0x7FFF_FFFF
_ERROR_CODE = Struct(">h")


class TooManyInFlight(ProtocolError):
    """The error for a request while the broker owes as many responses as the connection will wait for."""


@dataclass(slots=True)
class InFlight:
    correlation_id: int
    api_key: int
    version: int


@dataclass(slots=True)
class Response:
    correlation_id: int
    api_key: int
    version: int  # of the body: what was asked for, but 0 where a broker does not know that version of ApiVersions
    message: Any


class ClientConnection:
    def __init__(
        self,
        responses: Mapping[int, type],
        client_id: str | None = None,
        receive: ReceiveBuffer | None = None,
        max_in_flight: int = MAX_IN_FLIGHT,
    ) -> None:
        """`responses` is the class that answers each API."""
        self.responses = responses
        self.client_id = client_id
        self.receive = receive or ReceiveBuffer()
        self.max_in_flight = max_in_flight
        self._in_flight: deque[InFlight] = deque()
        self._next_correlation_id = 0
        self._failure: ProtocolError | None = None

    @property
    def in_flight(self) -> int:
        return len(self._in_flight)

    def send(self, request: object, version: int, *, expect_response: bool = True) -> list[Any]:
        """Return the frame of a request. `expect_response` is false for what a broker does not answer: produce with
        acks=0."""
        if self._failure is not None:
            raise self._failure
        if len(self._in_flight) >= self.max_in_flight:
            raise TooManyInFlight(f"{len(self._in_flight)} requests are waiting for their response")
        api_key, correlation_id = schema_of(type(request)).api_key, self._next_correlation_id
        header = RequestHeader(
            request_api_key=api_key,
            request_api_version=version,
            correlation_id=correlation_id,
            client_id=self.client_id,
        )
        head = encode(header, request_header_version(type(request), version))
        parts = framed(head, encode_parts(request, version))
        self._next_correlation_id = 0 if correlation_id == _LAST_CORRELATION_ID else correlation_id + 1
        if expect_response:
            self._in_flight.append(InFlight(correlation_id, api_key, version))
        return parts

    def next_response(self) -> Response | None:
        """Return the next response, or None until more bytes have come. Records in it are views of the receive
        buffer."""
        if self._failure is not None:
            raise self._failure
        try:
            found = self.receive.next_frame()
            return None if found is None else self._open(*found)
        except ProtocolError as failure:
            self._failure = failure
            raise

    def _open(self, start: int, end: int) -> Response:
        buffer = self.receive.buffer
        header, _ = decode(ResponseHeader, buffer, 0, start, end)
        due = self._in_flight[0] if self._in_flight else None
        if due is None or due.correlation_id != header.correlation_id:
            raise CorrelationMismatch(due.correlation_id if due else None, header.correlation_id)
        cls = self.responses[due.api_key]
        _, position = decode(ResponseHeader, buffer, response_header_version(cls, due.version), start, end)
        version = self._body_version(due, position, end)
        message: Any
        message, _ = decode(
            cls, buffer, version, position, end
        )  # bytes after it are passed over, as Kafka's clients do
        self._in_flight.popleft()
        return Response(due.correlation_id, due.api_key, version, message)

    def _body_version(self, due: InFlight, position: int, end: int) -> int:
        """Return the version of a response's body. A broker that does not know the version of an ApiVersions request
        answers in version 0, which begins with the error code as every version does."""
        if due.api_key == ApiKey.API_VERSIONS and end - position >= _ERROR_CODE.size:
            (error,) = _ERROR_CODE.unpack_from(self.receive.buffer, position)
            if error == ErrorCode.UNSUPPORTED_VERSION:
                return 0
        return due.version
