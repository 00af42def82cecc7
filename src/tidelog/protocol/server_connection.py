"""The broker's side of a connection, without the socket: bytes in, requests out; responses in, bytes out in order.

    bytes    -> receive.writable / commit -> next_event -> Request             -> decode_request, handle
                                                        -> UnsupportedRequest  -> answer with an error
                                                        -> ProtocolError       -> close
    response -> respond -> parts that may leave now (in request order)

A frame is looked at when it is asked for, one at a time, so that how the bytes were cut on their way here makes no
difference. A request that cannot be served (unknown API or version) is an event, not an error: the peer is owed an
answer. After a ProtocolError from `next_event` the stream is not trusted any more and every further call raises.

`MAX_IN_FLIGHT` bounds the responses that can be held back by a slow one: at the limit `next_event` gives nothing and
`wants_bytes` is false, and TCP makes the peer wait.
"""

from dataclasses import dataclass
from struct import Struct
from typing import Any

from tidelog.protocol.api import ServedRequests, response_header_version
from tidelog.protocol.codec import decode, encode_parts
from tidelog.protocol.errors import MalformedMessage, ProtocolError
from tidelog.protocol.framing import ReceiveBuffer, framed
from tidelog.protocol.response_order import ResponseOrder
from tidelog.protocol.varint import read_varint, skip_tagged_fields

# A Java producer has 5 in flight, librdkafka up to a million (of which most are in its socket). What is not read here
# waits in the socket's buffers, so more would only cost memory.
MAX_IN_FLIGHT = 1_000
# How many tagged fields of a header are passed over: Kafka has none so far, and to pass over millions takes seconds.
MAX_HEADER_TAGS = 100

# Both headers are read and written with every frame, so they are spelled out here; `headers` declares them, and a
# test holds the two against each other.
_HEADER = Struct(">hhih")  # api key, api version, correlation id, length of the client id
_RESPONSE_HEADERS = (Struct(">i"), Struct(">ix"))  # correlation id; from version 1 on no tagged fields


@dataclass(slots=True)
class Request:
    """A request whose header was read. Its body lies in `buffer` from `position` to `end`."""

    sequence: int
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    buffer: bytearray
    position: int
    end: int


@dataclass(slots=True)
class UnsupportedRequest:
    """A request of an API, or of a version of one, that is not served. What its body means is not known."""

    sequence: int
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    buffer: bytearray
    position: int
    end: int


class ServerConnection:
    def __init__(
        self,
        served: ServedRequests,
        receive: ReceiveBuffer | None = None,
        max_in_flight: int = MAX_IN_FLIGHT,
    ) -> None:
        self.served = served
        self.receive = receive or ReceiveBuffer()
        self.max_in_flight = max_in_flight
        self._order = ResponseOrder()
        self._failure: ProtocolError | None = None
        self._client_id_bytes = b""
        self._client_id = ""

    @property
    def in_flight(self) -> int:
        """The number of requests handed out whose response has not left."""
        return len(self._order)

    @property
    def opened_total(self) -> int:
        """The number of requests that were ever handed out."""
        return self._order.opened_total

    @property
    def held_bytes(self) -> int:
        """The bytes of responses in memory that are complete and wait for an earlier one."""
        return self._order.held_bytes

    @property
    def wants_bytes(self) -> bool:
        """Tell whether to go on reading from the socket."""
        return self._failure is None and len(self._order) < self.max_in_flight

    def next_event(self) -> Request | UnsupportedRequest | None:
        """Return the next request, or None until more bytes (or, at the limit, responses) have come."""
        if self._failure is not None:
            raise self._failure
        if len(self._order) >= self.max_in_flight:
            return None
        try:
            found = self.receive.next_frame()
            return None if found is None else self.open(*found)
        except ProtocolError as failure:
            self._failure = failure
            raise

    def open(self, start: int, end: int) -> Request | UnsupportedRequest:
        """Return the request in a frame of the receive buffer; for owners that look at frames themselves first."""
        buffer = self.receive.buffer
        if end - start < _HEADER.size:
            raise MalformedMessage("RequestHeader: ends too early", end)
        api_key, version, correlation_id, length = _HEADER.unpack_from(buffer, start)
        position = start + _HEADER.size
        client_id = None if length == -1 else self._read_client_id(position, length, end)
        position += max(length, 0)
        header_version = self.served.header_version(api_key, version)
        if header_version is None:
            sequence = self._order.open()
            return UnsupportedRequest(sequence, api_key, version, correlation_id, client_id, buffer, position, end)
        if header_version == 2:
            position = self._skip_header_tags(position, end)
        return Request(self._order.open(), api_key, version, correlation_id, client_id, buffer, position, end)

    def _read_client_id(self, position: int, length: int, end: int) -> str:
        if not position <= position + length <= end:
            raise MalformedMessage(f"RequestHeader.client_id: a length of {length}", position)
        raw = self.receive.buffer[position : position + length]
        if raw != self._client_id_bytes:  # the same in every request of nearly every client
            try:
                self._client_id = raw.decode()
            except UnicodeDecodeError:
                raise MalformedMessage("RequestHeader.client_id: not UTF-8", position) from None
            self._client_id_bytes = bytes(raw)
        return self._client_id

    def _skip_header_tags(self, position: int, end: int) -> int:
        if position < end and self.receive.buffer[position] == 0:
            return position + 1
        try:
            count, _ = read_varint(self.receive.buffer, position)
            if count > MAX_HEADER_TAGS:
                raise MalformedMessage(
                    f"RequestHeader: {count} tagged fields, {MAX_HEADER_TAGS} are the most", position
                )
            after = skip_tagged_fields(self.receive.buffer, position, end)
        except IndexError:
            after = end + 1
        if after > end:
            raise MalformedMessage("RequestHeader: ends too early", end)
        return after

    def open_unread(self) -> int:
        """Return the sequence number of a request whose frame the owner has read by itself."""
        return self._order.open()

    def abandon(self) -> list[Any]:
        """Return the parts of all responses that were held back, to be let go of: the peer is gone."""
        return self._order.abandon()

    def respond(self, sequence: int, parts: list[Any]) -> list[Any]:
        """Complete a request with the frame that answers it (see `encode_response`), or with no parts where it gets no
        answer. Return the parts that may leave now, in order."""
        return self._order.complete(sequence, parts)


def decode_request(request: Request, cls: type) -> Any:
    """Return the body. Records in it are views of the receive buffer, which may be changed in place. Bytes after it are
    passed over, as Kafka does: a client that pads its requests works there, so it has to work here."""
    body: Any
    body, _ = decode(cls, request.buffer, request.api_version, request.position, request.end)
    return body


def encode_response(correlation_id: int, response: object, version: int) -> list[Any]:
    """Return a whole response frame: size, header, body; records in it as parts of their own."""
    return framed_response(correlation_id, encode_parts(response, version), type(response), version)


def framed_response(correlation_id: int, parts: list[Any], cls: type, version: int) -> list[Any]:
    """Return the frame of a response of this class whose body was encoded."""
    return framed(_RESPONSE_HEADERS[response_header_version(cls, version)].pack(correlation_id), parts)
