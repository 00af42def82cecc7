"""A node on this machine: real ports, the loop, and signals.

SIGTERM, SIGINT   stop in order; a second one stops at once, as kill -9 would
SIGHUP            read the file's dynamic settings again (the caller says how)
"""

import gc
import resource
import signal
from collections.abc import Callable

from tidelog.config import BrokerConfig
from tidelog.io.clock import SystemClock
from tidelog.io.entropy import SystemEntropy
from tidelog.io.files import PosixFileSystem
from tidelog.io.reactor import Reactor
from tidelog.ports.network import Address
from tidelog.server.node import Node, Phase, Ports

FEW_DESCRIPTORS = 10_000
WAIT_MS_MAX = 1_000


class Runner:
    def __init__(self, config: BrokerConfig) -> None:
        self._config = config
        self.reactor = Reactor()
        self.fs = PosixFileSystem(self.reactor.wake)
        self.clock = SystemClock()
        self.bound: dict[str, Address] = {}
        self.node: Node | None = None
        self._stops = 0

    def listen(self) -> None:
        """OSError when a port is taken. Clients that come early wait until the node serves."""
        for listener in self._config.listener_plan.listeners:
            self.bound[listener.name] = self.reactor.listen(listener.name, listener.host, listener.port)

    def start(self) -> Node:
        ports = Ports(self.clock, SystemEntropy(), self.fs, self.reactor)
        self.node = Node(self._config, ports, self.bound)
        return self.node

    def run_until(self, phase: Phase, on_turn: Callable[[Node], None] | None = None) -> None:
        """Turns, until the node is that far (or stopped)."""
        node = self.node
        assert node is not None
        while node.phase not in (phase, Phase.STOPPED):
            self._wait(node)
            node.turn()
            if on_turn is not None:
                on_turn(node)

    def freeze(self) -> None:
        """What is there after the start lives as long as the process: the collector need not look at it again."""
        gc.collect()
        gc.freeze()

    def _wait(self, node: Node) -> None:
        deadline_ms = node.deadline_ms
        timeout_ms = WAIT_MS_MAX if deadline_ms is None else deadline_ms - self.clock.monotonic_ms()
        self.reactor.wait(min(WAIT_MS_MAX, max(0, timeout_ms)))

    def stop(self) -> None:
        """From a signal handler or another thread: the next turn begins to stop."""
        self._stops += 1
        self.reactor.wake()

    @property
    def is_stopping(self) -> bool:
        return self._stops > 0

    def serve(self) -> None:
        """Until it is stopped, in order."""
        node = self.node
        assert node is not None
        while node.phase is not Phase.STOPPED:
            self._wait(node)
            if self._stops and node.phase is not Phase.STOPPING:
                self.reactor.stop_listening()
                node.begin_stop()
            node.turn()

    def close(self) -> None:
        self.reactor.shut_down()
        self.fs.close()


def raise_descriptor_limit() -> int:
    """The soft limit up to the hard one; returns what it is now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def stop_on_signals(stop: Callable[[], None]) -> None:
    def handle(number: int, _frame: object) -> None:
        stop()
        signal.signal(number, signal.SIG_DFL)  # a second one does not wait

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handle)
