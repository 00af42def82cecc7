"""The node's part in the control plane: the metadata log, its quorum, the controller while it leads, and the image.

In a combined node the broker asks its own controller; the image is what every node follows, the committed records, and
not what the controller has just decided.
"""

from collections.abc import Callable, Iterable
from typing import Any

from tidelog.config import BrokerConfig
from tidelog.config.settings import node, quorum
from tidelog.controller.controller import Controller
from tidelog.controller.results import Result
from tidelog.metadata.changes import Changes
from tidelog.metadata.image import MetadataImage
from tidelog.metadata.record_framing import MetadataRecord
from tidelog.model.ids import NodeId, Uuid
from tidelog.ports.entropy import Entropy
from tidelog.ports.errors import StorageFault
from tidelog.ports.files import Completion
from tidelog.raft.quorum import Quorum, QuorumTimeouts
from tidelog.raft.voters import ReplicaKey, VoterEndpoint, VoterNode
from tidelog.server.metadata_log_image import ImageFollower
from tidelog.server.metadata_log_load import LoadedMetadataLog
from tidelog.server.metadata_log_machine import MetadataMachine
from tidelog.server.metadata_log_quorum import MetadataQuorum


class ControlPlane:
    def __init__(
        self,
        config: BrokerConfig,
        entropy: Entropy,
        cluster_id: str,
        loaded: LoadedMetadataLog,
        directory_id: Uuid,
        endpoint: VoterEndpoint,
        bootstrap: list[MetadataRecord],
        on_bug: Callable[[Any, Exception], None],
        now_ms: int,
    ) -> None:
        self._config = config
        self._entropy = entropy
        self._cluster_id = cluster_id
        self._bootstrap = bootstrap
        self._loaded = loaded
        local = VoterNode(ReplicaKey(NodeId(config.get(node.NODE_ID)), directory_id), (endpoint,))
        timeouts = QuorumTimeouts(config.get(quorum.CONTROLLER_QUORUM_ELECTION_TIMEOUT_MS))
        self.quorum = MetadataQuorum(Quorum(local, loaded.history, entropy, timeouts), loaded.log)
        self.machine: MetadataMachine[Controller] = MetadataMachine(self.quorum, self._make, self._activate, on_bug)
        self._follower = ImageFollower(loaded.log, loaded.history, now_ms)

    def _make(self) -> Controller:
        history = self._loaded.history
        return Controller(
            self._config,
            self._entropy,
            self._cluster_id,
            lambda: self.quorum.end_offset,
            kraft_version=history.kraft_version,
            quorum_node_ids=history.voters.ids,
        )

    def _activate(self, controller: Controller, now_ms: int) -> Result:
        return controller.activate(self._bootstrap, now_ms)

    @property
    def image(self) -> MetadataImage:
        return self._follower.image

    @property
    def fault(self) -> StorageFault | None:
        """Why the node can not go on."""
        return self._loaded.log.fault

    def take_problems(self) -> list[str]:
        """That cost no more than time: no room for a snapshot, say."""
        log = self._loaded.log
        problems, log.problems = log.problems, []
        return problems

    @property
    def is_ready(self) -> bool:
        """The controller is at work, and the image is as new as the log."""
        return self.machine.replicated.is_active and self.quorum.is_settled and not self._follower.is_behind

    @property
    def has_work(self) -> bool:
        return self.quorum.has_work or self.machine.has_work or self._follower.is_behind

    @property
    def deadline_ms(self) -> int | None:
        deadlines = (self.quorum.deadline, self.machine.deadline)
        return min((each for each in deadlines if each is not None), default=None)

    def start(self, now_ms: int, wall_ms: int) -> None:
        self.quorum.start(self._loaded.election, now_ms, wall_ms)

    def advance(
        self, completions: Iterable[Completion], now_ms: int, wall_ms: int, is_over: Callable[[], bool]
    ) -> Changes | None:
        """The first half of a turn: what the disk brought, and what is committed by that."""
        self.quorum.turn(completions, now_ms, wall_ms)
        changes = self._follower.advance(is_over)
        self._follower.snapshot_if_due(now_ms, wall_ms)
        return changes

    def turn(self, now_ms: int, wall_ms: int, is_over: Callable[[], bool]) -> None:
        """The second half: the controller's requests, and answers to those that are committed."""
        self.machine.turn(now_ms, wall_ms, is_over)

    def resign(self, now_ms: int, wall_ms: int) -> None:
        """For good: the node stops."""
        self.quorum.resign(now_ms, wall_ms, is_final=True)

    @property
    def is_busy(self) -> bool:
        return self._loaded.log.is_busy

    def close(self, wall_ms: int) -> None:
        self._loaded.log.close(wall_ms)
