"""A node: the control plane and the broker of one process, from its start to its stop, a turn at a time.

    electing -> loading -> joining -> running -> stopping -> stopped

    electing   the metadata log is read, the quorum has a leader, the image is as new as the log
    loading    the partitions' logs are opened, and recovered where the last stop was not in order
    joining    registered, hosting what the metadata say, not serving anybody yet
    running
    stopping   leaving the cluster in order, then everything to the disk, then the marker that says so

Whoever owns the process calls `turn` whenever something is ready or `deadline_ms` has come (`io.run`, the simulator).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from tidelog.config import BrokerConfig, Setting, TopicConfig, apply_dynamic
from tidelog.config.settings import log as log_settings
from tidelog.config.settings import node as node_settings
from tidelog.config.settings import transactions
from tidelog.metadata.changes import Changes
from tidelog.metadata.configs import ConfigResource, ResourceType
from tidelog.ports.clock import Clock
from tidelog.ports.entropy import Entropy, random_uuid
from tidelog.ports.files import FileSystem
from tidelog.ports.network import Address, Network
from tidelog.server.advertised import Advertised, fixed_addresses
from tidelog.server.broker import Broker
from tidelog.server.control_plane import ControlPlane
from tidelog.server.endpoints import registered_endpoints
from tidelog.server.events import Events
from tidelog.server.node_files import NodeFiles, open_node_files
from tidelog.server.periodic import Periodic
from tidelog.server.registration import Registration, State
from tidelog.server.registry import HANDLERS
from tidelog.storage.logs_loading import LoadProgress

# Of a turn's time, for opening logs at the start.
LOADING_NS = 20_000_000
IDLE_CHECK_MS = 1_000


class Phase(Enum):
    ELECTING = "electing"
    LOADING = "loading"
    JOINING = "joining"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"


class NodeFailed(Exception):
    """The node can not go on, and says why. What it has acknowledged is on disk as promised."""


@dataclass(slots=True)
class Ports:
    clock: Clock
    entropy: Entropy
    fs: FileSystem
    network: Network


class Node:
    def __init__(self, config: BrokerConfig, ports: Ports, bound: Mapping[str, Address]) -> None:
        """`bound`: where each listener listens. LockHeld when another process has a log directory; other errors say
        what is wrong with the files."""
        self._file_config = config
        self._ports = ports
        clock = ports.clock
        now_ms, wall_ms = clock.monotonic_ms(), clock.wall_ms()
        self.events = Events(clock)
        self.phase = Phase.ELECTING
        self.files: NodeFiles = open_node_files(config, ports.fs, self._topic_config, wall_ms)
        self.progress: LoadProgress = self.files.progress
        node_id = config.get(node_settings.NODE_ID)
        self.control = ControlPlane(
            config,
            ports.entropy,
            self.files.cluster_id,
            self.files.metadata,
            self.files.metadata_directory_id,
            self.files.controller_endpoint(bound),
            self.files.bootstrap,
            self.events.controller_bug,
            now_ms,
        )
        self.broker = Broker(
            config,
            node_id,
            self.files.cluster_id,
            clock,
            ports.entropy,
            ports.network,
            self.files.logs,
            self.control.quorum,
            self.control.machine,
            HANDLERS,
            self.events,
            self.control.image,
            Advertised(node_id, fixed_addresses(config, bound)),
        )
        self._bound = bound
        self._has_slices = False
        self._periodic = Periodic()
        self.control.start(now_ms, wall_ms)

    def _topic_config(self, topic: str) -> TopicConfig:
        return self.broker.topic_config(topic)

    # The loop

    @property
    def deadline_ms(self) -> int | None:
        """When the next turn is due at the latest; now, where there is work left."""
        broker = self.broker
        if self._has_work():
            return broker.turn.monotonic_ms
        registration = broker.registration
        deadlines = (
            broker.purgatory.deadline_ms,
            self.control.deadline_ms,
            self._periodic.deadline_ms,
            registration.deadline_ms if registration is not None else None,
        )
        return min((each for each in deadlines if each is not None), default=None)

    def _has_work(self) -> bool:
        broker = self.broker
        return (
            bool(broker.turn.backlog)
            or self._has_slices
            or broker.hosted.has_queue
            or self.control.has_work
            or self.phase in (Phase.LOADING, Phase.STOPPING)
        )

    def turn(self) -> None:
        broker = self.broker
        turn = broker.turn
        turn.begin()
        self._ports.network.poll()
        now_ms, wall_ms = turn.monotonic_ms, turn.wall_ms
        completions = self._ports.fs.completions()
        changes = self.control.advance(completions, now_ms, wall_ms, turn.is_over)
        if changes is not None:
            self._apply(changes)
        if completions:
            broker.complete(completions)
        logs = broker.logs
        logs.flush_due(wall_ms)
        logs.step_moves(wall_ms)
        self._has_slices = logs.work(wall_ms)
        broker.hosted.work()
        self._check_faults()
        self.control.turn(now_ms, wall_ms, turn.is_over)
        self._step_phase(now_ms, wall_ms)
        if broker.registration is not None:
            broker.registration.turn(now_ms)
        broker.purgatory.expire(now_ms)
        self._periodic.turn(now_ms)
        turn.end()

    def _check_faults(self) -> None:
        if self.control.fault is not None:
            raise NodeFailed(f"the metadata log: {self.control.fault}")
        broker = self.broker
        failures, broker.logs.failures = broker.logs.failures, []
        for failed in failures:
            self.events.directory_failed(failed.path, failed.fault, len(failed.partitions))
            broker.hosted.fail(failed)
            if broker.registration is not None:
                broker.registration.directory_failed(self.files.directory_id(failed.path))
        if failures and not any(each.is_online for each in broker.logs.directories.values()):
            raise NodeFailed("no log directory is left: see the lines above for what happened to each")

    # Phases

    def _step_phase(self, now_ms: int, wall_ms: int) -> None:
        match self.phase:
            case Phase.ELECTING if self.control.is_ready:
                self.phase = Phase.LOADING
            case Phase.LOADING:
                self._load(now_ms)
            case Phase.JOINING:
                self._join()
            case Phase.STOPPING:
                self._stop(now_ms, wall_ms)

    def _load(self, now_ms: int) -> None:
        clock = self._ports.clock
        until_ns = clock.monotonic_ns() + LOADING_NS
        while next(self.files.loading, None) is not None:
            if clock.monotonic_ns() > until_ns:
                return
        self._register(now_ms)

    def _register(self, now_ms: int) -> None:
        broker, entropy = self.broker, self._ports.entropy
        broker.hosted.start(broker.image)
        broker.registration = Registration(
            broker,
            random_uuid(entropy),
            registered_endpoints(self._file_config, self._bound),
            self.files.directory_ids,
            broker.logs.previous_broker_epoch,
        )
        self._add_tasks(now_ms)
        self.phase = Phase.JOINING

    def _join(self) -> None:
        """Serving begins when the controller counts us in and everything that we lead is there."""
        registration = self.broker.registration
        assert registration is not None
        if not registration.is_ready and registration.state is State.FENCED and not self.broker.hosted.is_behind:
            registration.is_ready = True
            registration.hurry()
        if registration.state is State.ACTIVE and not self.broker.hosted.is_behind and self.control.is_ready:
            self.phase = Phase.RUNNING
            self._ports.network.serve(self.broker.accept)

    def _add_tasks(self, now_ms: int) -> None:
        broker, add = self.broker, self._periodic.add
        logs, turn = broker.logs, broker.turn

        def every(setting: Setting[int]) -> Callable[[], int]:
            return lambda: broker.config.get(setting)

        retention = every(log_settings.LOG_RETENTION_CHECK_INTERVAL_MS)
        add(now_ms, retention, lambda: logs.begin_retention(turn.wall_ms))
        add(now_ms, every(log_settings.LOG_FLUSH_OFFSET_CHECKPOINT_INTERVAL_MS), logs.begin_checkpoint)
        expiry = every(transactions.PRODUCER_ID_EXPIRATION_CHECK_INTERVAL_MS)
        add(now_ms, expiry, lambda: logs.begin_expiry(turn.wall_ms))
        add(now_ms, lambda: IDLE_CHECK_MS, lambda: broker.connections.close_idle(turn.monotonic_ms))

    # Metadata

    def _apply(self, changes: Changes) -> None:
        broker = self.broker
        broker.image = self.control.image
        broker.generation += 1
        brokers = (ConfigResource(ResourceType.BROKER, ""), ConfigResource(ResourceType.BROKER, str(broker.node_id)))
        if any(resource in changes.configs for resource in brokers):
            self._apply_config(*brokers)
        if broker.registration is not None:  # before that, everything is looked at when the logs are there
            broker.hosted.apply(changes)

    def _apply_config(self, cluster: ConfigResource, own: ConfigResource) -> None:
        broker = self.broker
        configs = broker.image.configs
        applied = apply_dynamic(self._file_config, configs.get(cluster) or {}, configs.get(own) or {})
        for problem in applied.problems:
            self.events.config_problem(problem)
        broker.reconfigure(applied.config)

    # Stopping

    def begin_stop(self) -> None:
        """In order: what was acknowledged is on disk, the cluster knows that we are gone, the next start is quick."""
        if self.phase in (Phase.STOPPING, Phase.STOPPED):
            return
        if self.broker.registration is not None:
            self.broker.registration.leave()
        self.phase = Phase.STOPPING

    def _stop(self, now_ms: int, wall_ms: int) -> None:
        broker = self.broker
        registration = broker.registration
        if registration is not None and registration.state is not State.LEFT:
            return
        for connection in broker.connections.all():
            broker.connections.close(connection)
        if broker.logs.is_flushing or self.control.is_busy:
            return
        if registration is not None:
            broker.logs.close(registration.broker_epoch, wall_ms)
        self.control.resign(now_ms, wall_ms)
        self.control.close(wall_ms)
        self.phase = Phase.STOPPED
