"""A node on this machine: real ports, the loop, and signals.

SIGTERM, SIGINT   stop in order; a second one stops at once, as kill -9 would
SIGHUP            read the settings again (the caller says how); what may change while the node runs takes effect
"""

import logging
import resource
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace

from tidelog.config import BrokerConfig
from tidelog.config.endpoints import parse_address, parse_voter
from tidelog.config.settings.metrics import METRICS_LISTENER
from tidelog.config.settings.node import NODE_ID
from tidelog.config.settings.quorum import CONTROLLER_QUORUM_VOTERS
from tidelog.io.clock import SystemClock
from tidelog.io.entropy import SystemEntropy
from tidelog.io.files import PosixFileSystem
from tidelog.io.garbage import Garbage
from tidelog.io.housekeeping import STOP_SECONDS, WorkerProcesses
from tidelog.io.preloading import Preloading
from tidelog.io.process import SystemProcess
from tidelog.io.reactor import Reactor
from tidelog.ports.errors import TooManyOpenFiles
from tidelog.ports.network import Address
from tidelog.server.node.deferred_modules import deferred_modules
from tidelog.server.node.descriptor_budget import UNLIMITED, WAY_OUT
from tidelog.server.node.node import Node, Phase, Ports

WAIT_MS_MAX = 1_000
SHORTAGE_REST_MS = 1_000
SHORTAGE_LINE_MS = 60_000
CLEANER = "tidelog.io.cleaner_worker"
BATCH_WORKER = "tidelog.io.batch_worker"

log = logging.getLogger("tidelog.node")


class WatchedWorkers(WorkerProcesses):
    """Workers whose events end the reactor's wait; the node's turn then asks for them."""

    def __init__(self, reactor: Reactor, module: str, stop_seconds: float = STOP_SECONDS) -> None:
        super().__init__(module, stop_seconds)
        self._reactor = reactor
        self._is_stopped = False
        reactor.watch(self.fileno(), lambda: None)

    def stop(self) -> None:
        if not self._is_stopped:
            self._is_stopped = True
            self._reactor.unwatch(self.fileno())
            super().stop()


class ReloadRefused(Exception):
    """The settings cannot be read, or are wrong; those that are in use stay."""


