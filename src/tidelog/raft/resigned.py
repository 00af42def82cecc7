"""Was the leader of this epoch, and is no more: it stopped, or has just been started again.

It neither leads nor votes in the epoch any further. Offset and epoch name one record: a leader that came back into its
own epoch could write another record where an unsynced one was lost. The way out is a later epoch.
"""

from tidelog.model.ids import NodeId
from tidelog.model.lazy_dataclass import dataclass
from tidelog.raft.quorum_state import ElectionState
from tidelog.raft.voters import ReplicaKey


@dataclass(slots=True)
class Resigned:
    epoch: int
    local: ReplicaKey
    deadline: int | None  # None: for good

    leader_id: NodeId | None = None

    @property
    def election(self) -> ElectionState:
        """The state to persist: on disk this node stays the leader, by which the next start knows."""
        return ElectionState(self.epoch, self.local.id, self.local)
