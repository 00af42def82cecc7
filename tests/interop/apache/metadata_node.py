"""Our controller on a real disk: one voter with the metadata log, the controller on it, and one registered broker."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.interop.apache.broker import CLUSTER_ID

from tidelog.config import BrokerConfig, load_broker_config
from tidelog.controller.controller import Controller
from tidelog.io.clock import SystemClock
from tidelog.io.entropy import SystemEntropy
from tidelog.io.files import PosixFileSystem
from tidelog.metadata.feature_levels import SERVED
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import NodeId, Uuid
from tidelog.ports.entropy import random_uuid
from tidelog.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from tidelog.protocol.messages.broker_registration import BrokerRegistrationRequest, Feature, Listener
from tidelog.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from tidelog.raft.quorum import Quorum
from tidelog.raft.voters import ReplicaKey, VoterEndpoint, VoterNode, VoterSet, static_voters
from tidelog.server.metadata_log.bootstrap_checkpoint import read_bootstrap
from tidelog.server.metadata_log.controller_machine import MetadataMachine
from tidelog.server.metadata_log.image_follower import ImageFollower
from tidelog.server.metadata_log.loading import load_metadata_log
from tidelog.server.metadata_log.log_config import MetadataLogConfig
from tidelog.server.metadata_log.quorum import MetadataQuorum
from tidelog.server.node.formatting import FormatRequest, format_log_dirs
from tidelog.storage.checkpoints.meta_properties import read_meta_properties
from tidelog.storage.log.loader import LogContext
from tidelog.storage.segment.descriptors import Descriptors

NODE_ID = NodeId(1)
ENDPOINT = VoterEndpoint("CONTROLLER", "127.0.0.1", 9093)
SETTLE_SECONDS_MAX = 20
PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:9093
listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093
controller.listener.names=CONTROLLER
log.dirs={directory}
"""


def format_ours(directory: Path, *, standalone: bool, **changes: Any) -> None:
    path = str(directory)
    request = FormatRequest(
        CLUSTER_ID, NODE_ID, [path], path, True, not standalone, ENDPOINT, standalone=standalone, **changes
    )
    fs = PosixFileSystem()
    format_log_dirs(fs, SystemEntropy(), request, SystemClock().wall_ms())
    fs.close()


class ControllerNode:
    def __init__(self, fs: PosixFileSystem, directory: Path, voters: VoterSet) -> None:
        self.fs = fs
        self.directory = str(directory)
        self.clock = SystemClock()
        self.bugs: list[Exception] = []
        self.config: BrokerConfig = load_broker_config(PROPERTIES.format(directory=directory)).config
        meta = read_meta_properties(fs, self.directory)
        assert meta is not None
        assert meta.directory_id is not None
        self.directory_id: Uuid = meta.directory_id
        context = LogContext(Descriptors(fs, 64))
        self.loaded = load_metadata_log(context, self.directory, MetadataLogConfig(), voters, self.clock.wall_ms())
        self.log = self.loaded.log
        local = VoterNode(ReplicaKey(NODE_ID, meta.directory_id), (ENDPOINT,))
        self.quorum = MetadataQuorum(Quorum(local, self.loaded.history, SystemEntropy()), self.log)
        self.machine: MetadataMachine[Controller] = MetadataMachine(
            self.quorum, self._make, self._activate, lambda _request, bug: self.bugs.append(bug)
        )
        self.follower = ImageFollower(self.log, self.loaded.history, self.clock.monotonic_ms())
        self.quorum.start(self.loaded.election, self.clock.monotonic_ms(), self.clock.wall_ms())
        self.settle()

    def _make(self) -> Controller:
        version = self.loaded.history.kraft_version
        return Controller(
            self.config, SystemEntropy(), CLUSTER_ID, lambda: self.quorum.end_offset, kraft_version=version
        )

    def _activate(self, controller: Controller, now_ms: int) -> Any:
        return controller.activate(read_bootstrap(self.fs, self.directory), now_ms)

    @property
    def controller(self) -> Controller:
        machine = self.machine.replicated.machine
        assert machine is not None
        return machine

    def settle(self) -> None:
        deadline = time.monotonic() + SETTLE_SECONDS_MAX
        while True:
            self._turn()
            busy = self.log.is_busy or self.machine.has_work or self.quorum.has_work or self.follower.is_behind
            if not busy and self.quorum.is_settled:
                return
            assert self.log.fault is None, self.log.fault
            assert time.monotonic() < deadline, "it does not settle"
            time.sleep(0.001)

    def _turn(self) -> None:
        now_ms, wall_ms = self.clock.monotonic_ms(), self.clock.wall_ms()
        self.quorum.turn(self.fs.completions(), now_ms, wall_ms)
        self.machine.turn(now_ms, wall_ms, lambda: False)
        self.follower.advance(lambda: False)

    def ask(self, request: Any) -> Any:
        answers: list[Any] = []
        self.machine.submit(self.clock.monotonic_ms(), request, answers.append)
        self.settle()
        assert not self.bugs, self.bugs
        assert len(answers) == 1
        assert not isinstance(answers[0], ErrorCode), answers
        return answers[0]

    def register_broker(self) -> None:
        """Register the broker and unfence it."""
        registration = BrokerRegistrationRequest(
            broker_id=NODE_ID,
            cluster_id=CLUSTER_ID,
            incarnation_id=random_uuid(SystemEntropy()),
            listeners=[Listener(name="PLAINTEXT", host="127.0.0.1", port=9092, security_protocol=0)],
            features=[
                Feature(name=name, min_supported_version=each.min, max_supported_version=each.max)
                for name, each in SERVED.items()
            ],
            rack=None,
            log_dirs=[self.directory_id],
        )
        answer = self.ask(registration)
        assert answer.error_code == 0, answer
        heartbeat = BrokerHeartbeatRequest(
            broker_id=NODE_ID,
            broker_epoch=answer.broker_epoch,
            current_metadata_offset=self.log.end_offset,
            want_fence=False,
            want_shut_down=False,
        )
        assert self.ask(heartbeat).error_code == 0

    def create_topic(self, name: str, partitions: int, **configs: str) -> Uuid:
        settings = [CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()]
        topic = CreatableTopic(
            name=name, num_partitions=partitions, replication_factor=1, assignments=[], configs=settings
        )
        (result,) = self.ask(CreateTopicsRequest(topics=[topic])).topics
        assert result.error_code == 0, result
        return Uuid(result.topic_id)

    def take_snapshot(self) -> Path:
        operation = self.follower.take_snapshot(self.clock.monotonic_ms(), self.clock.wall_ms())
        assert operation is not None
        self.settle()
        assert operation.is_done
        assert operation.fault is None
        return Path(self.log.directory) / f"{self.log.latest_snapshot}.checkpoint"

    def close(self) -> None:
        self.settle()
        self.quorum.resign(self.clock.monotonic_ms(), self.clock.wall_ms(), is_final=True)
        self.log.close(self.clock.wall_ms())


@contextmanager
def our_controller(directory: Path, *, is_static: bool = False) -> Iterator[ControllerNode]:
    """Run our controller on the directory, and stop it in order at the end."""
    fs = PosixFileSystem()
    try:
        voters = static_voters(["1@127.0.0.1:9093"], "CONTROLLER") if is_static else VoterSet()
        node = ControllerNode(fs, directory, voters)
        yield node
        node.close()
    finally:
        fs.close()
