"""The reactor on real sockets of this machine: what arrives, what leaves, and how connections end."""

import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tidelog.io import pollers
from tidelog.io.files import PosixFileSystem
from tidelog.io.handles import PosixFileRange
from tidelog.io.reactor import ENDS_A_TURN, LOOKS_MAX, RECEIVED_BYTES_A_TURN, REQUESTS_WITHOUT_LOOKS, Reactor
from tidelog.ports.files import OpenMode
from tidelog.ports.network import Accepted, Address, ConnectionId, SendPart

ROOM = 4096
PATIENCE_S = 30


class End:
    """The receiver of one connection."""

    def __init__(self) -> None:
        self.buffer = bytearray(ROOM)
        self.data = b""
        self.events: list[str] = []

    def writable(self) -> memoryview:
        return memoryview(self.buffer)

    def received(self, count: int) -> None:
        self.data += self.buffer[:count]

    def connected(self) -> None:
        self.events.append("connected")

    def drained(self) -> None:
        self.events.append("drained")

    def closed(self, reason: str) -> None:
        self.events.append(f"closed: {reason}")


class Server:
    def __init__(self, reactor: Reactor) -> None:
        self.reactor = reactor
        self.ends: dict[ConnectionId, End] = {}
        self.accepted: list[Accepted] = []
        self.refuses = False
        reactor.serve(self.accept)
        self.address = reactor.listen("PLAINTEXT", "127.0.0.1", 0)

    def accept(self, accepted: Accepted) -> End:
        self.accepted.append(accepted)
        end = self.ends[accepted.connection] = End()
        if self.refuses:
            self.reactor.close(accepted.connection)
        return end

    def run_until(self, done: Callable[[], bool]) -> None:
        give_up_at = time.monotonic() + PATIENCE_S
        while not done():
            assert time.monotonic() < give_up_at, "nothing happened"
            self.reactor.wait(50)
            self.reactor.poll()

    def client(self) -> tuple[socket.socket, ConnectionId, End]:
        known = len(self.accepted)
        sock = socket.create_connection(self.address, timeout=PATIENCE_S)
        self.run_until(lambda: len(self.accepted) > known)
        connection = self.accepted[-1].connection
        return sock, connection, self.ends[connection]


