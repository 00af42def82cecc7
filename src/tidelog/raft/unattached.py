"""Knows its epoch and nobody who leads it. A voter stands for election when its timeout is over."""

from tidelog.model.ids import NodeId
from tidelog.model.lazy_dataclass import dataclass
from tidelog.raft.quorum_state import ElectionState
from tidelog.raft.voters import ReplicaKey


@dataclass(slots=True)
class Unattached:
    epoch: int
    leader_id: NodeId | None  # its id may be known, but not where to find it
    voted: ReplicaKey | None
    deadline: int | None

    @property
    def election(self) -> ElectionState:
        return ElectionState(self.epoch, self.leader_id, self.voted)
