"""The machine of one voter, event by event."""

import pytest

from tidelog.model.ids import NodeId, Uuid
from tidelog.protocol.control_records import KRaftVersionRecord, LeaderChangeMessage, VotersRecord
from tidelog.raft.candidate import Ballot
from tidelog.raft.effects import (
    AppendControl,
    Appended,
    HighWatermarkAdvanced,
    LeaderChanged,
    Persist,
    ResignRequested,
    Started,
    Synced,
    Ticked,
)
from tidelog.raft.leader import Leader
from tidelog.raft.quorum import Quorum, QuorumTimeouts, UnservedQuorumError
from tidelog.raft.quorum_state import ElectionState
from tidelog.raft.resigned import Resigned
from tidelog.raft.voter_history import VoterHistory
from tidelog.raft.voters import (
    ReplicaKey,
    VoterEndpoint,
    VoterNode,
    VoterSet,
    parse_dynamic_voters,
    static_voters,
    to_record,
)
from tidelog.sim.entropy import SimEntropy

KEY = ReplicaKey(NodeId(1), Uuid(b"d" * 16))
LOCAL = VoterNode(KEY, (VoterEndpoint("CONTROLLER", "one", 9093),))
STATIC = static_voters(["1@one:9093"], "CONTROLLER")
DYNAMIC = parse_dynamic_voters("1@one:9093:ZGRkZGRkZGRkZGRkZGRkZA", "CONTROLLER")


def quorum_of(history: VoterHistory | None = None) -> Quorum:
    return Quorum(LOCAL, history or VoterHistory(STATIC), SimEntropy(1), QuorumTimeouts(1000))


def start(quorum: Quorum, election: ElectionState | None = None, end: int = 0, last_epoch: int = 0) -> list[object]:
    return list(quorum.step(0, Started(election or ElectionState(), end, last_epoch)))


def test_the_only_voter_elects_itself_at_once() -> None:
    quorum = quorum_of()
    persist_vote, persist_leader, append, changed = start(quorum)
    assert persist_vote == Persist(ElectionState(1, None, KEY))
    assert persist_leader == Persist(ElectionState(1, NodeId(1), KEY))
    assert isinstance(append, AppendControl)
    (message,) = append.messages
    assert isinstance(message, LeaderChangeMessage)
    assert [each.voter_id for each in message.voters] == [each.voter_id for each in message.granting_voters] == [1]
    assert changed == LeaderChanged(1, NodeId(1))
    assert (quorum.is_leader, quorum.epoch, quorum.leader_id, quorum.deadline) == (True, 1, 1, None)


@pytest.mark.parametrize(
    ("election", "last_epoch", "epoch"),
    [
        (ElectionState(4, NodeId(1), KEY), 4, 5),  # it led, and must never lead again in that epoch
        (ElectionState(4, NodeId(1), KEY), 3, 5),
        (ElectionState(4, None, KEY), 3, 4),  # it was a candidate and nobody was elected: its vote still holds
        (ElectionState(4, None, ReplicaKey(NodeId(1))), 3, 4),
        (ElectionState(4, None, ReplicaKey(NodeId(1), Uuid(b"o" * 16))), 3, 5),  # another directory's vote
        (ElectionState(4, None, ReplicaKey(NodeId(2))), 3, 5),
        (ElectionState(4, NodeId(2), None), 3, 5),
        (ElectionState(4), 9, 10),  # the file was lost and made anew: the log has a later epoch
        (ElectionState(4, None, KEY), 9, 10),
    ],
)
def test_the_epoch_after_a_restart(election: ElectionState, last_epoch: int, epoch: int) -> None:
    quorum = quorum_of()
    start(quorum, election, 10, last_epoch)
    assert (quorum.is_leader, quorum.epoch) == (True, epoch)


def test_the_high_watermark_waits_for_a_synced_record_of_its_own_epoch() -> None:
    quorum = quorum_of()
    start(quorum, ElectionState(1, NodeId(1), KEY), end=10, last_epoch=1)
    assert quorum.step(0, Appended(11)) == []
    assert quorum.step(0, Synced(10)) == [], "only records of earlier epochs"
    assert quorum.step(0, Synced(11)) == [HighWatermarkAdvanced(11)]
    assert quorum.step(0, Synced(11)) == []
    assert quorum.step(0, Appended(20)) == [], "written is not synced"
    assert quorum.step(0, Synced(15)) == [HighWatermarkAdvanced(15)]
    assert quorum.step(0, Synced(14)) == [], "it never goes back"


