"""The node's part in the control plane: the metadata log, its quorum, the controller while it leads, and the image.

In a combined node the broker asks its own controller; the image is what every node follows, the committed records, and
not what the controller has just decided.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

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
from tidelog.server.metadata_log.controller_machine import MetadataMachine
from tidelog.server.metadata_log.image_follower import ImageFollower
from tidelog.server.metadata_log.loading import LoadedMetadataLog
from tidelog.server.metadata_log.log import MetadataShortage
from tidelog.server.metadata_log.quorum import MetadataQuorum

READ_AGAIN_MS: Final = 1_000  # after a shortage of descriptors


class ControlPlane:
    """The control plane of one node: `node.control_plane`."""

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
        self.machine: MetadataMachine[Controller] = MetadataMachine(
            self.quorum, self._make, self._activate, on_bug, Controller.hear
        )
        self._follower = ImageFollower(loaded.log, loaded.history, now_ms)
        self._read_again_ms: int | None = None  # after a shortage of descriptors

    def _make(self) -> Controller:
        history = self._loaded.history
        return Controller(
            self._config,
            self._entropy,
            self._cluster_id,
            lambda: self.quorum.end_offset,
            kraft_version=history.kraft_version,
            quorum_node_ids=history.voters.ids,
            shortage=self._loaded.log.ballast.shortage,
        )

    def _activate(self, controller: Controller, now_ms: int) -> Result:
        return controller.activate(self._bootstrap, now_ms)

    @property
    def image(self) -> MetadataImage:
        return self._follower.image

    @property
    def fault(self) -> StorageFault | None:
        """The fault because of which the node can not go on; None while it can."""
        return self._loaded.log.fault

    def take_problems(self) -> list[str]:
        """Return, once, the problems that cost no more than time: no room for a snapshot, say."""
        log = self._loaded.log
        problems, log.problems = log.problems, []
        return problems

    def take_shortages(self) -> list[MetadataShortage]:
        """Return what could not be written for want of room since the last call: the node waits for room."""
        log = self._loaded.log
        shortages, log.shortages = log.shortages, []
        return shortages

    @property
    def is_ready(self) -> bool:
        """Tell whether the controller is at work, and the image is as new as the log."""
        return self.machine.replicated.is_active and self.quorum.is_settled and not self._follower.is_behind

    @property
    def is_starved(self) -> bool:
        """Tell whether there is no room for what a leader has to write, while the image is as new as the log and knows
        this broker: then it serves reads (`standing_by`)."""
        is_known = self._config.get(node.NODE_ID) in self.image.brokers
        return self._loaded.log.is_starved and is_known and not self._follower.is_behind

    @property
    def has_work(self) -> bool:
        is_following = self._follower.is_behind and not self._loaded.log.is_unread
        return self.quorum.has_work or self.machine.has_work or is_following

    @property
    def deadline_ms(self) -> int | None:
        deadlines = (self.quorum.deadline, self.machine.deadline, self._read_again_ms)
        return min((each for each in deadlines if each is not None), default=None)

    def start(self, now_ms: int, wall_ms: int) -> None:
        self.quorum.start(self._loaded.election, now_ms, wall_ms)

    def advance(
        self, completions: Iterable[Completion], now_ms: int, wall_ms: int, is_over: Callable[[], bool]
    ) -> Changes | None:
        """Do the first half of a turn: take in what the disk completed, and follow what is committed by that. Return
        what changed in the image."""
        self._read_again_if_due(now_ms)
        self.quorum.turn(completions, now_ms, wall_ms)
        changes = self._follower.advance(is_over)
        self._follower.snapshot_if_due(now_ms, wall_ms)
        self._rest_if_short(now_ms)
        return changes

    def _read_again_if_due(self, now_ms: int) -> None:
        if self._read_again_ms is not None and now_ms >= self._read_again_ms:
            self._read_again_ms = None
            self._loaded.log.read_again()

    def _rest_if_short(self, now_ms: int) -> None:
        if self._loaded.log.is_unread and self._read_again_ms is None:
            self._read_again_ms = now_ms + READ_AGAIN_MS

    def turn(self, now_ms: int, wall_ms: int, is_over: Callable[[], bool]) -> None:
        """Do the second half of a turn: the controller's requests, and the answers to those that are committed."""
        self.machine.turn(now_ms, wall_ms, is_over)
        self._rest_if_short(now_ms)

    def resign(self, now_ms: int, wall_ms: int) -> None:
        """Give the leadership up for good: the node stops."""
        self.quorum.resign(now_ms, wall_ms, is_final=True)

    @property
    def is_busy(self) -> bool:
        return self._loaded.log.is_busy

    def close(self, wall_ms: int) -> None:
        self._loaded.log.close(wall_ms)
