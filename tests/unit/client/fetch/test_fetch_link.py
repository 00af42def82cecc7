"""The fetch link over a socket pair: versions, frames that come in pieces, and peers that are no brokers."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from struct import pack, unpack

import pytest
from tests.support.ports import held_ports
from tests.unit.client.fetch_log import PLACE, TOPIC_ID, FetchLog

from tidelog.client.errors import UnsupportedByBroker
from tidelog.client.fetch.fetch_link import FetchLink, make_blocking, open_link
from tidelog.client.fetch.fetch_session_handler import FetchPosition
from tidelog.client.fetch.fetcher import FetchOptions, one_fetch
from tidelog.client.metadata import Node
from tidelog.model.ids import ZERO_UUID
from tidelog.protocol.codec import decode, encode
from tidelog.protocol.errors import CorrelationMismatch, InvalidFrameSize
from tidelog.protocol.headers import RequestHeader
from tidelog.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from tidelog.protocol.messages.fetch import FetchRequest
from tidelog.protocol.versions import Versions

NODE = Node(1, "host", 9092)
SHORT_MS = 50  # for a peer that must not answer
TIMEOUT_MS = 10_000


class Peer:
    def __init__(self, connected: socket.socket) -> None:
        self.socket = connected

    def request(self) -> tuple[RequestHeader, bytes]:
        (size,) = unpack(">i", self.socket.recv(4, socket.MSG_WAITALL))
        frame = self.socket.recv(size, socket.MSG_WAITALL)
        version = unpack(">h", frame[2:4])[0]
        is_flexible = version >= (3 if frame[1] == 18 else 12)
        header, position = decode(RequestHeader, frame, 2 if is_flexible else 1)
        return header, frame[position:]

    def answer(self, body: bytes, correlation_id: int) -> None:
        self.socket.sendall(pack(">ii", len(body) + 4, correlation_id) + body)


@pytest.fixture
def ends() -> Iterator[tuple[FetchLink, Peer]]:
    with linked(TIMEOUT_MS) as both:
        yield both


@contextmanager
def linked(timeout_ms: int) -> Iterator[tuple[FetchLink, Peer]]:
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    limit = pack("@ll", timeout_ms // 1000, timeout_ms % 1000 * 1000)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
    with ours, theirs:
        yield FetchLink(ours, NODE, "me", timeout_ms), Peer(theirs)


def versions(code: int, *served: tuple[int, int, int]) -> ApiVersionsResponse:
    keys = [ApiVersion(api_key=key, min_version=low, max_version=high) for key, low, high in served]
    return ApiVersionsResponse(error_code=code, api_keys=keys)


def negotiated(link: FetchLink, peer: Peer, highest: int) -> None:
    peer.answer(encode(versions(0, (1, 4, highest)), 4), 1)
    link.negotiate()
    header, _ = peer.request()
    assert (header.request_api_key, header.request_api_version, header.client_id) == (18, 4, "me")


def request(topic_id: bytes = TOPIC_ID) -> FetchRequest:
    return one_fetch(FetchPosition(topic_id, 41, 5), PLACE, FetchOptions())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("highest", "topic_id", "used"),
    [(18, TOPIC_ID, 18), (18, ZERO_UUID, 12), (99, TOPIC_ID, 18), (11, TOPIC_ID, 11), (4, ZERO_UUID, 4)],
)
def test_the_highest_version_that_both_know_and_that_can_name_the_topic(
    ends: tuple[FetchLink, Peer], highest: int, topic_id: bytes, used: int
) -> None:
    link, peer = ends
    negotiated(link, peer, highest)
    link.ask(request(topic_id))
    header, body = peer.request()
    assert header.request_api_version == used
    asked, _ = decode(FetchRequest, body, used)
    assert asked.topics[0].partitions[0].fetch_offset == 41


def test_a_broker_that_knows_only_old_versions_of_api_versions(ends: tuple[FetchLink, Peer]) -> None:
    link, peer = ends
    peer.answer(encode(versions(35, (18, 0, 2)), 0), 1)
    peer.answer(encode(versions(0, (1, 4, 11)), 2), 2)
    link.negotiate()
    assert [peer.request()[0].request_api_version for _ in range(2)] == [4, 2]


def test_no_version_in_common(ends: tuple[FetchLink, Peer]) -> None:
    link, peer = ends
    for served in ((1, 0, 3), (2, 0, 9)):
        peer.answer(encode(versions(0, served), 4), 1 if served[0] == 1 else 2)
        with pytest.raises(UnsupportedByBroker, match="versions"):
            link.negotiate()


def test_a_response_that_comes_in_pieces_is_one(ends: tuple[FetchLink, Peer]) -> None:
    link, peer = ends
    negotiated(link, peer, 18)
    link.ask(request())
    body = b"\0" + encode(FetchLog().response(request()), 18)
    sent = pack(">ii", len(body) + 4, 2) + body
    pieces = threading.Thread(target=lambda: [peer.socket.send(sent[at : at + 9]) for at in range(0, len(sent), 9)])
    pieces.start()
    frame, reply = link.answer()
    pieces.join()
    assert frame == sent[4:]
    assert reply.partition == PLACE.partition


def test_the_answer_to_another_request(ends: tuple[FetchLink, Peer]) -> None:
    link, peer = ends
    peer.answer(encode(versions(0, (1, 4, 18)), 4), 5)
    with pytest.raises(CorrelationMismatch):
        link.negotiate()


def test_a_peer_that_says_nothing() -> None:
    with linked(SHORT_MS) as (link, _peer), pytest.raises(TimeoutError, match=r"0\.05 s"):
        link.answer()


def test_a_peer_that_goes_or_is_no_broker(ends: tuple[FetchLink, Peer]) -> None:
    link, peer = ends
    peer.socket.sendall(b"HTTP/1.1 400 Bad Request")
    with pytest.raises(InvalidFrameSize):
        link.answer()
    peer.socket.close()
    link.close()
    with pytest.raises(OSError, match=r".+"):
        link.answer()


def test_a_peer_that_closes_in_the_middle_of_a_response(ends: tuple[FetchLink, Peer]) -> None:
    link, peer = ends
    peer.socket.sendall(pack(">i", 100) + b"half")
    peer.socket.close()
    with pytest.raises(ConnectionError, match="closed the connection"):
        link.answer()


def test_versions_that_are_known_are_not_asked_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        link = open_link(Node(1, "127.0.0.1", server.getsockname()[1]), "me", TIMEOUT_MS, served=Versions(4, 17))
        link.close()
        accepted, _ = server.accept()
        with accepted:
            assert accepted.recv(1) == b"", "nothing was sent"


def test_nobody_listens() -> None:
    (port,) = held_ports(1)
    with pytest.raises(ConnectionRefusedError):
        open_link(Node(1, "127.0.0.1", port), "me", TIMEOUT_MS)


def test_a_listener_that_never_answers_costs_the_time_limit_and_no_more() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(TimeoutError):
        open_link(Node(1, "127.0.0.1", server.getsockname()[1]), "me", SHORT_MS)


def test_it_blocks_for_as_long_as_it_may() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as ours:
        make_blocking(ours, 1_500)
        assert ours.gettimeout() is None
        limit = unpack("@ll", ours.getsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, 16))
        assert limit[0] == 1  # the rest is rounded to the kernel's ticks