def test_a_high_watermark_needs_a_majority_of_the_voters() -> None:
    voters = static_voters(["1@a:1", "2@b:1", "3@c:1"], "C")
    leader = Leader(3, ReplicaKey(NodeId(1)), 10, voters)
    assert leader.reached(ReplicaKey(NodeId(1)), 20) is None
    assert leader.reached(ReplicaKey(NodeId(4)), 20) is None, "an observer has no voice"
    assert leader.reached(ReplicaKey(NodeId(3)), 15) == 15
    assert leader.reached(ReplicaKey(NodeId(2)), 18) == 18
    assert leader.reached(ReplicaKey(NodeId(2)), 12) is None


def test_a_ballot_counts_each_voter_once() -> None:
    ballot = Ballot(static_voters(["1@a:1", "2@b:1", "3@c:1"], "C"))
    for voter in (1, 1, 4):
        ballot.grant(ReplicaKey(NodeId(voter)))
    assert not ballot.is_won
    ballot.grant(ReplicaKey(NodeId(3)))
    assert ballot.is_won


def test_dynamic_voters_are_written_where_the_log_does_not_have_them_yet() -> None:
    history = VoterHistory(VoterSet())
    for message in (KRaftVersionRecord(version=0, kraft_version=1), to_record(DYNAMIC)):
        history.observe(-1, message)
    append = start(quorum_of(history))[2]
    assert isinstance(append, AppendControl)
    _, version, voters = append.messages
    assert version == KRaftVersionRecord(version=0, kraft_version=1)
    assert voters == to_record(VoterSet([LOCAL]))
    for offset, message in enumerate(append.messages):
        history.observe(offset, message)
    again = start(quorum_of(history), ElectionState(1, NodeId(1), KEY), 3, 1)[2]
    assert isinstance(again, AppendControl)
    assert len(again.messages) == 1


def test_dynamic_voters_are_written_anew_when_the_leader_moved() -> None:
    history = VoterHistory(VoterSet())
    history.observe(0, KRaftVersionRecord(version=0, kraft_version=1))
    history.observe(1, to_record(parse_dynamic_voters("1@old:9093:ZGRkZGRkZGRkZGRkZGRkZA", "CONTROLLER")))
    append = start(quorum_of(history), end=2)[2]
    assert isinstance(append, AppendControl)
    record = append.messages[2]
    assert isinstance(record, VotersRecord)
    assert record.voters[0].endpoints[0].host == "one"


def test_resigning_for_good() -> None:
    quorum = quorum_of()
    start(quorum)
    assert quorum.step(5, ResignRequested(is_final=True)) == [LeaderChanged(1, None)]
    assert isinstance(quorum.role, Resigned)
    assert quorum.deadline is None
    assert quorum.step(10**9, Ticked()) == []
    assert quorum.step(6, Synced(1)) == [], "a leader that is gone commits nothing"


def test_resigning_for_a_while_leads_to_a_later_epoch() -> None:
    quorum = quorum_of()
    start(quorum)
    quorum.step(0, ResignRequested(is_final=False))
    deadline = quorum.deadline
    assert deadline is not None
    assert 1000 <= deadline < 2000
    assert quorum.step(deadline - 1, Ticked()) == []
    assert quorum.step(deadline, Ticked()) == [Persist(ElectionState(2)), LeaderChanged(2, None)]
    assert quorum.deadline is not None
    effects = quorum.step(quorum.deadline, Ticked())
    assert effects[-1] == LeaderChanged(3, NodeId(1))


@pytest.mark.parametrize("voters", [VoterSet(), static_voters(["2@b:1"], "C"), static_voters(["1@a:1", "2@b:1"], "C")])
def test_a_quorum_that_is_not_served_is_refused_by_name(voters: VoterSet) -> None:
    with pytest.raises(UnservedQuorumError, match="one voter"):
        start(quorum_of(VoterHistory(voters)))
