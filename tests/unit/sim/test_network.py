"""The simulated network: a stream for each connection, and every way in which it may fail."""

from dataclasses import dataclass, field
from typing import NamedTuple

import pytest

from tidelog.ports.errors import HandleClosed
from tidelog.ports.files import OpenMode
from tidelog.ports.network import Accepted, ConnectionId, Network
from tidelog.sim.clock import SimClock
from tidelog.sim.faults import Op
from tidelog.sim.files import SimFileSystem
from tidelog.sim.network import SimNetwork
from tidelog.sim.trace import Trace
from tidelog.sim.wire import NetworkSettings


class Closed(NamedTuple):
    connection: ConnectionId
    reason: str


NOBODY = ConnectionId(0)
ROOM = 333  # the most bytes that one receive takes here


@dataclass
class Node:
    """A collector of what a host delivers."""

    network: Network
    accepted: list[Accepted] = field(default_factory=list)
    connected: list[ConnectionId] = field(default_factory=list)
    drained: list[ConnectionId] = field(default_factory=list)
    closed: list[Closed] = field(default_factory=list)
    cuts: list[int] = field(default_factory=list)
    data: bytes = b""

    def serve(self) -> None:
        self.network.serve(self._accept)

    def _accept(self, accepted: Accepted) -> "End":
        self.accepted.append(accepted)
        return End(self, accepted.connection)

    def connect(self, host: str, port: int) -> ConnectionId:
        end = End(self)
        end.connection = self.network.connect(host, port, end)
        return end.connection


class End:
    """The receiver of one connection."""

    def __init__(self, node: Node, connection: ConnectionId = NOBODY) -> None:
        self.node = node
        self.connection = connection
        self.buffer = bytearray(ROOM)

    def writable(self) -> memoryview:
        return memoryview(self.buffer)

    def received(self, count: int) -> None:
        self.node.data += self.buffer[:count]
        self.node.cuts.append(count)

    def connected(self) -> None:
        self.node.connected.append(self.connection)

    def drained(self) -> None:
        self.node.drained.append(self.connection)

    def closed(self, reason: str) -> None:
        self.node.closed.append(Closed(self.connection, reason))


class Pair:
    """A client that is connected to a server, and their clock."""

    def __init__(self, seed: int = 1, settings: NetworkSettings | None = None) -> None:
        self.clock = SimClock()
        self.trace = Trace()
        self.network = SimNetwork(self.clock, seed, settings, self.trace)
        self.client_host, self.server_host = self.network.host("client"), self.network.host("server")
        self.server_host.listen(9092, "PLAINTEXT")
        self.client, self.server = Node(self.client_host), Node(self.server_host)
        self.server.serve()
        self.connection = self.client.connect("server", 9092)

    def run(self, duration_ms: int = 100) -> None:
        for _ in range(duration_ms):
            self.clock.advance(1)
            self.server_host.poll()
            self.client_host.poll()

    @property
    def accepted(self) -> ConnectionId:
        return self.server.accepted[0].connection


@pytest.fixture
def pair() -> Pair:
    pair = Pair()
    pair.run()
    return pair


def test_a_connection_is_accepted_and_connected(pair: Pair) -> None:
    assert [(event.listener, event.peer.host) for event in pair.server.accepted] == [("PLAINTEXT", "client")]
    assert [event.local for event in pair.server.accepted] == [("server", 9092)]
    assert pair.client.connected == [pair.connection]
    assert pair.client.closed == pair.server.closed == []


def test_bytes_arrive_once_in_order_and_cut_anywhere() -> None:
    cuts: dict[int, None] = {}
    for seed in range(20):
        pair = Pair(seed)
        sent = [bytes([i]) * (i * 37 + 1) for i in range(30)]
        for data in sent:  # some of it before the connection is made
            pair.client_host.send(pair.connection, [data, b"", bytearray(data)])
            pair.run(1)
        pair.run()
        assert pair.server.data == b"".join(data * 2 for data in sent)
        pair.server_host.send(pair.accepted, [memoryview(b"answer")])
        pair.run()
        assert pair.client.data == b"answer"
        cuts.update(dict.fromkeys(pair.server.cuts))
    assert len(cuts) > 100


