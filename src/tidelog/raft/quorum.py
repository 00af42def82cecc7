"""The quorum's machine on one node: its role, and what moves it from one to another.

    Unattached --timeout, or the only voter--> Prospective --it would win--> Candidate --it won--> Leader
    Candidate, Prospective --timeout--> Prospective, Unattached
    Leader --asked to--> Resigned --timeout--> Unattached, one epoch later
    start: Resigned in the epoch that it led, Candidate in the one that it stood in, Unattached otherwise

Epochs only go up. A single voter walks the whole way in one step, by the same transitions as one of several. The role
of those who follow another leader, and what voters say to each other, are not implemented; a quorum of several voters
is refused at the start instead of waiting for answers that nobody gives.
"""

from typing import TypeAlias

from tidelog.model.ids import NodeId
from tidelog.model.lazy_dataclass import dataclass
from tidelog.ports.entropy import Entropy
from tidelog.raft.candidate import Ballot, Candidate, Prospective
from tidelog.raft.effects import (
    AppendControl,
    Appended,
    Effect,
    Event,
    HighWatermarkAdvanced,
    LeaderChanged,
    Persist,
    ResignRequested,
    Started,
    Synced,
    Ticked,
)
from tidelog.raft.leader import Leader, start_of_epoch
from tidelog.raft.quorum_state import ElectionState
from tidelog.raft.resigned import Resigned
from tidelog.raft.unattached import Unattached
from tidelog.raft.voter_history import VoterHistory
from tidelog.raft.voters import VoterNode

Role: TypeAlias = Unattached | Prospective | Candidate | Leader | Resigned


class UnservedQuorumError(Exception):
    """The error for a set of voters that this release can not be part of."""


@dataclass(slots=True, frozen=True)
class QuorumTimeouts:
    election_timeout_ms: int = 1000


