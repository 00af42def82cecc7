"""A connection gives the same events, however the stream is cut into pieces on its way."""

import struct
from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.protocol.exchange import REQUESTS, RESPONSES, EchoRequest, EchoResponse

from tidelog.protocol.api import ServedRequests
from tidelog.protocol.client_connection import ClientConnection
from tidelog.protocol.codec import decode_exact
from tidelog.protocol.errors import ProtocolError
from tidelog.protocol.framing import ReceiveBuffer
from tidelog.protocol.response_order import ResponseOrder
from tidelog.protocol.server_connection import (
    Request,
    ServerConnection,
    UnsupportedRequest,
    decode_request,
    encode_response,
)

SERVED = ServedRequests(REQUESTS)
frugal = settings(max_examples=60, deadline=None, derandomize=True)

payloads = st.binary(max_size=40) | st.integers(3000, 20000).map(lambda size: size.to_bytes(2, "big") * (size // 2))
cuts = st.lists(st.integers(1, 12000), min_size=1, max_size=20)


def pieces(stream: bytes, sizes: list[int]) -> list[bytes]:
    """Return the stream cut into pieces of these sizes and a large one, over and over."""
    sizes = [*sizes, 5000]
    cut: list[bytes] = []
    position = 0
    while position < len(stream):
        size = sizes[len(cut) % len(sizes)]
        cut.append(stream[position : position + size])
        position += size
    return cut


@frugal
@given(sent=st.lists(payloads, max_size=12), sizes=cuts, release_every=st.integers(1, 4))
def test_frames(sent: list[bytes], sizes: list[int], release_every: int) -> None:
    """A view that was not released yet keeps its bytes, whatever arrives after it."""
    receive = ReceiveBuffer(initial_capacity=8192)
    stream = b"".join(struct.pack(">i", len(payload)) + payload for payload in sent)
    received: list[bytes] = []
    held: list[memoryview] = []
    for turn, piece in enumerate(pieces(stream, sizes)):
        receive.feed(piece)
        while (found := receive.next_frame()) is not None:
            held.append(receive.view[found[0] : found[1]])
        if turn % release_every == 0:
            received += map(bytes, held)
            held.clear()
            receive.release()
    assert [*received, *map(bytes, held)] == sent
    assert receive.next_frame() is None
    assert receive.pending_bytes == 0


def server_events(stream: bytes, sizes: list[int]) -> list[str]:
    """Return the events of a server connection as text, when its owner answers each request at once."""
    server = ServerConnection(SERVED, ReceiveBuffer(max_frame_bytes=30000, initial_capacity=8192))
    seen: list[str] = []
    for piece in pieces(stream, sizes):
        server.receive.feed(piece)
        try:
            while (event := server.next_event()) is not None:
                seen.append(describe(event))
                server.respond(event.sequence, [])
        except ProtocolError as failure:
            return [*seen, type(failure).__name__]
        server.receive.release()
    return seen


def describe(event: Request | UnsupportedRequest) -> str:
    known = f"{event.sequence} {event.api_key} {event.api_version} {event.correlation_id} {event.client_id}"
    if isinstance(event, UnsupportedRequest):
        return f"unsupported {known}"
    try:
        return f"{known} {decode_request(event, REQUESTS[event.api_key])}"
    except ProtocolError as malformed:
        return f"{known} {type(malformed).__name__}"


def requests() -> st.SearchStrategy[bytes]:
    client = ClientConnection(RESPONSES, "client")
    echo = st.builds(
        lambda text, version: b"".join(client.send(EchoRequest(text=text), version, expect_response=False)),
        st.text(max_size=20) | st.just("long" * 2500),
        st.sampled_from([0, 1]),
    )
    noise = st.binary(max_size=30).map(lambda payload: struct.pack(">i", len(payload)) + payload)
    return echo | echo | echo | noise | st.binary(max_size=8)


@frugal
@given(stream=st.lists(requests(), max_size=8).map(b"".join), sizes=cuts)
def test_server_events(stream: bytes, sizes: list[int]) -> None:
    assert server_events(stream, sizes) == server_events(stream, [1_000_000])


@frugal
@given(texts=st.lists(st.text(max_size=10) | st.just("long" * 2500), max_size=8), sizes=cuts, data=st.data())
def test_client_and_server_agree_on_every_answer(texts: list[str], sizes: list[int], data: st.DataObject) -> None:
    """Requests go through one stream and are handled in any order; responses come back through the other."""
    client = ClientConnection(RESPONSES, receive=ReceiveBuffer(initial_capacity=8192))
    server = ServerConnection(SERVED, ReceiveBuffer(initial_capacity=8192))
    sent = b"".join(b"".join(client.send(EchoRequest(text=text), index % 2)) for index, text in enumerate(texts))
    waiting: list[tuple[Request, str]] = []
    for piece in pieces(sent, sizes):
        server.receive.feed(piece)
        while (event := server.next_event()) is not None:
            assert isinstance(event, Request)
            waiting.append((event, decode_request(event, EchoRequest).text))
    answers = b""
    for request, text in data.draw(st.permutations(waiting)):
        frame = encode_response(request.correlation_id, EchoResponse(text=text), request.api_version)
        answers += b"".join(server.respond(request.sequence, frame))
    received = []
    for piece in pieces(answers, sizes):
        client.receive.feed(piece)
        while (response := client.next_response()) is not None:
            received.append(response.message.text)
    assert received == texts
    assert (client.in_flight, server.in_flight) == (0, 0)


@frugal
@given(data=st.data())
def test_response_order_against_a_sorted_list(data: st.DataObject) -> None:
    """Responses are opened and completed in any interleaving; those that have left are always the longest complete
    beginning."""
    order, opened, done, left = ResponseOrder(), 0, set[int](), list[int]()
    for opens in data.draw(st.lists(st.booleans(), max_size=40)):
        waiting = sorted({*range(opened)} - done)
        if opens or not waiting:
            assert order.open() == opened
            opened += 1
            continue
        chosen = data.draw(st.sampled_from(waiting))
        done.add(chosen)
        left += order.complete(chosen, [] if chosen % 5 == 0 else [chosen])
        complete = next((index for index in range(opened) if index not in done), opened)
        assert left == [index for index in range(complete) if index % 5]
        assert len(order) == opened - complete


@frugal
@given(
    noise=st.binary(max_size=60) | st.binary(max_size=20).map(lambda rest: struct.pack(">ii", 4 + len(rest), 0) + rest),
    sizes=cuts,
)
def test_a_client_takes_no_noise_for_a_response(noise: bytes, sizes: list[int]) -> None:
    client = ClientConnection(RESPONSES, receive=ReceiveBuffer(max_frame_bytes=1000))
    client.send(EchoRequest(text=""), 0)
    with suppress(ProtocolError):
        for piece in pieces(noise, sizes):
            client.receive.feed(piece)
            while (response := client.next_response()) is not None:
                assert noise[4:8] == bytes(4)
                assert response.message == decode_exact(EchoResponse, noise[8 : 10 + noise[9]], 0)
