"""A whole node under a seed: its disk, its network, its clock, and clients that talk to it in its own protocol.

    world = NodeWorld(seed=7)
    client = world.client()
    response = client.ask(MetadataRequest(topics=None), version=12)
    world.kill() or world.lose_power(); world.start()

The same Node runs as in production; only the ports are simulated. Time passes only while somebody waits for something,
a millisecond at a time. As in production the node has a turn only when something is ready or its deadline has come: one
that forgets a deadline is late here too. While it serves, nothing in a turn may wait for the disk (`forbids_waits`).
"""

from collections.abc import Mapping
from typing import Any, Final

from tidelog.config import BrokerConfig, format_properties, load_broker_config
from tidelog.model.ids import NodeId
from tidelog.ports.network import Address, ConnectionId
from tidelog.protocol.client_connection import ClientConnection
from tidelog.protocol.messages.registry import RESPONSES
from tidelog.raft.voters import VoterEndpoint
from tidelog.server.node.formatting import FormatRequest, format_log_dirs
from tidelog.server.node.node import Node, Phase, Ports
from tidelog.sim.clock import SimClock
from tidelog.sim.disk import DiskSettings
from tidelog.sim.entropy import SimEntropy, stream
from tidelog.sim.files import SimFileSystem
from tidelog.sim.housekeeping import JobSteps, SimHousekeeping
from tidelog.sim.network import SimNetwork
from tidelog.sim.trace import Trace
from tidelog.sim.wire import NetworkSettings
from tidelog.storage.append.batch_work import BatchJob, do_batch_job
from tidelog.storage.cleaner.cleaning import clean_log

PORT: Final = 9092
CONTROLLER_PORT: Final = 9093
CLUSTER_ID: Final = "AbCdEfGhIjKlMnOpQrStUv"
PATIENCE_MS: Final = 60_000
PREPARATION_STEPS_MAX: Final = 20
NANOSECONDS_PER_MS: Final = 1_000_000


class GaveUp(Exception):
    """Nothing came within a minute of simulated time."""


class SimClient:
    """One connection to the node, and the Receiver of its bytes."""

    def __init__(self, world: "NodeWorld", port: int = PORT) -> None:
        self._world = world
        self._protocol = ClientConnection(RESPONSES, "sim")
        self.is_closed = False
        self.connection: ConnectionId = world.client_host.connect("node", port, self)

    def writable(self) -> memoryview:
        return self._protocol.receive.writable()

    def received(self, count: int) -> None:
        self._protocol.receive.commit(count)

    def connected(self) -> None: ...

    def drained(self) -> None: ...

    def closed(self, _reason: str) -> None:
        self.is_closed = True

    def send(self, request: object, version: int, *, expect_response: bool = True) -> None:
        parts = self._protocol.send(request, version, expect_response=expect_response)
        self._world.client_host.send(
            self.connection, [part if isinstance(part, bytes) else bytes(part) for part in parts]
        )

    def send_bytes(self, data: bytes) -> None:
        self._world.client_host.send(self.connection, [data])

    def poll(self) -> Any:
        """Return a response that has arrived, or None."""
        found = self._protocol.next_response()
        self._protocol.receive.release()
        return None if found is None else found.message

    def receive(self) -> Any:
        """Wait for the next response and return it; EOFError when the connection has ended instead."""

        def look() -> Any:
            message = self.poll()
            if message is None and self.is_closed:
                raise EOFError
            return message

        return self._world.wait_for(look)

    def ask(self, request: object, version: int) -> Any:
        self.send(request, version)
        return self.receive()

    def close(self) -> None:
        self._world.client_host.close(self.connection)


class BusyClock(SimClock):
    """A clock on which work takes time: `look_ns` for every look at the nanoseconds. So slices and turns come to their
    end."""

    def __init__(self, look_ns: int) -> None:
        super().__init__()
        self.look_ns = look_ns
        self._spent_ns = 0

    def monotonic_ns(self) -> int:
        spent_ms, self._spent_ns = divmod(self._spent_ns + self.look_ns, NANOSECONDS_PER_MS)
        self.advance(spent_ms)
        return super().monotonic_ns() + self._spent_ns


