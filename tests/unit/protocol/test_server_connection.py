import struct

import pytest
from tests.unit.protocol.exchange import (
    REQUESTS,
    ApiVersionsResponse,
    EchoRequest,
    EchoResponse,
    StoreRequest,
    StoreResponse,
)

from tidelog.protocol.api import ServedRequests
from tidelog.protocol.codec import encode
from tidelog.protocol.errors import InvalidFrameSize, MalformedMessage, ProtocolError
from tidelog.protocol.framing import ReceiveBuffer
from tidelog.protocol.headers import RequestHeader, ResponseHeader
from tidelog.protocol.server_connection import (
    Request,
    ServerConnection,
    UnsupportedRequest,
    decode_request,
    encode_response,
)


def connection(max_in_flight: int = 1000) -> ServerConnection:
    return ServerConnection(ServedRequests(REQUESTS), max_in_flight=max_in_flight)


def frame(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload


def header(key: int, version: int, correlation_id: int, client_id: str | None = "me", flexible: int = 1) -> bytes:
    made = RequestHeader(
        request_api_key=key, request_api_version=version, correlation_id=correlation_id, client_id=client_id
    )
    return encode(made, flexible)


def echo(correlation_id: int, text: str = "hello", client_id: str | None = "me") -> bytes:
    return frame(header(5, 1, correlation_id, client_id, flexible=2) + encode(EchoRequest(text=text), 1))


def next_request(server: ServerConnection) -> Request:
    event = server.next_event()
    assert isinstance(event, Request)
    return event


@pytest.mark.parametrize(("version", "header_version"), [(0, 1), (1, 2)])
@pytest.mark.parametrize("client_id", ["me", "", None])
def test_a_request(version: int, header_version: int, client_id: str | None) -> None:
    server = connection()
    body = encode(EchoRequest(text="hello"), version)
    server.receive.feed(frame(header(5, version, 77, client_id, header_version) + body))
    request = next_request(server)
    assert (request.api_key, request.api_version, request.correlation_id) == (5, version, 77)
    assert request.client_id == client_id
    assert request.buffer[request.position : request.end] == body
    assert decode_request(request, EchoRequest) == EchoRequest(text="hello")
    assert server.next_event() is None


def test_client_ids_that_change_on_one_connection() -> None:
    server = connection()
    ids = ["a", "b", "b", "", "é", None, "a"]
    server.receive.feed(b"".join(echo(index, client_id=name) for index, name in enumerate(ids)))
    assert [next_request(server).client_id for _ in ids] == ids


def test_tagged_fields_of_the_header_are_skipped() -> None:
    server = connection()
    tagged = header(5, 1, 1) + b"\x01\x00\x03???" + encode(EchoRequest(text="hello"), 1)
    server.receive.feed(frame(tagged))
    assert decode_request(next_request(server), EchoRequest).text == "hello"


def test_records_can_be_patched_in_the_receive_buffer() -> None:
    server = connection()
    server.receive.feed(frame(header(6, 0, 1) + encode(StoreRequest(acks=1, batches=b"batch"), 0)))
    store = decode_request(next_request(server), StoreRequest)
    store.batches[:2] = b"BA"
    assert b"BAtch" in server.receive.buffer


@pytest.mark.parametrize(("key", "version"), [(5, 2), (5, -1), (99, 0), (-1, 0), (18, 4), (18, 32767)])
def test_what_is_not_served_is_an_event(key: int, version: int) -> None:
    server = connection()
    server.receive.feed(frame(header(key, version, 8) + b"who knows") + echo(9))
    event = server.next_event()
    assert isinstance(event, UnsupportedRequest)
    assert (event.sequence, event.api_key, event.api_version, event.correlation_id) == (0, key, version, 8)
    assert event.client_id == "me"
    assert bytes(event.buffer[event.position : event.end]).endswith(b"who knows")
    assert next_request(server).correlation_id == 9


def test_an_unknown_version_of_api_versions_can_be_answered_in_version_0() -> None:
    server = connection()
    server.receive.feed(frame(header(18, 9, 4, flexible=2) + b"\x02future"))
    event = server.next_event()
    assert isinstance(event, UnsupportedRequest)
    answer = encode_response(event.correlation_id, ApiVersionsResponse(error_code=35, keys=[18]), 0)
    (sent,) = server.respond(event.sequence, answer)
    assert sent == b"\x00\x00\x00\x0c" + b"\x00\x00\x00\x04" + b"\x00\x23" + b"\x00\x00\x00\x01\x00\x12"


@pytest.mark.parametrize("version", [0, 1])
def test_the_header_that_is_spelled_out_is_the_declared_one(version: int) -> None:
    (sent,) = encode_response(300, EchoResponse(text="hello"), version)
    body = encode(ResponseHeader(correlation_id=300), version) + encode(EchoResponse(text="hello"), version)
    assert sent == frame(body)


def test_records_of_a_response_stay_a_part_of_their_own() -> None:
    batches = memoryview(b"batches")
    head, middle, tail = encode_response(1, StoreResponse(offset=5, batches=batches), 1)
    assert middle is batches
    assert struct.unpack_from(">i", head)[0] == len(head) - 4 + len(middle) + len(tail)


def test_responses_leave_in_the_order_of_the_requests() -> None:
    server = connection()
    server.receive.feed(echo(1) + echo(2) + echo(3))
    first, second, third = (next_request(server) for _ in range(3))
    assert server.in_flight == 3
    assert server.respond(second.sequence, []) == []
    assert server.respond(third.sequence, [b"3"]) == []
    assert server.respond(first.sequence, [b"1"]) == [b"1", b"3"]
    assert server.in_flight == 0


def test_at_the_limit_it_waits_for_responses() -> None:
    server = connection(max_in_flight=2)
    server.receive.feed(echo(1) + echo(2) + echo(3))
    first, _ = next_request(server), next_request(server)
    assert server.next_event() is None
    wanted = [server.wants_bytes]
    server.respond(first.sequence, [])
    wanted.append(server.wants_bytes)
    assert wanted == [False, True]
    assert next_request(server).correlation_id == 3


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        header(5, 0, 1, None)[:9],
        header(5, 0, 1, "abc")[:12],
        header(5, 0, 1, None)[:8] + b"\xff\xfe",
        header(5, 0, 1, "ab")[:10] + b"\xff\xff",
        header(5, 1, 1),
        header(5, 1, 1) + b"\x01",
        header(5, 1, 1) + b"\x01\x00\x05",
        header(5, 1, 1) + b"\x80",
        header(99, 0, 1, "abc")[:12],
    ],
)
@pytest.mark.parametrize("behind", [b"", b"\x00\x00\x00\x01", b"\xff" * 70000])
def test_a_header_that_cannot_be_read(payload: bytes, behind: bytes) -> None:
    """The bytes that follow in the buffer are of another frame, and are not read as a part of this one."""
    server = connection()
    server.receive.feed(echo(1) + frame(payload))
    assert next_request(server).correlation_id == 1
    server.receive.buffer[server.receive._end : server.receive._end + 100] = (behind + b"\x00" * 100)[:100]
    for _ in range(2):
        with pytest.raises(MalformedMessage):
            server.next_event()
    assert not server.wants_bytes