def test_a_receiver_that_closes_hears_nothing_more(pair: Pair) -> None:
    received = End.received

    class Once(End):
        def received(self, count: int) -> None:
            received(self, count)
            self.node.network.close(self.connection)

    end = Once(pair.client)
    end.connection = pair.client_host.connect("server", 9092, end)
    pair.run()
    pair.server_host.send(pair.server.accepted[-1].connection, [bytes(1_000)])
    pair.run()
    assert len(pair.client.data) == ROOM
    assert pair.client.closed == []


def test_a_slow_reader_makes_the_sender_wait() -> None:
    pair = Pair(settings=NetworkSettings(send_buffer_bytes=1_000))
    pair.run()
    pair.server_host.mute(pair.accepted)
    pair.client_host.send(pair.connection, [bytes(2_500)])
    pair.run()
    assert (pair.server.data, pair.client.drained) == (b"", [])
    pair.server_host.unmute(pair.accepted)
    pair.run()
    assert len(pair.server.data) == 2_500
    assert pair.client.drained == [pair.connection]


def test_what_is_taken_at_once_owes_no_drained(pair: Pair) -> None:
    pair.client_host.send(pair.connection, [b"small"])
    pair.run()
    assert pair.client.drained == []


class Disk:
    def __init__(self, contents: bytes) -> None:
        self.fs = SimFileSystem(SimClock(), 1)
        self.file = self.fs.open("/disk/0.log", OpenMode.CREATE)
        self.file.write_at(0, [contents])


def test_a_file_range_is_read_when_it_is_sent() -> None:
    pair, disk = Pair(settings=NetworkSettings(send_buffer_bytes=100)), Disk(b"old" * 200)
    pair.run()
    part = disk.file.range(0, 600)
    pair.server_host.send(pair.accepted, [b"head", part, b"tail"])
    disk.file.write_at(300, [b"new" * 100])
    disk.file.close()
    pair.run(400)
    assert pair.client.data == b"head" + b"old" * 100 + b"new" * 100 + b"tail"
    with pytest.raises(HandleClosed):
        part.read(1)


def test_a_file_that_shrank_closes_the_connection() -> None:
    pair, disk = Pair(settings=NetworkSettings(send_buffer_bytes=100)), Disk(bytes(600))
    pair.run()
    part = disk.file.range(0, 600)
    pair.server_host.send(pair.accepted, [part])
    disk.file.truncate(50)
    pair.run(200)
    assert [event.reason for event in pair.server.closed] == ["a file range could not be sent"]
    assert [event.reason for event in pair.client.closed] == ["reset"]
    with pytest.raises(HandleClosed):
        part.read(1)


def test_a_disk_that_fails_closes_the_connection(pair: Pair) -> None:
    disk = Disk(bytes(600))
    disk.fs.disk("/disk").faults.fail(Op.READ)
    pair.server_host.send(pair.accepted, [disk.file.range(0, 600)])
    pair.run()
    assert len(pair.server.closed) == len(pair.client.closed) == 1


def test_closing_delivers_what_was_handed_over_and_ends_both(pair: Pair) -> None:
    pair.client_host.send(pair.connection, [b"last words"])
    pair.client_host.close(pair.connection)
    pair.run()
    assert pair.server.data == b"last words"
    assert pair.server.closed == [Closed(pair.accepted, "closed by the peer")]
    assert pair.client.closed == []


def test_parts_for_a_connection_that_ended_are_dropped(pair: Pair) -> None:
    disk = Disk(b"abc")
    waiting, late = disk.file.range(0, 3), disk.file.range(0, 3)
    pair.network.settings.send_buffer_bytes = 1
    pair.server_host.mute(pair.accepted)
    pair.client_host.send(pair.connection, [b"blocked", waiting])
    pair.client_host.close(pair.connection)
    pair.client_host.close(pair.connection)
    pair.client_host.send(pair.connection, [b"x", late])
    pair.client_host.mute(pair.connection)
    for part in (waiting, late):
        with pytest.raises(HandleClosed):
            part.read(1)