class NodeWorld:
    def __init__(
        self,
        seed: int = 1,
        overrides: Mapping[str, str] | None = None,
        network: NetworkSettings | None = None,
        disks: Mapping[str, DiskSettings] | None = None,
        trace: Trace | None = None,
        look_ns: int = 0,
    ) -> None:
        """Format the disks and start the node. `disks` by mount point. `trace` hears of every operation of the disks,
        and may end the world at one."""
        self.clock = BusyClock(look_ns)
        self.fs = SimFileSystem(self.clock, seed, disks or {"/disk": DiskSettings()}, trace=trace)
        self.network = SimNetwork(self.clock, seed, network)
        self.node_host, self.client_host = self.network.host("node"), self.network.host("client")
        self.overrides = dict(overrides or {})
        self._seed = seed
        self.lives = 0  # how often the node was started
        self._random = stream(seed, "batch workers")
        self.node: Node | None = None
        self.turns = 0  # how many turns the node has had
        self._format()
        self.start()

    @property
    def running(self) -> Node:
        assert self.node is not None, "the node is down"
        return self.node

    def config(self) -> BrokerConfig:
        properties = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@node:{CONTROLLER_PORT}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"PLAINTEXT://node:{PORT},CONTROLLER://node:{CONTROLLER_PORT}",
            "log.dirs": "/disk/a",
            "log.dir.reserved.bytes": "0",
            **self.overrides,
        }
        return load_broker_config(format_properties(properties), "the simulation").config

    def _format(self) -> None:
        config = self.config()
        request = FormatRequest(
            cluster_id=CLUSTER_ID,
            node_id=NodeId(1),
            log_dirs=config.log_dirs,
            metadata_log_dir=config.log_dirs[0],
            is_controller=True,
            has_static_voters=True,
            controller_endpoint=VoterEndpoint("CONTROLLER", "node", CONTROLLER_PORT),
        )
        format_log_dirs(self.fs, SimEntropy(self._seed), request, self.clock.wall_ms())

    def _prepare_slowly(self, _fs: object, job: BatchJob) -> JobSteps:
        """Do the job of a batch worker, after as many steps as the seed will have it."""
        for _ in range(self._random.randrange(PREPARATION_STEPS_MAX)):
            yield None
        return do_batch_job(job)

    # The node's life

    def start(self, *, until_running: bool = True) -> None:
        self.lives += 1
        self.fs.forbids_waits = False
        self.node_host.listen(PORT, "PLAINTEXT")
        self.node_host.listen(CONTROLLER_PORT, "CONTROLLER")
        entropy = SimEntropy(self._seed * 1_000 + self.lives)
        self.housekeeping = SimHousekeeping(self.fs, self._seed * 1_000 + self.lives, clean_log)
        self.batch_workers = SimHousekeeping(self.fs, self._seed * 1_000 + self.lives, self._prepare_slowly)
        ports = Ports(self.clock, entropy, self.fs, self.node_host, self.housekeeping, self.batch_workers)
        bound = {"PLAINTEXT": Address("node", PORT), "CONTROLLER": Address("node", CONTROLLER_PORT)}
        self.node = Node(self.config(), ports, bound)
        if until_running:
            self.wait_for(lambda: self.running.phase is Phase.RUNNING or None)

    def stop(self) -> None:
        """Stop the node in order."""
        self.running.begin_stop()
        self.wait_for(lambda: self.running.phase is Phase.STOPPED or None)
        self.kill()

    def kill(self) -> None:
        """Let the process die; what it has written stays in the page cache."""
        self.node = None
        self.fs.kill()
        self.node_host.kill()
        self.batch_workers.stop()
        self.housekeeping.stop()  # after `fs.kill`: a dead worker clears nothing up

    def lose_power(self) -> None:
        self.node = None
        self.fs.lose_power()
        self.node_host.lose_power()
        self.node_host.restart()
        self.batch_workers.stop()
        self.housekeeping.stop()

    # Time

    def client(self, port: int = PORT) -> SimClient:
        return SimClient(self, port)

    def turn(self) -> None:
        """Give a turn to everybody who has a reason for one."""
        if self.node is not None:
            self.housekeeping.step()
            self.batch_workers.step()
            if self._wakes(self.node):
                self.turns += 1
                self._turn(self.node)
        self.client_host.poll()

    def _turn(self, node: Node) -> None:
        self.fs.forbids_waits = node.phase in (Phase.JOINING, Phase.RUNNING)
        try:
            node.turn()
        finally:
            self.fs.forbids_waits = False  # workers may wait

    def _wakes(self, node: Node) -> bool:
        """Tell whether `io.run` would end its wait: the deadline has come, or a poll finds something."""
        now_ms, deadline_ms, completion_ms = self.clock.monotonic_ms(), node.deadline_ms, self.fs.next_completion_ms()
        is_due = deadline_ms is not None and deadline_ms <= now_ms
        is_completed = completion_ms is not None and completion_ms <= now_ms
        is_readable = self.housekeeping.is_readable or self.batch_workers.is_readable
        return is_due or is_completed or self.node_host.is_ready or is_readable

    def run(self, duration_ms: int) -> None:
        for _ in range(duration_ms):
            self.turn()
            self.clock.advance(1)

    def wait_for(self, look: Any) -> Any:
        """Let time pass until `look` finds something."""
        until_ms = self.clock.monotonic_ms() + PATIENCE_MS
        while (found := look()) is None:
            if self.clock.monotonic_ms() > until_ms:
                raise GaveUp
            self.turn()
            self.clock.advance(1)
        return found
