"""Leads its epoch: writes the log, and knows how far a majority of the voters has it on disk.

The high watermark is the offset that a majority has reached. It does not move before that majority has a record of this
very epoch: records of earlier ones may still be replaced by a later leader, however many voters have them. That is why
an epoch begins with a record of its own, the LeaderChangeMessage. A leader counts itself only as far as it has synced.
"""

from collections.abc import Sequence
from typing import Any, Final

from tidelog.model.ids import NodeId
from tidelog.model.lazy_dataclass import dataclass, field
from tidelog.protocol.control_records import KRaftVersionRecord, LeaderChangeMessage, LeaderChangeMessageVoter
from tidelog.raft.quorum_state import ElectionState
from tidelog.raft.voter_history import KRAFT_VERSION_STATIC, VoterHistory
from tidelog.raft.voters import ReplicaKey, VoterNode, VoterSet, to_record

LEADER_CHANGE_VERSION: Final = 0
KRAFT_VERSION_RECORD_VERSION: Final = 0
_OF_THE_FORMAT: Final = -1  # the offset of voters that only the snapshot of `format` has, and not the log


@dataclass(slots=True)
class Leader:
    epoch: int
    local: ReplicaKey
    epoch_start_offset: int
    voters: VoterSet
    high_watermark: int | None = None
    end_offsets: dict[NodeId, int] = field(default_factory=dict)  # how far each voter has it on disk

    deadline = None

    @property
    def leader_id(self) -> NodeId:
        return self.local.id

    @property
    def election(self) -> ElectionState:
        return ElectionState(self.epoch, self.local.id, self.local)

    def reached(self, voter: ReplicaKey, offset: int) -> int | None:
        """Note that a voter has the log up to `offset` on its disk; return the high watermark if that moved it."""
        if self.voters.is_voter(voter):
            self.end_offsets[voter.id] = max(offset, self.end_offsets.get(voter.id, 0))
        offset = self._majority_offset()
        if offset <= self.epoch_start_offset or (self.high_watermark is not None and offset <= self.high_watermark):
            return None
        self.high_watermark = offset
        return offset

    def _majority_offset(self) -> int:
        offsets = sorted((self.end_offsets.get(voter_id, 0) for voter_id in self.voters.ids), reverse=True)
        return offsets[self.voters.majority - 1]


def start_of_epoch(history: VoterHistory, local: VoterNode, granting: Sequence[NodeId]) -> tuple[Any, ...]:
    """Return the control records with which a leader begins its epoch. Those of the voters come along where the log
    does not have them yet, or has this one's old endpoints."""
    change = LeaderChangeMessage(
        version=LEADER_CHANGE_VERSION,
        leader_id=local.key.id,
        voters=[LeaderChangeMessageVoter(voter_id=each) for each in history.voters.ids],
        granting_voters=[LeaderChangeMessageVoter(voter_id=each) for each in granting],
    )
    if history.kraft_version == KRAFT_VERSION_STATIC:
        return (change,)
    if history.voters_offset != _OF_THE_FORMAT and not history.voters.is_outdated(local):
        return (change,)
    version = KRaftVersionRecord(version=KRAFT_VERSION_RECORD_VERSION, kraft_version=history.kraft_version)
    return (change, version, to_record(history.voters.with_node(local)))