@pytest.fixture(params=["epoll", "selectors"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    reactor = Reactor(pollers.SelectorPoller() if request.param == "selectors" else None)
    yield Server(reactor)
    reactor.shut_down()


def receive_all(sock: socket.socket, count: int, server: Server) -> bytes:
    data = b""
    sock.setblocking(False)

    def read() -> bool:
        nonlocal data
        with suppress(BlockingIOError):
            data += sock.recv(1 << 20)
        return len(data) >= count

    server.run_until(read)
    return data


def test_bytes_arrive_in_order_and_the_addresses_are_known(server: Server) -> None:
    sock, _connection, end = server.client()
    with sock:
        sock.sendall(bytes(range(256)) * 100)
        server.run_until(lambda: len(end.data) == 25_600)
        assert end.data == bytes(range(256)) * 100
        accepted = server.accepted[0]
        assert accepted.listener == "PLAINTEXT"
        assert accepted.peer == Address(*sock.getsockname())
        assert accepted.local == server.address


def test_what_the_socket_does_not_take_is_sent_when_it_can(server: Server, tmp_path: Path) -> None:
    sock, connection, end = server.client()
    fs = PosixFileSystem()
    file = fs.open(str(tmp_path / "0.log"), OpenMode.CREATE_NEW)
    contents = bytes(range(251)) * (64 << 10)
    file.write_at(0, [contents])
    with sock:
        parts: list[SendPart] = [
            b"head",
            file.range(0, len(contents)),
            bytearray(b"mid"),
            memoryview(b"tail"),
            file.range(5, 7),
        ]
        assert not server.reactor.send(connection, parts)
        assert not server.reactor.send(connection, [b"behind"])
        file.close()
        expected = b"head" + contents + b"mid" + b"tail" + contents[5:12] + b"behind"
        assert receive_all(sock, len(expected), server) == expected
        server.run_until(lambda: end.events == ["drained"])
    fs.close()


def test_a_small_send_is_taken_at_once(server: Server) -> None:
    sock, connection, end = server.client()
    with sock:
        assert server.reactor.send(connection, [b"small"])
        assert sock.recv(100) == b"small"
        assert end.events == []


def test_a_file_that_shrank_ends_the_connection(server: Server, tmp_path: Path) -> None:
    sock, connection, end = server.client()
    fs = PosixFileSystem()
    file = fs.open(str(tmp_path / "0.log"), OpenMode.CREATE_NEW)
    file.write_at(0, [b"abc"])
    with sock:
        server.reactor.send(connection, [file.range(0, 10)])
        server.run_until(lambda: bool(end.events))
        assert end.events[0].startswith("closed: ")
    fs.close()


def test_a_muted_connection_is_not_read(server: Server) -> None:
    sock, connection, end = server.client()
    with sock:
        server.reactor.mute(connection)
        sock.sendall(b"later")
        for _ in range(5):
            server.reactor.wait(10)
            server.reactor.poll()
        assert end.data == b""
        server.reactor.unmute(connection)
        server.run_until(lambda: end.data == b"later")


def test_the_peers_end_is_told_once(server: Server) -> None:
    sock, connection, end = server.client()
    sock.close()
    server.run_until(lambda: bool(end.events))
    assert end.events == ["closed: closed by the peer"]
    assert server.reactor.send(connection, [b"into the void"])
    server.reactor.close(connection)


def test_an_end_within_a_send_is_told_by_the_next_poll_without_waiting(server: Server) -> None:
    sock, connection, end = server.client()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    sock.close()
    server.reactor.send(connection, [b"x"])
    server.reactor.send(connection, [b"x"])
    assert end.events == []
    server.run_until(lambda: bool(end.events))
    assert len(end.events) == 1


def test_our_own_close_is_not_told(server: Server) -> None:
    sock, connection, end = server.client()
    with sock:
        server.reactor.close(connection)
        assert sock.recv(10) == b""
        server.reactor.wait(10)
        server.reactor.poll()
        assert end.events == []


def test_an_acceptor_may_refuse(server: Server) -> None:
    server.refuses = True
    sock, _connection, end = server.client()
    with sock:
        assert sock.recv(10) == b""
    assert end.events == []


def test_connecting_and_being_refused(server: Server) -> None:
    end = End()
    server.reactor.connect(*server.address, end)
    server.run_until(lambda: end.events == ["connected"])
    with socket.socket() as unbound:
        unbound.bind(("127.0.0.1", 0))
        refused = End()
        host, port = unbound.getsockname()
        server.reactor.connect(host, port, refused)
        server.run_until(lambda: bool(refused.events))
    assert refused.events[0].startswith("closed: ")


def test_what_is_sent_before_it_is_connected_follows(server: Server) -> None:
    end = End()
    connection = server.reactor.connect(*server.address, end)
    server.reactor.send(connection, [b"early"])
    server.run_until(lambda: any(each.data == b"early" for each in server.ends.values()))


def test_wake_ends_a_wait(server: Server) -> None:
    server.reactor.wake()
    server.reactor.wait(None)
    server.reactor.poll()


def test_a_wake_that_comes_too_late_writes_nowhere() -> None:
    """A helper thread may end its work after the reactor, when the descriptor's number belongs to another file."""
    reactor = Reactor()
    reactor.shut_down()
    reading, writing = os.pipe()  # gets the descriptor number that the reactor has given back
    others = [os.dup(writing) for _ in range(8)]
    try:
        reactor.wake()
        os.set_blocking(reading, False)
        with pytest.raises(BlockingIOError):
            os.read(reading, 1)
    finally:
        for descriptor in (reading, writing, *others):
            os.close(descriptor)


def test_many_connections_that_end_together_are_told_a_few_in_a_turn(server: Server) -> None:
    """Each end may free megabytes, while other connections have requests to be answered."""
    clients = [server.client() for _ in range(3 * ENDS_A_TURN)]
    for sock, _connection, _end in clients:
        sock.close()
    told: list[int] = []
    give_up = time.monotonic() + PATIENCE_S
    while not told or told[-1] < len(clients):
        server.reactor.wait(10)
        server.reactor.poll()
        told.append(sum(bool(end.events) for _sock, _connection, end in clients))
        assert time.monotonic() < give_up
    assert max(after - before for before, after in zip([0, *told], told, strict=False)) <= ENDS_A_TURN


def test_room_for_a_large_frame_counts_as_received(server: Server) -> None:
    """Making the room takes the same time, however few bytes arrive."""
    clients = [server.client() for _ in range(4)]
    for sock, _connection, end in clients:
        end.buffer = bytearray(RECEIVED_BYTES_A_TURN // 2)
        sock.sendall(b"x")
    time.sleep(0.05)
    server.reactor.wait(1_000)
    server.reactor.poll()
    assert sum(bool(end.data) for _sock, _connection, end in clients) <= 2
    give_up = time.monotonic() + PATIENCE_S
    while not all(end.data for _sock, _connection, end in clients):
        server.reactor.wait(10)
        server.reactor.poll()
        assert time.monotonic() < give_up
    for sock, _connection, _end in clients:
        sock.close()


def test_out_of_descriptors_the_peer_is_closed_and_the_listener_goes_on(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = [OSError(24, "too many open files")]

    class Listener:
        def __init__(self, sock: socket.socket) -> None:
            self.sock = sock

        def accept(self) -> tuple[socket.socket, tuple[str, int]]:
            if failures:
                raise failures.pop()
            return self.sock.accept()

    ((descriptor, (name, listener)),) = server.reactor._listeners.items()
    monkeypatch.setitem(server.reactor._listeners, descriptor, (name, Listener(listener)))
    with socket.create_connection(server.address, timeout=PATIENCE_S) as sock:
        server.run_until(lambda: server.reactor.refused_accepts == 1)
        assert sock.recv(1) == b""
    monkeypatch.setitem(server.reactor._listeners, descriptor, (name, listener))
    sock, _connection, _end = server.client()
    sock.close()


def test_not_even_a_spare_descriptor_is_no_end_of_the_loop(
    server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def no_open(*_arguments: object) -> int:
        raise OSError(24, "too many open files")

    class Listener:
        def accept(self) -> tuple[socket.socket, tuple[str, int]]:
            raise OSError(24, "too many open files")

    ((descriptor, (name, _listener)),) = server.reactor._listeners.items()
    with monkeypatch.context() as patch:
        patch.setitem(server.reactor._listeners, descriptor, (name, Listener()))
        patch.setattr("tidelog.io.reactor.os.open", no_open)
        with socket.create_connection(server.address, timeout=PATIENCE_S):
            server.run_until(lambda: server.reactor.refused_accepts >= 3)
    assert len([each for each in caplog.records if "no descriptor is left" in each.getMessage()]) == 1
    sock, _connection, _end = server.client()
    sock.close()


def test_a_taken_port_is_an_error(server: Server) -> None:
    with pytest.raises(OSError, match="in use"):
        server.reactor.listen("OTHER", *server.address)


def test_who_connects_before_a_listener_is_served_waits_and_does_not_spin_the_loop() -> None:
    reactor = Reactor()
    accepted: list[tuple[str, str]] = []

    def acceptor(name: str) -> Callable[[Accepted], End]:
        def accept(one: Accepted) -> End:
            accepted.append((name, one.listener))
            return End()

        return accept

    early, served = (reactor.listen(name, "127.0.0.1", 0) for name in ("early", "served"))
    reactor.serve(acceptor("own"), "served")
    with socket.create_connection(early, timeout=PATIENCE_S), socket.create_connection(served, timeout=5):
        while not accepted:
            reactor.wait(1_000)
            reactor.poll()
        reactor.wait(0)
        reactor.poll()
        assert accepted == [("own", "served")]
        reactor.serve(acceptor("others"))
        while len(accepted) < 2:
            reactor.wait(1_000)
            reactor.poll()
        assert accepted == [("own", "served"), ("others", "early")]
    reactor.shut_down()


class LookingPoller:
    """A poller that never sleeps, and remembers how long it was asked to."""

    def __init__(self) -> None:
        self._poller = pollers.SelectorPoller()
        self.register = self._poller.register
        self.modify = self._poller.modify
        self.unregister = self._poller.unregister
        self.close = self._poller.close
        self.timeouts_s: list[float | None] = []
        self.before_poll: Callable[[int], object] = lambda _count: None

    def poll(self, timeout_s: float | None) -> list[tuple[int, int]]:
        self.timeouts_s.append(timeout_s)
        self.before_poll(len(self.timeouts_s))
        return self._poller.poll(0)


class LoneClient:
    """The only client of a reactor."""

    def __init__(self) -> None:
        self.poller = LookingPoller()
        self.reactor = Reactor(self.poller)
        self.sock, _connection, self.end = Server(self.reactor).client()

    def ask(self) -> None:
        self.sock.sendall(b"request")
        received = len(self.end.data)
        while len(self.end.data) == received:
            self.reactor.wait(0)
            self.reactor.poll()
        self.poller.timeouts_s.clear()


@pytest.fixture
def lone() -> Iterator[LoneClient]:
    client = LoneClient()
    with client.sock:
        yield client
    client.reactor.shut_down()


def test_after_a_lone_request_the_next_is_looked_for_before_the_reactor_sleeps(lone: LoneClient) -> None:
    lone.ask()
    lone.poller.before_poll = lambda count: lone.sock.sendall(b"next") if count == 3 else None
    lone.reactor.wait(1_000)
    assert lone.poller.timeouts_s == [0, 0, 0]
    lone.reactor.poll()
    assert lone.end.data == b"requestnext"


def test_a_client_that_takes_its_time_is_looked_for_once_in_a_hundred_requests(lone: LoneClient) -> None:
    lone.ask()
    lone.reactor.wait(1_000)
    assert lone.poller.timeouts_s == [0] * LOOKS_MAX + [1]
    for _ in range(REQUESTS_WITHOUT_LOOKS):
        lone.ask()
        lone.reactor.wait(1_000)
        assert lone.poller.timeouts_s == [1]
    lone.ask()
    lone.reactor.wait(1_000)
    assert lone.poller.timeouts_s == [0] * LOOKS_MAX + [1]


def test_an_idle_reactor_does_not_look_and_one_that_must_go_on_does_not_either(lone: LoneClient) -> None:
    lone.ask()
    lone.reactor.wait(0)
    assert lone.poller.timeouts_s == [0]
    lone.reactor.wait(1_000)
    lone.poller.timeouts_s.clear()
    lone.reactor.wait(1_000)
    assert lone.poller.timeouts_s == [1]


class NotedRange(PosixFileRange):
    """A range that notes how it was sent."""

    def __init__(self, sends: list[bool]) -> None:
        self._remaining = 1
        self._sends = sends

    def send_to(self, _socket_descriptor: int, *, is_mapped: bool = False) -> int:
        self._sends.append(is_mapped)
        self._remaining = 0
        return 1

    def release(self) -> None: ...


def test_a_range_goes_out_by_sendfile_to_a_reader_that_is_alone_and_from_a_mapping_to_several(server: Server) -> None:
    one, first, first_end = server.client()
    other, _second, second_end = server.client()
    sends: list[bool] = []
    with one, other:
        one.sendall(b"fetch")
        server.run_until(lambda: first_end.data == b"fetch")
        server.reactor.send(first, [NotedRange(sends)])
        assert sends == [False]
        one.sendall(b"fetch")
        other.sendall(b"fetch")
        server.reactor.wait(1_000)  # both are ready: what was sent over loopback has arrived
        server.reactor.poll()
        assert (first_end.data, second_end.data) == (b"fetchfetch", b"fetch")
        server.reactor.send(first, [NotedRange(sends)])
        assert sends == [False, True]
