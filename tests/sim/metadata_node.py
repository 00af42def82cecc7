"""One voter on a simulated machine: quorum, metadata log, image, and a small machine instead of the controller, which
keeps settings in a MetadataDraft. Tests submit requests, settle, restart, and look at the state."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidelog.metadata.configs import ConfigResource, ResourceType
from tidelog.metadata.draft import MetadataDraft
from tidelog.metadata.records.cluster import ConfigRecord
from tidelog.metadata.records.transactions import AbortTransactionRecord
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import NodeId, Uuid
from tidelog.raft.quorum import Quorum
from tidelog.raft.voters import ReplicaKey, VoterEndpoint, VoterNode, VoterSet, static_voters
from tidelog.server.metadata_log.bootstrap_checkpoint import read_bootstrap
from tidelog.server.metadata_log.controller_machine import MetadataMachine, committed_messages
from tidelog.server.metadata_log.image_follower import ImageFollower
from tidelog.server.metadata_log.loading import load_metadata_log
from tidelog.server.metadata_log.log_config import MetadataLogConfig
from tidelog.server.metadata_log.quorum import MetadataQuorum
from tidelog.server.node.formatting import FormatRequest, format_log_dirs
from tidelog.sim.clock import SimClock
from tidelog.sim.entropy import SimEntropy
from tidelog.sim.files import SimFileSystem
from tidelog.storage.checkpoints.meta_properties import read_meta_properties
from tidelog.storage.log.loader import LogContext
from tidelog.storage.segment.descriptors import Descriptors

LOG_DIR = "/disk/metadata"
NODE_ID = NodeId(1)
ENDPOINT = VoterEndpoint("CONTROLLER", "localhost", 9093)
STATIC = static_voters(["1@localhost:9093"], "CONTROLLER")
NOBODY = VoterSet()
RESOURCE = ConfigResource(ResourceType.TOPIC, "t")


@dataclass
class Answer:
    records: list[Any]
    response: Any
    is_atomic: bool = True
    answers: Sequence[tuple[Any, Any]] = ()
    effects: Sequence[Any] = ()


def set_value(name: str, value: str) -> tuple[ConfigRecord, int]:
    record = ConfigRecord(resource_type=ResourceType.TOPIC.value, resource_name="t", name=name, value=value)
    return record, 0


@dataclass
class Settings:
    """A replicated machine. Requests: (name, value) to set, "all" to read, "slow" to take many steps, "bad" to be
    refused, "bug" to fail, an Answer to be given as it is."""

    draft: MetadataDraft = field(default_factory=MetadataDraft)
    deadline: int | None = None
    handled_ms: list[int] = field(default_factory=list)

    @property
    def values(self) -> dict[str, str]:
        return dict(self.draft.configs.get(RESOURCE, {}))

    def replay(self, message: Any) -> None:
        self.draft.replay(message)

    def handle(self, now_ms: int, request: Any) -> Answer | Generator[None, None, Answer]:
        self.handled_ms.append(now_ms)
        match request:
            case Answer():
                return request
            case (name, value):
                return Answer([set_value(name, value)], f"{name} is set")
            case "slow":
                return self._slow()
            case "bad":
                raise ApiError(ErrorCode.INVALID_CONFIG, "no")
            case "bug":
                raise ZeroDivisionError
        return Answer([], self.values)

    def _slow(self) -> Generator[None, None, Answer]:
        before = self.values
        for _ in range(5):
            yield
        assert self.values == before, "somebody else ran on the machine"
        return Answer([set_value("slow", "1")], "slow is set")

    def step(self, now_ms: int, _wall_ms: int) -> Answer:
        self.deadline = None
        return Answer([set_value("stepped", str(now_ms))], None)


def format_node(fs: SimFileSystem, clock: SimClock, *, standalone: bool = False) -> None:
    request = FormatRequest(
        "cluster", NODE_ID, [LOG_DIR], LOG_DIR, True, not standalone, ENDPOINT, standalone=standalone
    )
    format_log_dirs(fs, SimEntropy(3), request, clock.wall_ms())


class MetadataNode:
    """The voter of one process. After `fs.kill` or `fs.lose_power`, make another one on the same machine."""

    def __init__(
        self,
        fs: SimFileSystem,
        clock: SimClock,
        config: MetadataLogConfig | None = None,
        voters: VoterSet = STATIC,
        endpoint: VoterEndpoint = ENDPOINT,
    ) -> None:
        self.fs = fs
        self.fs.forbids_waits = False
        self.clock = clock
        self.bugs: list[Exception] = []
        meta = read_meta_properties(fs, LOG_DIR)
        directory_id = Uuid(b"d" * 16) if meta is None or meta.directory_id is None else meta.directory_id
        context = LogContext(Descriptors(fs, 8))
        self.loaded = load_metadata_log(context, LOG_DIR, config or MetadataLogConfig(), voters, clock.wall_ms())
        self.log = self.loaded.log
        local = VoterNode(ReplicaKey(NODE_ID, directory_id), (endpoint,))
        self.quorum = MetadataQuorum(Quorum(local, self.loaded.history, SimEntropy(1)), self.log)
        self.machine: MetadataMachine[Settings] = MetadataMachine(
            self.quorum, Settings, self._activation, lambda _request, bug: self.bugs.append(bug)
        )
        self.follower = ImageFollower(self.log, self.loaded.history, self.now)

    def _activation(self, machine: Settings, _now_ms: int) -> Answer:
        """Return the first records of a new leader, like the controller: a transaction that was left open is aborted,
        and a new cluster gets its bootstrap records."""
        abort = [(AbortTransactionRecord(), 0)] if machine.draft.in_transaction else []
        first = [] if machine.draft.metadata_version else read_bootstrap(self.fs, LOG_DIR)
        return Answer([*abort, *first], None)

    @property
    def now(self) -> int:
        return self.clock.monotonic_ms()

    @property
    def settings(self) -> Settings:
        machine = self.machine.replicated.machine
        assert machine is not None
        return machine

    def start(self) -> "MetadataNode":
        """Start the quorum and let it settle. From here on any wait for the disk is an error."""
        self.fs.forbids_waits = True
        self.quorum.start(self.loaded.election, self.now, self.clock.wall_ms())
        self.settle()
        return self

    def turn(self) -> None:
        wall_ms = self.clock.wall_ms()
        self.quorum.turn(self.fs.completions(), self.now, wall_ms)
        self.machine.turn(self.now, wall_ms, lambda: False)
        self.follower.advance(lambda: False)
        self.follower.snapshot_if_due(self.now, wall_ms)

    def settle(self) -> None:
        """Run turns until nothing is left to do, except what waits for its time."""
        while True:
            self.turn()
            due_ms = self.fs.next_completion_ms()
            if due_ms is not None:
                self.clock.advance_to(max(due_ms, self.now))
            elif not (self.machine.has_work or self.quorum.has_work):
                return

    def submit(self, request: Any) -> list[Any]:
        """Submit a request; return the list in which its answer will appear."""
        answers: list[Any] = []
        self.machine.submit(self.now, request, answers.append)
        return answers

    def ask(self, request: Any) -> Any:
        answers = self.submit(request)
        self.settle()
        assert len(answers) == 1
        return answers[0]

    def validate(self) -> None:
        twin = Settings()
        state = self.machine.replicated
        state.validate_state(twin, committed_messages(self.log), lambda machine: machine.draft.freeze(0, 0, 0))

    def stop(self) -> None:
        self.settle()
        self.quorum.resign(self.now, self.clock.wall_ms(), is_final=True)
        self.settle()
        self.fs.forbids_waits = False
        self.log.close(self.clock.wall_ms())
