"""A simulated network: hosts by name, and which of them can reach which.

    network = SimNetwork(clock, seed=7)
    node = network.host("node-1")           # the Network port of one machine: `sim.host`
    network.partition("node-1", "node-2")   # nothing passes, in either direction, until `heal`

A partition holds what is on its way, as retransmission does: after `heal` it arrives, late. That a connection dies of
one is the nodes' own decision, by their deadlines.
"""

from tidelog.ports.clock import Clock
from tidelog.ports.network import ConnectionId
from tidelog.sim.entropy import stream
from tidelog.sim.host import SimHost
from tidelog.sim.trace import Trace
from tidelog.sim.wire import NetworkSettings, Wire


class SimNetwork:
    def __init__(
        self, clock: Clock, seed: int, settings: NetworkSettings | None = None, trace: Trace | None = None
    ) -> None:
        self.clock = clock
        self.settings = settings or NetworkSettings()
        self.trace = trace or Trace()
        self.hosts: dict[str, SimHost] = {}
        self._random = stream(seed, "network")
        self._blocked: dict[tuple[str, str], None] = {}
        self._next_connection = 1

    def host(self, name: str) -> SimHost:
        """Return the host of that name, made when it is first asked for."""
        if name not in self.hosts:
            self.hosts[name] = SimHost(self, name)
        return self.hosts[name]

    def partition(self, one: str, other: str, *, one_way: bool = False) -> None:
        """Let nothing pass from `one` to `other`; nor back, unless the partition is one-way."""
        self.trace.record(self.clock.monotonic_ms(), "partition", one, other, one_way)
        self._blocked[one, other] = None
        if not one_way:
            self._blocked[other, one] = None

    def heal(self) -> None:
        self.trace.record(self.clock.monotonic_ms(), "heal")
        self._blocked.clear()

    def passes(self, wire: Wire) -> bool:
        return (wire.source, wire.target) not in self._blocked

    def new_wire(self, source: str, target: str) -> Wire:
        return Wire(source, target, self.settings, self._random)

    def new_connection(self) -> ConnectionId:
        connection = ConnectionId(self._next_connection)
        self._next_connection += 1
        return connection

    def next_delivery_ms(self) -> int | None:
        """Return when the simulation has to let some host poll again."""
        due = [host.next_delivery_ms() for host in self.hosts.values()]
        return min((each for each in due if each is not None), default=None)
