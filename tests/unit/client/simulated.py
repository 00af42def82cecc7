"""The client in the simulator: the same Client, over the simulated network, with a node that the test starts and
kills."""

from collections.abc import Callable
from typing import Final

from tidelog.client.client import Client
from tidelog.server.node.node import Phase
from tidelog.sim.entropy import SimEntropy
from tidelog.sim.node_world import NodeWorld

# Settings of a node that coordinates groups and transactions, with few partitions to load.
COORDINATING: Final = {
    "offsets.topic.num.partitions": "2",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "2",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}


class SimWorld:
    """A client's World. Time passes, and the node runs its turns, only while the client waits."""

    def __init__(self, nodes: NodeWorld, seed: int = 1) -> None:
        self.nodes = nodes
        self.clock = nodes.clock
        self.entropy = SimEntropy(seed, "client")
        self.network = nodes.client_host
        self.on_tick: Callable[[], None] = lambda: None

    def resolve(self, host: str, _port: int) -> list[str]:
        return [host]

    def wait(self, timeout_ms: int) -> None:
        for _ in range(max(1, timeout_ms)):
            if self.nodes.node is not None:
                self.nodes.node.turn()
            due_ms = self.network.next_delivery_ms()
            if due_ms is not None and due_ms <= self.clock.monotonic_ms():
                return
            self.on_tick()
            self.clock.advance(1)

    def close(self) -> None: ...


class Outages:
    """A node that is killed and restarted `kills` times while a client waits. Each life takes about `life_ms`, which is
    long enough to serve something."""

    def __init__(self, world: SimWorld, kills: int, life_ms: int) -> None:
        self._world = world
        self._life_ms = life_ms
        self._lived_ms = 0
        self._kills = kills
        world.on_tick = self.tick

    def tick(self) -> None:
        nodes = self._world.nodes
        self._lived_ms += 1
        if nodes.node is None:
            nodes.start(until_running=False)
        elif nodes.node.phase is Phase.RUNNING and self._kills and self._lived_ms % self._life_ms == 0:
            self._kills -= 1
            nodes.kill()

    def end(self) -> None:
        """Check that all outages have happened, and leave the node running."""
        assert self._kills == 0, f"{self._kills} kills were left over: make the test longer"
        self._world.on_tick = lambda: None
        if self._world.nodes.node is None:
            self._world.nodes.start()


def client_of(nodes: NodeWorld, seed: int = 1) -> Client:
    return Client("node:9092", world=SimWorld(nodes, seed))


def world_of(client: Client) -> SimWorld:
    assert isinstance(client.world, SimWorld)
    return client.world
