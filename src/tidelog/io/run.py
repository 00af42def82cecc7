"""A node on this machine: real ports, the loop, and signals.

SIGTERM, SIGINT   stop in order; a second one stops at once, as kill -9 would
SIGHUP            read the settings again (the caller says how); what may change while the node runs takes effect
"""

import logging
import resource
import signal
from collections.abc import Callable

from tidelog.config import BrokerConfig
from tidelog.config.endpoints import parse_address
from tidelog.config.settings.metrics import METRICS_LISTENER
from tidelog.io.clock import SystemClock
from tidelog.io.entropy import SystemEntropy
from tidelog.io.files import PosixFileSystem
from tidelog.io.garbage import Garbage
from tidelog.io.housekeeping import WorkerProcesses
from tidelog.io.process import SystemProcess
from tidelog.io.reactor import Reactor
from tidelog.ports.network import Address
from tidelog.server.node import Node, Phase, Ports

FEW_DESCRIPTORS = 10_000
WAIT_MS_MAX = 1_000
CLEANER = "tidelog.io.cleaner_worker"

log = logging.getLogger("tidelog.node")


class WatchedWorkers(WorkerProcesses):
    """A worker that has something to say ends the reactor's wait; the node's turn then asks for it."""

    def __init__(self, reactor: Reactor) -> None:
        super().__init__(CLEANER)
        self._reactor = reactor
        self._is_stopped = False
        reactor.watch(self.fileno(), lambda: None)

    def stop(self) -> None:
        if not self._is_stopped:
            self._is_stopped = True
            self._reactor.unwatch(self.fileno())
            super().stop()


class ReloadRefused(Exception):
    """The settings can not be read, or are wrong; those there were stay."""


class Runner:
    def __init__(self, config: BrokerConfig, read_config: Callable[[], BrokerConfig] | None = None) -> None:
        """`read_config`: the settings as they are now, for a reload; ReloadRefused where they are wrong."""
        self._config = config
        self._read_config = read_config
        self.reactor = Reactor()
        self.fs = PosixFileSystem(self.reactor.wake)
        self.clock = SystemClock()
        self.bound: dict[str, Address] = {}
        self.metrics_address: Address | None = None  # where metrics and health are told, if anywhere
        self.node: Node | None = None
        self.housekeeping = WatchedWorkers(self.reactor)
        self.garbage = Garbage()
        self._stops = 0
        self._must_reload = False

    def listen(self) -> None:
        """OSError when a port is taken. Clients that come early wait until the node serves."""
        for listener in self._config.listener_plan.listeners:
            self.bound[listener.name] = self.reactor.listen(listener.name, listener.host, listener.port)
        where = self._config.get(METRICS_LISTENER)
        if where is not None:
            address = parse_address(where)
            self.metrics_address = self.reactor.listen(METRICS_LISTENER.name, address.host, address.port)

    def start(self) -> Node:
        ports = Ports(self.clock, SystemEntropy(), self.fs, self.reactor, self.housekeeping, SystemProcess())
        self.node = Node(self._config, ports, self.bound)
        return self.node

    def run_until(self, phase: Phase, on_turn: Callable[[Node], None] | None = None) -> None:
        """Turns, until the node is that far (or stopped, where `stop` was called)."""
        node = self.node
        assert node is not None
        while node.phase not in (phase, Phase.STOPPED):
            self._turn(node)
            if on_turn is not None:
                on_turn(node)

    def freeze(self) -> None:
        """What is there after the start lives as long as the process: the collector need not look at it again."""
        self.garbage.settle()
        if self.node is not None:
            self.node.broker.turn.times.worst_ns = 0  # of the turns that clients can notice

    def _turn(self, node: Node) -> None:
        self._wait(node)
        if self._stops and node.phase is not Phase.STOPPING:
            self.reactor.stop_listening()
            node.begin_stop()
        if self._must_reload:
            self._must_reload = False
            self._reload(node)
        node.turn()

    def _wait(self, node: Node) -> None:
        deadline_ms = node.deadline_ms
        timeout_ms = WAIT_MS_MAX if deadline_ms is None else deadline_ms - self.clock.monotonic_ms()
        if timeout_ms > 0:
            self.garbage.idle()
        self.reactor.wait(min(WAIT_MS_MAX, max(0, timeout_ms)))

    def stop(self) -> None:
        """From a signal handler or another thread: the next turn begins to stop."""
        self._stops += 1
        self.reactor.wake()

    def reload(self) -> None:
        """From a signal handler or another thread: the next turn reads the settings again."""
        self._must_reload = True
        self.reactor.wake()

    def _reload(self, node: Node) -> None:
        if self._read_config is None:
            return
        try:
            config = self._read_config()
        except ReloadRefused as error:
            log.error("the settings stay as they are: %s", error)
            return
        node.config.reload(config)
        log.info("the settings were read again")

    @property
    def is_stopping(self) -> bool:
        return self._stops > 0

    def serve(self) -> None:
        """Until it is stopped, in order."""
        self.run_until(Phase.STOPPED)

    def close(self) -> None:
        """Whatever is left of it. A node that did not stop in order leaves its directory as a dead process would."""
        self.housekeeping.stop()
        self.reactor.shut_down()
        self.fs.close()
        if self.node is not None and self.node.phase is not Phase.STOPPED:
            self.node.files.release()


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


def reload_on_signal(reload: Callable[[], None]) -> None:
    signal.signal(signal.SIGHUP, lambda _number, _frame: reload())
