"""A node: the control plane and the broker of one process, from its start to its stop, a turn at a time.

    electing -> loading -> joining -> running -> stopping -> stopped

    electing   the metadata log is read, the quorum has a leader, the image is as new as the log
    loading    the partitions' logs are opened, and recovered where the last stop was not in order
    joining    registered, hosting what the metadata say, not serving anybody yet; where there is no room for that,
               serving reads of what was there before (`standing_by`)
    running
    stopping   leaving the cluster in order, then everything to the disk, then the marker that says so (`stopping`)

Whoever owns the process calls `turn` whenever something is ready or `deadline_ms` has come (`io.run`, the simulator).
A node that waits for something else, a disk or a controller, has no deadline of now: it does not spin.
"""

from collections.abc import Iterator, Mapping, Sequence

from tidelog.config import BrokerConfig, TopicConfig
from tidelog.config.settings import node as node_settings
from tidelog.config.settings.metrics import METRICS_LISTENER
from tidelog.metadata.changes import Changes
from tidelog.metadata.errors import MetadataError
from tidelog.model.lazy_dataclass import dataclass
from tidelog.ports.clock import Clock
from tidelog.ports.entropy import Entropy, random_uuid
from tidelog.ports.errors import StorageFault
from tidelog.ports.files import Completion, FileSystem
from tidelog.ports.housekeeping import Housekeeping
from tidelog.ports.network import Address, Network
from tidelog.ports.process import Process
from tidelog.server.cluster.advertised import Advertised, fixed_addresses
from tidelog.server.cluster.endpoints import registered_endpoints
from tidelog.server.cluster.registration import Registration, State
from tidelog.server.events import Events
from tidelog.server.hosting.replica_directories import ReplicaDirectories
from tidelog.server.http.connections import HttpServer
from tidelog.server.http.pages import pages_of
from tidelog.server.metadata_log.control_plane import ControlPlane
from tidelog.server.node.broker import Broker
from tidelog.server.node.config import NodeConfig
from tidelog.server.node.descriptor_budget import UNLIMITED, DescriptorBudget
from tidelog.server.node.files import NodeFiles, budget_of, open_node_files
from tidelog.server.node.life_lines import LifeLines
from tidelog.server.node.periodic import Periodic
from tidelog.server.node.phase import Phase
from tidelog.server.node.standing_by import stand_by, withhold_room
from tidelog.server.node.start_loading import StartLoading
from tidelog.server.node.stopping import hold_off, stop_steps
from tidelog.server.node.tasks import add_tasks
from tidelog.server.requests.registry import HANDLERS
from tidelog.storage.cleaner.cleaner_config import cleaner_config
from tidelog.storage.cleaner.scheduler import LogCleaner
from tidelog.storage.directories.loading import LoadProgress

__all__ = ["Node", "NodeFailed", "Phase", "Ports"]

# Of a turn's time, for opening logs at the start.
# For operations on the logs, so many pieces between two looks at the clock.
LOGS_NS = 8_000_000
PIECES_A_ROUND = 4
ROUNDS_MAX = 32


class NodeFailed(Exception):
    """The node can not go on, and says why. What it has acknowledged is on disk as promised."""


@dataclass(slots=True)
class Ports:
    clock: Clock
    entropy: Entropy
    fs: FileSystem
    network: Network
    housekeeping: Housekeeping
    batch_workers: Housekeeping | None = None  # for produced batches that take longer than a turn
    process: Process | None = None  # what the metrics tell of it; not known of a simulated one
    descriptors: int = UNLIMITED  # that the process may have open