def test_a_reset_loses_what_was_on_its_way(pair: Pair) -> None:
    pair.client_host.send(pair.connection, [b"lost"])
    pair.client_host.reset(pair.connection)
    pair.run()
    assert pair.server.data == b""
    assert [event.reason for event in pair.server.closed + pair.client.closed] == ["reset", "reset"]


def test_connections_die_by_chance() -> None:
    closed = 0
    for seed in range(50):
        pair = Pair(seed, NetworkSettings(reset_chance=0.05))
        for _ in range(10):
            pair.client_host.send(pair.connection, [b"x" * 100])
            pair.run(10)
        assert len(pair.client.closed) == len(pair.server.closed)
        assert pair.server.data == b"x" * len(pair.server.data)
        closed += len(pair.client.closed)
    assert 10 < closed < 50


@pytest.mark.parametrize(("host", "port"), [("server", 1), ("nowhere", 9092)])
def test_where_nobody_listens_a_connection_is_refused(pair: Pair, host: str, port: int) -> None:
    connection = pair.client.connect(host, port)
    pair.run()
    assert pair.client.closed == [Closed(connection, "refused")]


def test_a_partition_holds_everything_until_it_heals(pair: Pair) -> None:
    pair.network.partition("client", "server")
    pair.client_host.send(pair.connection, [b"late"])
    pair.server_host.send(pair.accepted, [b"back"])
    other = pair.client.connect("server", 9092)
    pair.run()
    assert (pair.server.data, pair.client.data, pair.client.connected) == (b"", b"", [pair.connection])
    assert pair.network.next_delivery_ms() is None
    pair.network.heal()
    assert pair.network.next_delivery_ms() is not None
    pair.run()
    assert (pair.server.data, pair.client.data) == (b"late", b"back")
    assert pair.client.connected == [pair.connection, other]


def test_a_one_way_partition_lets_the_other_way_pass(pair: Pair) -> None:
    pair.network.partition("client", "server", one_way=True)
    pair.client_host.send(pair.connection, [b"held"])
    pair.server_host.send(pair.accepted, [b"passes"])
    pair.run()
    assert (pair.server.data, pair.client.data) == (b"", b"passes")


def test_a_dead_process_is_noticed_and_refuses(pair: Pair) -> None:
    pair.server_host.kill()
    pair.run()
    assert [event.reason for event in pair.client.closed] == ["reset"]
    again = pair.client.connect("server", 9092)
    pair.run()
    assert pair.client.closed[1:] == [Closed(again, "refused")]
    pair.server_host.listen(9092, "PLAINTEXT")
    pair.server.serve()
    pair.client.connect("server", 9092)
    pair.run()
    assert len(pair.client.connected) == 2


def test_a_lost_machine_is_silent_until_it_is_back(pair: Pair) -> None:
    pair.server_host.lose_power()
    pair.client_host.send(pair.connection, [b"into the void"])
    unanswered = pair.client.connect("server", 9092)
    pair.run()
    assert pair.client.closed == []
    pair.server_host.restart()
    pair.run()
    assert pair.client.closed == [Closed(pair.connection, "reset")]
    assert unanswered not in pair.client.connected
    assert pair.server.data == b""


def test_time_of_the_next_delivery(pair: Pair) -> None:
    assert pair.network.next_delivery_ms() is None
    pair.network.settings.delay_ms_min = pair.network.settings.delay_ms_max = 40
    pair.client_host.send(pair.connection, [b"x"])
    assert pair.network.next_delivery_ms() == pair.clock.monotonic_ms() + 40
    pair.run(39)
    assert pair.server.data == b""
    pair.run(1)
    assert pair.server.data == b"x"


def test_one_seed_is_one_history() -> None:
    def digest(seed: int) -> str:
        pair = Pair(seed, NetworkSettings(reset_chance=0.02))
        for i in range(20):
            pair.client_host.send(pair.connection, [bytes([i]) * 500])
            pair.run(3)
        return pair.trace.digest()

    assert [digest(seed) for seed in range(5)] == [digest(seed) for seed in range(5)]
    assert len(dict.fromkeys(digest(seed) for seed in range(5))) == 5