def test_a_failed_connection_stays_failed() -> None:
    server = ServerConnection(ServedRequests(REQUESTS), ReceiveBuffer(max_frame_bytes=1000))
    server.receive.feed(echo(1) + struct.pack(">i", 1001))
    request = next_request(server)
    with pytest.raises(InvalidFrameSize):
        server.next_event()
    with pytest.raises(ProtocolError):
        server.next_event()
    assert server.respond(request.sequence, [b"1"]) == [b"1"]


def test_a_body_with_bytes_to_spare_is_read_as_kafka_reads_it() -> None:
    server = connection()
    server.receive.feed(frame(header(5, 0, 1) + encode(EchoRequest(text="hello"), 0) + b"!"))
    server.receive.feed(frame(header(5, 0, 2) + encode(EchoRequest(text="again"), 0)))
    assert decode_request(next_request(server), EchoRequest) == EchoRequest(text="hello")
    assert decode_request(next_request(server), EchoRequest) == EchoRequest(text="again")


def test_a_body_may_not_reach_into_the_next_frame() -> None:
    server = connection()
    server.receive.feed(frame(header(5, 0, 1) + encode(EchoRequest(text="hello"), 0)[:-1]))
    server.receive.feed(frame(header(5, 0, 2) + encode(EchoRequest(text="again"), 0)))
    with pytest.raises(MalformedMessage):
        decode_request(next_request(server), EchoRequest)