class Runner:
    def __init__(self, config: BrokerConfig, read_config: Callable[[], BrokerConfig] | None = None) -> None:
        """Prepare the ports. `read_config` returns the settings as they are now, for a reload; ReloadRefused where they
        are wrong."""
        self._config = config
        self._read_config = read_config
        self.reactor = Reactor()
        self.fs = PosixFileSystem(self.reactor.wake)
        self.clock = SystemClock()
        self.bound: dict[str, Address] = {}
        self.metrics_address: Address | None = None  # where metrics and health are served, if anywhere
        self.node: Node | None = None
        self.housekeeping = WatchedWorkers(self.reactor, CLEANER)
        self.batch_workers = WatchedWorkers(self.reactor, BATCH_WORKER, stop_seconds=0)  # it has no files
        self.garbage = Garbage()
        self._preloading: Preloading | None = None  # from when the node serves until everything is imported
        self._stops = 0
        self._must_reload = False

    def listen(self) -> None:
        """Open the listeners. OSError when a port is taken. Clients that come early wait until the node serves."""
        for listener in self._config.listener_plan.listeners:
            self.bound[listener.name] = self.reactor.listen(listener.name, listener.host, listener.port)
        self._config = with_own_voter(self._config, self.bound)
        where = self._config.get(METRICS_LISTENER)
        if where is not None:
            address = parse_address(where)
            self.metrics_address = self.reactor.listen(METRICS_LISTENER.name, address.host, address.port)

    def start(self) -> Node | None:
        """Return the node, once its files are open. As long as no descriptor is left for that, the start waits for one.
        None where the runner was told to stop meanwhile."""
        ports = Ports(
            self.clock,
            SystemEntropy(),
            self.fs,
            self.reactor,
            self.housekeeping,
            self.batch_workers,
            SystemProcess(),
            descriptor_limit(),
        )
        said_at_ms: int | None = None
        while not self._stops:
            try:
                self.node = Node(self._config, ports, self.bound)
                return self.node
            except TooManyOpenFiles as shortage:
                if said_at_ms is None or self.clock.monotonic_ms() - said_at_ms >= SHORTAGE_LINE_MS:
                    said_at_ms = self.clock.monotonic_ms()
                    log.warning("the start waits: no file descriptor is left: %s; %s", shortage, WAY_OUT)
                self._rest(SHORTAGE_REST_MS)
        return None

    def _rest(self, duration_ms: int) -> None:
        """Wait, unless told to stop. Nobody is served yet."""
        until_ms = self.clock.monotonic_ms() + duration_ms
        while not self._stops and (left_ms := until_ms - self.clock.monotonic_ms()) > 0:
            self.reactor.wait(left_ms)
            self.reactor.poll()

    def run_until(self, phase: Phase, on_turn: Callable[[Node], None] | None = None) -> None:
        """Run turns until the node has reached the phase (or has stopped, where `stop` was called)."""
        node = self.node
        if node is None:  # the runner was stopped before the node began
            return
        while node.phase not in (phase, Phase.STOPPED):
            self._turn(node)
            if on_turn is not None:
                on_turn(node)

    def begin_to_serve(self) -> None:
        """Import in idle moments, after the start, what else the node needs; then it is settled."""
        has_metrics = self.metrics_address is not None
        self._preloading = Preloading(deferred_modules(has_metrics=has_metrics))
        if self.node is not None:
            self.node.broker.turn.times.worst_ns = 0  # of the turns that clients can notice

    def _preload(self, preloading: Preloading) -> None:
        preloading.turn(is_idle=not self.reactor.is_ready)
        if preloading.is_done:
            self._preloading = None
            # All that is imported and built by now lives as long as the process: the collector need not see it again.
            self.garbage.settle()

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
        if self._preloading is not None:
            self.reactor.wait(min(self._preloading.wait_ms, max(0, timeout_ms)))
            self._preload(self._preloading)
            return
        if timeout_ms > 0:
            self.garbage.idle()
        self.reactor.wait(min(WAIT_MS_MAX, max(0, timeout_ms)))

    def stop(self) -> None:
        """Have the next turn begin to stop; from a signal handler or another thread."""
        self._stops += 1
        self.reactor.wake()

    def reload(self) -> None:
        """Have the next turn read the settings again; from a signal handler or another thread."""
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
        changed = node.config.reload(config)
        log.info("the settings were read again; %s", f"changed: {', '.join(changed)}" if changed else "nothing changed")

    @property
    def is_stopping(self) -> bool:
        return self._stops > 0

    def serve(self) -> None:
        """Run until the node has stopped in order."""
        self.run_until(Phase.STOPPED)

    def close(self) -> None:
        """Release whatever is left. A node that did not stop in order leaves its directory as a dead process would."""
        self.housekeeping.stop()
        self.batch_workers.stop()
        self.reactor.shut_down()
        self.fs.close()
        if self.node is not None and self.node.phase is not Phase.STOPPED:
            self.node.files.release()


def with_own_voter(config: BrokerConfig, bound: Mapping[str, Address]) -> BrokerConfig:
    """Return `config` with the port that this node's controller listens on, where `controller.quorum.voters` has 0 for
    it: a port that was free could not be known when the settings were written."""
    node_id, names = config.get(NODE_ID), config.listener_plan.controller_names
    ports = [bound[name].port for name in names if name in bound]
    entries: tuple[str, ...] = config.get(CONTROLLER_QUORUM_VOTERS)
    voters = [parse_voter(text) for text in entries]
    if not ports or not any(each.node_id == node_id and not each.address.port for each in voters):
        return config
    texts = [
        f"{each.node_id}@{each.address.host}:{each.address.port or ports[0]}" if each.node_id == node_id else text
        for each, text in zip(voters, entries, strict=True)
    ]
    static = {**config.layers.static, CONTROLLER_QUORUM_VOTERS.name: ",".join(texts)}
    return BrokerConfig(replace(config.layers, static=static))


def raise_descriptor_limit() -> None:
    """Raise the soft limit to the hard one, where the system allows it (macOS has a hard limit that it does not)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def descriptor_limit() -> int:
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return UNLIMITED if soft == resource.RLIM_INFINITY else min(soft, UNLIMITED)


def stop_on_signals(stop: Callable[[], None]) -> None:
    def handle(number: int, _frame: object) -> None:
        stop()
        signal.signal(number, signal.SIG_DFL)  # a second signal ends the process at once

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handle)


def reload_on_signal(reload: Callable[[], None]) -> None:
    signal.signal(signal.SIGHUP, lambda _number, _frame: reload())
