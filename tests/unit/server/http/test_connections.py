"""The listener for metrics on the simulated network: order, limits, slices, and which connections are closed."""

from collections.abc import Callable, Iterator

import pytest

from tidelog.ports.network import ConnectionId
from tidelog.server.events import Events
from tidelog.server.http.connections import CONNECTIONS_MAX, IDLE_MS_MAX, HttpServer, Page, text_page
from tidelog.server.http.messages import HEAD_BYTES_MAX
from tidelog.sim.clock import SimClock
from tidelog.sim.network import SimNetwork

PORT = 9404


class Peer:
    """A client's side of a connection: what it sends and receives."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._room = bytearray(65_536)
        self.heard = b""
        self.is_closed = False
        self.id: ConnectionId = world.clients.connect("node", PORT, self)

    def writable(self) -> memoryview:
        return memoryview(self._room)

    def received(self, count: int) -> None:
        self.heard += bytes(self._room[:count])

    def connected(self) -> None: ...

    def drained(self) -> None: ...

    def closed(self, _reason: str) -> None:
        self.is_closed = True

    def send(self, data: bytes) -> "Peer":
        self._world.clients.send(self.id, [data])
        return self

    def get(self, path: str) -> "Peer":
        return self.send(f"GET {path} HTTP/1.1\r\nHost: node\r\n\r\n".encode())

    @property
    def bodies(self) -> list[bytes]:
        return [each.partition(b"\r\n\r\n")[2] for each in self.heard.split(b"HTTP/1.1 ")[1:]]

    @property
    def statuses(self) -> list[bytes]:
        return [each[:3] for each in self.heard.split(b"HTTP/1.1 ")[1:]]


class World:
    def __init__(self, pages: dict[str, Callable[[], Page]]) -> None:
        self.clock = SimClock()
        network = SimNetwork(self.clock, 5)
        self.node, self.clients = network.host("node"), network.host("client")
        self.server = HttpServer(self.clock, self.node, Events(self.clock), pages)
        self.node.listen(PORT, "http")
        self.node.serve(self.server.accept, "http")

    def run(self, turns: int = 50) -> None:
        for _ in range(turns):
            self.node.poll()
            self.server.work(self.clock.monotonic_ms())
            self.clients.poll()
            self.clock.advance(1)


def broken() -> Iterator[str]:
    yield "half"
    raise RuntimeError


@pytest.fixture
def world() -> World:
    return World({"/a": lambda: text_page("a"), "/b": lambda: text_page("b", 503), "/broken": lambda: Page(broken())})


def test_requests_sent_ahead_are_answered_in_order(world: World) -> None:
    peer = Peer(world).get("/a").get("/b").get("/c")
    world.run()
    assert peer.statuses == [b"200", b"503", b"404"]
    assert peer.bodies[:2] == [b"a\n", b"b\n"]
    assert not peer.is_closed


def test_a_head_is_answered_with_the_length_of_what_a_get_would_bring(world: World) -> None:
    peer = Peer(world).send(b"HEAD /a HTTP/1.1\r\nHost: node\r\n\r\n").get("/a")
    world.run()
    head, get = peer.heard.split(b"HTTP/1.1 ")[1:]
    assert head + b"a\n" == get


def test_who_asks_for_the_end_gets_it_after_the_answer(world: World) -> None:
    peer = Peer(world).send(b"GET /a HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n")
    world.run()
    assert peer.bodies == [b"a\n"]
    assert peer.is_closed
    assert len(world.server) == 0


def test_another_method_and_garbage_are_answered_and_end_the_connection(world: World) -> None:
    post = Peer(world).send(b"POST /a HTTP/1.1\r\nHost: node\r\nContent-Length: 2\r\n\r\nxx")
    garbage = Peer(world).send(b"\x16\x03\x01\x02\x00")
    world.run()
    assert (post.statuses, garbage.statuses) == ([b"405"], [b"400"])
    assert post.is_closed
    assert garbage.is_closed


def test_a_bug_in_a_page_costs_that_answer(world: World) -> None:
    peer = Peer(world).get("/broken").get("/a")
    world.run()
    assert peer.statuses == [b"500", b"200"]
    assert world.server.events.page_bugs == 1


def test_who_sends_more_ahead_than_there_is_room_for_is_closed(world: World) -> None:
    peer = Peer(world).send(b"GET /a HTTP/1.1\r\nHost: node\r\n\r\n" * HEAD_BYTES_MAX)
    world.run(200)
    assert peer.is_closed
    assert len(world.server) == 0


def test_there_is_a_limit_of_connections(world: World) -> None:
    peers = [Peer(world) for _ in range(CONNECTIONS_MAX + 1)]
    world.run()
    assert sum(peer.is_closed for peer in peers) == 1
    assert len(world.server) == CONNECTIONS_MAX


def test_the_silent_are_closed(world: World) -> None:
    silent, busy = Peer(world), Peer(world)
    world.run()
    world.clock.advance(IDLE_MS_MAX)
    busy.get("/a")
    world.run()
    world.server.close_idle(world.clock.monotonic_ms())
    world.run()
    assert silent.is_closed
    assert not busy.is_closed


def test_a_long_page_takes_a_slice_of_each_turn_and_others_wait_for_it() -> None:
    """Each piece takes two milliseconds of the clock; a slice is five."""
    made: list[int] = []
    world: World

    def pieces() -> Iterator[str]:
        for number in range(9):
            world.clock.advance(2)
            made.append(number)
            yield str(number)

    world = World({"/long": lambda: Page(pieces()), "/a": lambda: text_page("a")})
    long, short = Peer(world).get("/long"), Peer(world).get("/a")
    most = 0
    for _ in range(50):
        before = len(made)
        world.run(1)
        most = max(most, len(made) - before)
    assert most == 3
    assert long.bodies == [b"012345678"]
    assert short.bodies == [b"a\n"]


def test_a_page_whose_asker_is_gone_is_not_made_to_its_end() -> None:
    made: list[int] = []
    world: World

    def pieces() -> Iterator[str]:
        while True:
            world.clock.advance(10)
            made.append(1)
            yield "more"

    world = World({"/endless": lambda: Page(pieces())})
    peer = Peer(world).get("/endless")
    world.run()
    made_before = len(made)
    world.clients.close(peer.id)
    world.run()
    assert not world.server.has_work
    assert 0 < made_before < len(made) + 1 < made_before + 10
