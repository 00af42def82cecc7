"""The voters, by configuration and by the log."""

import pytest

from tidelog.model.ids import ZERO_UUID, NodeId, Uuid
from tidelog.protocol.control_records import KRaftVersionRecord, LeaderChangeMessage
from tidelog.raft.voter_history import VoterHistory
from tidelog.raft.voters import (
    ReplicaKey,
    VoterEndpoint,
    VoterNode,
    VoterSet,
    from_record,
    parse_dynamic_voters,
    static_voters,
    to_record,
)

DIRECTORY = Uuid(b"d" * 16)
OTHER = Uuid(b"o" * 16)
TEXT = "1@one:9093:ZGRkZGRkZGRkZGRkZGRkZA"


def test_static_voters_are_known_by_their_id_alone() -> None:
    voters = static_voters(["1@one:9093", "2@[::1]:9094"], "CONTROLLER")
    assert voters.ids == [1, 2]
    assert voters.nodes[1].endpoints == (VoterEndpoint("CONTROLLER", "::1", 9094),)
    assert voters.is_voter(ReplicaKey(NodeId(1), DIRECTORY))
    assert voters.is_voter(ReplicaKey(NodeId(1), OTHER))
    assert not voters.is_voter(ReplicaKey(NodeId(3)))


def test_a_dynamic_voter_with_another_directory_is_another() -> None:
    voters = parse_dynamic_voters(TEXT, "CONTROLLER")
    assert voters.is_only_voter(ReplicaKey(NodeId(1), DIRECTORY))
    assert not voters.is_voter(ReplicaKey(NodeId(1), OTHER))
    assert not voters.is_voter(ReplicaKey(NodeId(1), ZERO_UUID))


@pytest.mark.parametrize(
    "text",
    ["", " ", "1@one", "1@one:9093", "one:9093:ZGRkZGRkZGRkZGRkZGRkZA", "1@one:99999:ZGRkZGRkZGRkZGRkZGRkZA",
     "1@one:9093:short", f"{TEXT},{TEXT}"],
)  # fmt: skip
def test_what_is_no_dynamic_voter(text: str) -> None:
    with pytest.raises(ValueError, match=r"voter|id@host:port:directory"):
        parse_dynamic_voters(text, "CONTROLLER")


def test_the_record_keeps_everything_in_order() -> None:
    text = f"{TEXT},0@[fe80::1]:1:b29vb29vb29vb29vb29vbw"
    voters = parse_dynamic_voters(text, "CONTROLLER")
    assert [each.voter_id for each in to_record(voters).voters] == [1, 0]
    assert from_record(to_record(voters)) == voters


@pytest.mark.parametrize(("count", "majority"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3)])
def test_majority(count: int, majority: int) -> None:
    assert VoterSet(VoterNode(ReplicaKey(NodeId(each)), ()) for each in range(count)).majority == majority


def test_a_voter_is_outdated_when_its_endpoints_changed_but_not_when_it_is_another() -> None:
    voters = parse_dynamic_voters(TEXT, "CONTROLLER")
    moved = VoterNode(ReplicaKey(NodeId(1), DIRECTORY), (VoterEndpoint("CONTROLLER", "elsewhere", 9093),))
    assert voters.is_outdated(moved)
    assert not voters.is_outdated(voters.nodes[0])
    assert not voters.is_outdated(VoterNode(ReplicaKey(NodeId(1), OTHER), moved.endpoints))
    assert voters.with_node(moved).nodes == [moved]


def test_the_log_overrides_the_configuration_and_truncation_takes_it_back() -> None:
    static = static_voters(["1@one:9093"], "CONTROLLER")
    history = VoterHistory(static)
    assert (history.voters, history.voters_offset, history.kraft_version) == (static, None, 0)
    one = parse_dynamic_voters(TEXT, "CONTROLLER")
    two = parse_dynamic_voters(TEXT + ",2@two:1:b29vb29vb29vb29vb29vbw", "CONTROLLER")
    history.observe(0, LeaderChangeMessage(version=0, leader_id=1, voters=[], granting_voters=[]))
    history.observe(1, KRaftVersionRecord(version=0, kraft_version=1))
    history.observe(2, to_record(one))
    history.observe(10, to_record(two))
    assert (history.voters, history.voters_offset, history.kraft_version) == (two, 10, 1)
    assert history.voters_at(10) == one
    assert history.voters_at(11) == two
    assert history.voters_at(2) is None
    assert (history.kraft_version_at(1), history.kraft_version_at(2)) == (0, 1)
    history.truncate_to(10)
    assert history.voters == one
    history.truncate_to(1)
    assert (history.voters, history.kraft_version) == (static, 0)