class Quorum:
    __slots__ = ("_effects", "_entropy", "_log_end_offset", "_timeouts", "history", "local", "role")

    def __init__(
        self, local: VoterNode, history: VoterHistory, entropy: Entropy, timeouts: QuorumTimeouts | None = None
    ) -> None:
        """`history` has read the whole log, and whoever appends to the log goes on telling it."""
        self.local = local
        self.history = history
        self._entropy = entropy
        self._timeouts = timeouts or QuorumTimeouts()
        self._log_end_offset = 0
        self._effects: list[Effect] = []
        self.role: Role = Unattached(0, None, None, None)

    @property
    def epoch(self) -> int:
        return self.role.epoch

    @property
    def leader_id(self) -> NodeId | None:
        return self.role.leader_id

    @property
    def is_leader(self) -> bool:
        return isinstance(self.role, Leader)

    @property
    def is_only_voter(self) -> bool:
        """Tell whether what this node has on disk is committed: no other voter can replace it, nor is one needed."""
        return self.history.voters.is_only_voter(self.local.key)

    @property
    def deadline(self) -> int | None:
        """The time at which the machine wants to be stepped with Ticked; None where no time is due."""
        return self.role.deadline

    def step(self, now_ms: int, event: Event) -> list[Effect]:
        epoch = self.epoch
        match event:
            case Started():
                self._start(now_ms, event)
            case Ticked():
                self._tick(now_ms)
            case Appended(log_end_offset):
                self._log_end_offset = log_end_offset
            case Synced(offset):
                self._synced(offset)
            case ResignRequested(is_final):
                self._resign(now_ms, is_final)
        assert self.epoch >= epoch, "epochs never go back"
        effects, self._effects = self._effects, []
        return effects

    # Events

    def _start(self, now_ms: int, event: Started) -> None:
        self._log_end_offset = event.log_end_offset
        self._refuse_unserved()
        self.role = self._first_role(now_ms, event.election, event.last_epoch)
        if not isinstance(self.role, Candidate):
            self._become_prospective(now_ms)
        else:
            self._count(now_ms)

    def _refuse_unserved(self) -> None:
        voters = self.history.voters
        if not voters.is_only_voter(self.local.key):
            raise UnservedQuorumError(
                f"this release serves a quorum of one voter, and that is this node, {self.local.key}; "
                f"the voters are {', '.join(str(node.key) for node in voters.nodes) or 'none'}"
            )

    def _first_role(self, now_ms: int, election: ElectionState, last_epoch: int) -> Role:
        """Return the role in which the node stopped. The log may know a later epoch than `quorum-state`: then the file
        was lost with its directory."""
        local = self.local.key
        if election.epoch < last_epoch:
            return Unattached(last_epoch, None, None, self._election_deadline(now_ms))
        if election.leader_id == local.id:
            return Resigned(election.epoch, local, self._election_deadline(now_ms))
        if election.voted is not None and election.voted.means(local) and election.leader_id is None:
            return self._candidate(now_ms, election.epoch)
        return Unattached(election.epoch, election.leader_id, election.voted, self._election_deadline(now_ms))

    def _tick(self, now_ms: int) -> None:
        if self.deadline is None or now_ms < self.deadline:
            return
        match self.role:
            case Unattached() | Candidate():
                self._become_prospective(now_ms)
            case Prospective(epoch=epoch, leader_id=leader_id, voted=voted):
                self.role = Unattached(epoch, leader_id, voted, self._election_deadline(now_ms))
            case Resigned(epoch=epoch):
                self.role = Unattached(epoch + 1, None, None, self._election_deadline(now_ms))
                self._effects += [Persist(self.role.election), LeaderChanged(self.epoch, None)]

    def _synced(self, offset: int) -> None:
        if isinstance(self.role, Leader):
            high_watermark = self.role.reached(self.local.key, min(offset, self._log_end_offset))
            if high_watermark is not None:
                self._effects.append(HighWatermarkAdvanced(high_watermark))

    def _resign(self, now_ms: int, is_final: bool) -> None:
        deadline = None if is_final else self._election_deadline(now_ms)
        if isinstance(self.role, Leader):
            self.role = Resigned(self.epoch, self.local.key, deadline)
            self._effects.append(LeaderChanged(self.epoch, None))
        elif is_final:
            self.role.deadline = None

    # Transitions

    def _become_prospective(self, now_ms: int) -> None:
        role = self.role
        voted = role.election.voted
        ballot = Ballot(self.history.voters)
        self.role = Prospective(self.epoch, role.leader_id, voted, ballot, self._election_deadline(now_ms))
        self._count(now_ms)

    def _count(self, now_ms: int) -> None:
        """Count our own vote, and go on where it wins."""
        match self.role:
            case Prospective(ballot=ballot):
                ballot.grant(self.local.key)
                if ballot.is_won:
                    self.role = self._candidate(now_ms, self.epoch + 1)
                    self._count(now_ms)
            case Candidate(ballot=ballot):
                self._effects.append(Persist(self.role.election))
                ballot.grant(self.local.key)
                if ballot.is_won:
                    self._become_leader(ballot)

    def _candidate(self, now_ms: int, epoch: int) -> Candidate:
        return Candidate(epoch, self.local.key, Ballot(self.history.voters), self._election_deadline(now_ms))

    def _become_leader(self, ballot: Ballot) -> None:
        self.role = Leader(self.epoch, self.local.key, self._log_end_offset, self.history.voters)
        first = start_of_epoch(self.history, self.local, list(ballot.granted))
        self._effects += [
            Persist(self.role.election),
            AppendControl(self.epoch, first),
            LeaderChanged(self.epoch, self.local.key.id),
        ]

    def _election_deadline(self, now_ms: int) -> int:
        """Return a time one to two timeouts from now: voters that wait equally long would stand against each other for
        ever."""
        timeout_ms = self._timeouts.election_timeout_ms
        return now_ms + timeout_ms + (self._entropy.random_below(timeout_ms) if timeout_ms else 0)
