import struct

import pytest
from tests.unit.protocol.exchange import (
    RESPONSES,
    ApiVersionsRequest,
    ApiVersionsResponse,
    EchoRequest,
    EchoResponse,
    StoreRequest,
    StoreResponse,
)

from tidelog.protocol.client_connection import ClientConnection, Response, TooManyInFlight
from tidelog.protocol.codec import encode
from tidelog.protocol.errors import CorrelationMismatch, EncodeError, InvalidFrameSize, MalformedMessage
from tidelog.protocol.framing import ReceiveBuffer
from tidelog.protocol.server_connection import encode_response


def answer(correlation_id: int, response: object, version: int) -> bytes:
    return b"".join(encode_response(correlation_id, response, version))


@pytest.mark.parametrize(
    ("version", "header"),
    [(0, b"\x00\x05\x00\x00\x00\x00\x00\x00\x00\x02me"), (1, b"\x00\x05\x00\x01\x00\x00\x00\x00\x00\x02me\x00")],
)
def test_send(version: int, header: bytes) -> None:
    client = ClientConnection(RESPONSES, "me")
    body = encode(EchoRequest(text="hello"), version)
    assert client.send(EchoRequest(text="hello"), version) == [struct.pack(">i", len(header + body)) + header + body]
    assert client.in_flight == 1


def test_records_leave_as_they_are() -> None:
    batches = memoryview(b"batches")
    _, part, _ = ClientConnection(RESPONSES).send(StoreRequest(acks=1, batches=batches), 1)
    assert part is batches


def test_a_response_is_read_in_the_version_that_was_asked_for() -> None:
    client = ClientConnection(RESPONSES)
    client.send(EchoRequest(text=""), 1)
    client.send(EchoRequest(text=""), 0)
    client.receive.feed(answer(0, EchoResponse(text="flexible"), 1) + answer(1, EchoResponse(text="old"), 0))
    assert client.next_response() == Response(0, 5, 1, EchoResponse(text="flexible"))
    assert client.next_response() == Response(1, 5, 0, EchoResponse(text="old"))
    assert client.next_response() is None
    assert client.in_flight == 0


def test_records_of_a_response_are_a_view_of_the_receive_buffer() -> None:
    client = ClientConnection(RESPONSES)
    client.send(StoreRequest(acks=1, batches=None), 1)
    client.receive.feed(answer(0, StoreResponse(offset=1, batches=b"batches"), 1))
    response = client.next_response()
    assert response is not None
    assert response.message.batches == b"batches"
    assert response.message.batches.obj is client.receive.buffer


def test_what_is_not_answered_is_not_waited_for() -> None:
    client = ClientConnection(RESPONSES)
    client.send(StoreRequest(acks=0, batches=None), 0, expect_response=False)
    client.send(EchoRequest(text=""), 0)
    assert client.in_flight == 1
    client.receive.feed(answer(1, EchoResponse(text="second"), 0))
    response = client.next_response()
    assert response is not None
    assert response.correlation_id == 1


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_api_versions_answered_in_version_0_by_an_older_broker(version: int) -> None:
    client = ClientConnection(RESPONSES)
    client.send(ApiVersionsRequest(), version)
    refusal = ApiVersionsResponse(error_code=35, keys=[1, 18])
    client.receive.feed(answer(0, refusal, 0))
    assert client.next_response() == Response(0, 18, 0, refusal)


def test_api_versions_answered_in_its_own_version() -> None:
    client = ClientConnection(RESPONSES)
    client.send(ApiVersionsRequest(), 3)
    client.receive.feed(answer(0, ApiVersionsResponse(error_code=0, keys=[1]), 3))
    assert client.next_response() == Response(0, 18, 3, ApiVersionsResponse(error_code=0, keys=[1]))


@pytest.mark.parametrize(("sent", "received", "expected"), [(0, 0, None), (2, 1, 0), (2, 7, 0), (1, -1, 0)])
def test_a_correlation_id_that_is_not_due(sent: int, received: int, expected: int | None) -> None:
    client = ClientConnection(RESPONSES)
    for _ in range(sent):
        client.send(EchoRequest(text=""), 0)
    client.receive.feed(answer(received, EchoResponse(text=""), 0))
    with pytest.raises(CorrelationMismatch) as refused:
        client.next_response()
    assert (refused.value.expected, refused.value.received) == (expected, received)
    with pytest.raises(CorrelationMismatch):
        client.next_response()
    with pytest.raises(CorrelationMismatch):
        client.send(EchoRequest(text=""), 0)


@pytest.mark.parametrize(
    "payload",
    [b"", b"\x00\x00\x00", b"\x00\x00\x00\x00", b"\x00\x00\x00\x00\x00", b"\x00\x00\x00\x00\x00\x03a\x00"],
)
def test_a_response_that_cannot_be_read(payload: bytes) -> None:
    client = ClientConnection(RESPONSES)
    client.send(EchoRequest(text=""), 1)
    client.receive.feed(struct.pack(">i", len(payload)) + payload)
    for _ in range(2):
        with pytest.raises(MalformedMessage):
            client.next_response()


def test_bytes_after_a_response_are_passed_over() -> None:
    client = ClientConnection(RESPONSES)
    client.send(EchoRequest(text=""), 1)
    payload = b"\x00\x00\x00\x00\x00\x02a\x00!"
    client.receive.feed(struct.pack(">i", len(payload)) + payload)
    response = client.next_response()
    assert response is not None
    assert response.message == EchoResponse(text="a")


def test_a_response_beyond_the_limit() -> None:
    client = ClientConnection(RESPONSES, receive=ReceiveBuffer(max_frame_bytes=10))
    client.send(EchoRequest(text=""), 0)
    client.receive.feed(struct.pack(">i", 11))
    with pytest.raises(InvalidFrameSize):
        client.next_response()


def test_the_limit_of_requests_in_flight() -> None:
    client = ClientConnection(RESPONSES, max_in_flight=2)
    client.send(EchoRequest(text=""), 0)
    client.send(EchoRequest(text=""), 0)
    with pytest.raises(TooManyInFlight):
        client.send(EchoRequest(text=""), 0)
    client.receive.feed(answer(0, EchoResponse(text=""), 0))
    client.next_response()
    client.send(EchoRequest(text=""), 0)


def test_a_request_that_cannot_be_written_is_not_in_flight() -> None:
    client = ClientConnection(RESPONSES)
    with pytest.raises(EncodeError):
        client.send(EchoRequest(text=None), 0)  # type: ignore[arg-type]
    assert client.in_flight == 0
    (first,) = client.send(EchoRequest(text=""), 0)
    assert first[8:12] == b"\x00\x00\x00\x00"


def test_correlation_ids_start_again_after_the_last() -> None:
    client = ClientConnection(RESPONSES)
    client._next_correlation_id = 2**31 - 1
    client.send(EchoRequest(text=""), 0)
    client.send(EchoRequest(text=""), 0)
    client.receive.feed(answer(2**31 - 1, EchoResponse(text="a"), 0) + answer(0, EchoResponse(text="b"), 0))
    responses = [client.next_response(), client.next_response()]
    assert [response and response.message.text for response in responses] == ["a", "b"]