class Node:
    events: Events
    phase: Phase

    def __init__(self, config: BrokerConfig, ports: Ports, bound: Mapping[str, Address]) -> None:
        """`bound`: where each listener listens. LockHeld when another process has a log directory; other errors say
        what is wrong with the files."""
        self._file_config = config
        self.ports = ports
        clock = ports.clock
        now_ms, wall_ms = clock.monotonic_ms(), clock.wall_ms()
        self.events = Events(clock)
        self.phase = Phase.ELECTING
        self.budget: DescriptorBudget = budget_of(config, ports.descriptors)
        self.files: NodeFiles = open_node_files(config, ports.fs, self._topic_config, wall_ms, self.budget)
        self.progress: LoadProgress = self.files.progress
        self._loading = StartLoading(self.files, clock, self.events)
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
        self.broker.preparations.employ(ports.batch_workers)
        self.broker.connections.budget = self.budget.connections
        self.config = NodeConfig(config, self.broker, self.files.context.producer_config)
        self.cleaner: LogCleaner | None = None  # until the logs are there
        self._bound = bound
        self.http = HttpServer(clock, ports.network, self.events, pages_of(self))
        self._lines = LifeLines(self, bound)
        self._has_slices = self._has_put_off = False
        self._others_are_busy = True
        self._rest_due_ms: int | None = now_ms
        self._periodic = Periodic()
        self._stopping: Iterator[int | None] = iter(())
        self._stop_by_ms: int | None = None
        self._is_serving = self._is_standing_by = False
        self.control.start(now_ms, wall_ms)
        ports.network.serve(self.http.accept, METRICS_LISTENER.name)

    def _topic_config(self, topic: str) -> TopicConfig:
        return self.broker.topic_config(topic)

    # The loop

    @property
    def deadline_ms(self) -> int | None:
        """When the next turn is due at the latest; now, where there is work left."""
        broker = self.broker
        turn = broker.turn
        coordinators = broker.coordinators
        if turn.has_backlog or turn.is_eventful or coordinators.has_work or broker.logs.failures or self.http.has_work:
            return turn.monotonic_ms
        if broker.preparations.has_news or (self.cleaner is not None and self.cleaner.has_news):
            return turn.monotonic_ms
        flush_ms = self.files.context.flush_queue.due_ms
        flush_by_ms = None if flush_ms is None else self._from_wall(flush_ms)
        earliest: int | None = broker.purgatory.deadline_ms
        for each in (flush_by_ms, self._rest_due_ms, coordinators.deadline_ms):
            if each is not None and (earliest is None or each < earliest):
                earliest = each
        return earliest

    def _from_wall(self, wall_ms: int) -> int:
        """What goes by the wall clock is due as far from now by the monotonic one."""
        turn = self.broker.turn
        return turn.monotonic_ms + wall_ms - turn.wall_ms

    def turn(self) -> None:
        broker = self.broker
        turn = broker.turn
        turn.begin()
        if self.phase is Phase.STOPPING:
            hold_off(broker)
        self.ports.network.poll()
        if broker.preparations.is_busy:
            broker.preparations.collect()
        completions = self.ports.fs.completions()
        is_full = bool(completions) or turn.is_eventful or self._is_more_due()
        if is_full:
            turn.is_eventful = False
            self._work(completions)
        broker.coordinators.turn()
        if turn.may_expire(broker.purgatory.is_due(turn.monotonic_ms)):
            broker.purgatory.expire(turn.monotonic_ms, turn.is_expiring_over)
        turn.end()
        if is_full:
            self._move_logs(turn.wall_ms)
            self._look_ahead()
            self._lines.follow()
        if self.http.has_work:
            self.http.work(turn.monotonic_ms)
        turn.note_time()

    def _is_more_due(self) -> bool:
        """Whether others than the data path have something to do. Most turns of a busy broker are its alone."""
        turn, rest_due_ms, flush_ms = self.broker.turn, self._rest_due_ms, self.files.context.flush_queue.due_ms
        return (
            self._others_are_busy
            or (rest_due_ms is not None and turn.monotonic_ms >= rest_due_ms)
            or (flush_ms is not None and turn.wall_ms >= flush_ms)
            or bool(self.broker.logs.failures)
        )

    def _work(self, completions: Sequence[Completion]) -> None:
        broker, turn = self.broker, self.broker.turn
        now_ms, wall_ms = turn.monotonic_ms, turn.wall_ms
        changes = self._advance(completions)
        if changes is not None:
            self._apply(changes)
        if completions:
            broker.complete(completions)
        if self.cleaner is not None:
            self.cleaner.complete(completions, wall_ms)
            self.cleaner.tick(wall_ms)
        if changes is not None and not self._has_put_off and turn.is_over():
            self._has_put_off = self._has_slices = True  # thousands of changes take a turn of their own
        else:
            self._has_put_off = False
            self._has_slices = self._work_on_logs()
            broker.hosted.work()
        self._check_faults()
        self._run_controller()
        self._step_phase(now_ms, wall_ms)
        if broker.registration is not None:
            broker.registration.turn(now_ms)
            broker.hosted.directories.turn(now_ms)
        if self.phase is not Phase.STOPPING:
            self._periodic.turn(now_ms)

    def _advance(self, completions: Sequence[Completion]) -> Changes | None:
        turn = self.broker.turn
        try:
            return self.control.advance(completions, turn.monotonic_ms, turn.wall_ms, turn.is_over)
        except (StorageFault, MetadataError) as fault:
            raise NodeFailed(f"the metadata log: {fault}") from fault

    def _work_on_logs(self) -> bool:
        """A slice of what waits for its turn: how much of it fits depends on the disk. Whether any is left."""
        clock, logs, wall_ms = self.ports.clock, self.broker.logs, self.broker.turn.wall_ms
        until_ns = clock.monotonic_ns() + LOGS_NS
        for _ in range(ROUNDS_MAX):
            if not logs.work(wall_ms, PIECES_A_ROUND):
                return False
            if clock.monotonic_ns() > until_ns:
                break
        return True

    def _run_controller(self) -> None:
        turn = self.broker.turn
        try:
            self.control.turn(turn.monotonic_ms, turn.wall_ms, turn.is_over)
        except (StorageFault, MetadataError) as fault:
            raise NodeFailed(f"the metadata log: {fault}") from fault

    def _look_ahead(self) -> None:
        """When the others have something to do next, if nothing is completed or asked before."""
        broker, moves = self.broker, self.broker.logs.moves
        is_cleaning = self.cleaner is not None and self.cleaner.is_busy
        # A copy follows its original; a worker says something at any time.
        self._others_are_busy = self.phase is not Phase.RUNNING or is_cleaning or moves.is_active
        has_slices = self._has_slices or broker.logs.has_work  # begun since, for new partitions say
        is_loading = self.phase is Phase.LOADING and self._loading.rest_until_ms is None
        if has_slices or broker.hosted.has_queue or self.control.has_work or is_loading:
            self._rest_due_ms = broker.turn.monotonic_ms
        else:
            self._rest_due_ms = min((each for each in self._deadlines() if each is not None), default=None)

    def _deadlines(self) -> list[int | None]:
        broker = self.broker
        found = [
            self.control.deadline_ms,
            self._loading.rest_until_ms,
            broker.hosted.directories.deadline_ms,
            None if broker.registration is None else broker.registration.deadline_ms,
        ]
        if self.cleaner is not None:
            by_wall = [self.cleaner.deadline_ms]
            if self.phase is not Phase.STOPPING:
                by_wall.append(broker.logs.moves.deadline_ms(broker.turn.wall_ms))
            found += [None if each is None else self._from_wall(each) for each in by_wall]
        return [*found, self._stop_by_ms if self.phase is Phase.STOPPING else self._periodic.deadline_ms]

    def _move_logs(self, wall_ms: int) -> None:
        """Behind the turn, when nothing is staged: what is appended next may have to go to another log."""
        broker = self.broker
        if self.phase in (Phase.JOINING, Phase.RUNNING):
            broker.logs.step_moves(wall_ms)
            broker.hosted.change_over()

    def _check_faults(self) -> None:
        if self.control.fault is not None:
            raise NodeFailed(f"the metadata log: {self.control.fault}")
        for problem in self.control.take_problems():
            self.events.metadata_problem(problem)
        for short in self.control.take_shortages():
            self.events.metadata_shortage(short.log_dir, short.wanted_bytes, short.error)
        for problem in () if self.cleaner is None else self.cleaner.take_problems():
            self.events.cleaning_failed(problem)
        broker = self.broker
        for shortage in broker.logs.take_shortages():
            self.events.shortage(shortage)
        failures, broker.logs.failures = broker.logs.failures, []
        for failed in failures:
            self.events.directory_failed(failed.path, failed.fault, len(failed.partitions))
            broker.hosted.fail(failed)
            # One that could not even be opened is unknown to the controller.
            if broker.registration is not None and failed.path in self.files.directory_ids:
                broker.registration.directory_failed(self.files.directory_ids[failed.path])
        if failures and not any(each.is_online for each in broker.logs.directories.values()):
            raise NodeFailed("no log directory is left: see the lines above for what happened to each")

    # Phases

    def _step_phase(self, now_ms: int, wall_ms: int) -> None:
        match self.phase:
            case Phase.ELECTING if self.control.is_ready or self.control.is_starved:
                self.phase = Phase.LOADING
            case Phase.LOADING if self._loading.step(now_ms):
                self._register(now_ms, wall_ms)
            case Phase.JOINING:
                self._join()
            case Phase.STOPPING:
                self._stop()

    def _register(self, now_ms: int, wall_ms: int) -> None:
        broker, entropy, files = self.broker, self.ports.entropy, self.files
        config = cleaner_config(broker.config)
        self.cleaner = self.config.cleaner = LogCleaner(broker.logs, self.ports.housekeeping, entropy, config, wall_ms)
        directories = ReplicaDirectories(broker, files.directory_ids)
        broker.logs.moves.may_commit = directories.may_commit
        broker.hosted.start(broker.image, directories)
        broker.registration = Registration(
            broker,
            random_uuid(entropy),
            registered_endpoints(self._file_config, self._bound),
            list(files.directory_ids.values()),
            broker.logs.previous_broker_epoch,
            files.cordoned_ids,
        )
        add_tasks(self._periodic, broker, self.http, now_ms)
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
            withhold_room(self.broker, is_withheld=False)
            self._serve()
        elif self.control.is_starved and not self._is_standing_by:
            self._is_standing_by = True
            stand_by(self.broker)
        elif self._is_standing_by and not self._is_serving and not self.broker.hosted.is_behind:
            self._serve()
            self._lines.serves_reads()

    def _serve(self) -> None:
        if not self._is_serving:
            self._is_serving = True
            self.ports.network.serve(self.broker.accept)

    def _apply(self, changes: Changes) -> None:
        broker = self.broker
        broker.image = self.control.image
        broker.generation += 1
        self.config.follow(changes)
        if broker.registration is not None:  # before that, everything is looked at when the logs are there
            broker.hosted.apply(changes)
        broker.coordinators.image_changed(changes)

    # Stopping

    @property
    def is_busy(self) -> bool:
        """Whether anything is on its way to the disk."""
        is_cleaning = self.cleaner is not None and self.cleaner.is_busy
        return self.broker.logs.is_flushing or self.control.is_busy or is_cleaning

    def begin_stop(self) -> None:
        """In order: what was acknowledged is on disk, the cluster knows that we are gone, the next start is quick."""
        if self.phase not in (Phase.STOPPING, Phase.STOPPED):
            self.phase = Phase.STOPPING
            self._stopping = stop_steps(self)
            self._stop_by_ms = self._rest_due_ms = 0
            self._others_are_busy = True

    def _stop(self) -> None:
        try:
            self._stop_by_ms = next(self._stopping)
        except StopIteration:
            self.phase = Phase.STOPPED
        except StorageFault as fault:
            raise NodeFailed(f"the metadata log could not be closed: {fault}") from fault
