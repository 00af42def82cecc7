"""Wants to lead: first asks whether it could win (prospective, KIP-996), then for votes (candidate).

The prospective asks in the epoch that there is, so that a node which was cut off and comes back does not push a working
leader aside with a higher epoch. Only a node that would get a majority goes on, with the next epoch and a vote for
itself, which is on disk before anybody is asked.
"""

from tidelog.model.ids import NodeId
from tidelog.model.lazy_dataclass import dataclass, field
from tidelog.raft.quorum_state import ElectionState
from tidelog.raft.voters import ReplicaKey, VoterSet


@dataclass(slots=True)
class Ballot:
    """The votes of one election, or of the question before it. A voter counts once, however often it answers."""

    voters: VoterSet
    granted: dict[NodeId, None] = field(default_factory=dict)

    def grant(self, voter: ReplicaKey) -> None:
        if self.voters.is_voter(voter):
            self.granted[voter.id] = None

    @property
    def is_won(self) -> bool:
        return len(self.granted) >= self.voters.majority


@dataclass(slots=True)
class Prospective:
    """The role of a node that asks whether it could win. Nothing durable changes: leader and vote of the epoch stay
    what they were."""

    epoch: int
    leader_id: NodeId | None
    voted: ReplicaKey | None
    ballot: Ballot
    deadline: int | None

    @property
    def election(self) -> ElectionState:
        return ElectionState(self.epoch, self.leader_id, self.voted)


@dataclass(slots=True)
class Candidate:
    epoch: int
    local: ReplicaKey
    ballot: Ballot
    deadline: int | None

    leader_id = None

    @property
    def election(self) -> ElectionState:
        return ElectionState(self.epoch, None, self.local)
