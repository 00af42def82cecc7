"""LeaveGroup: one by one, in batches, by instance id; each with its own outcome."""

import pytest
from tests.unit.coordinator.classic.bench import DELAY_MS, GROUP, REBALANCE_MS, Bench

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity

NONE, UNKNOWN, FENCED = ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID


def test_a_member_leaves_and_the_rest_rebalances() -> None:
    bench = Bench()
    leader, follower = bench.stable(2)
    assert bench.leave((leader, None)) == [NONE]
    assert bench.state == "PreparingRebalance"
    ticket = bench.join(follower)
    assert (ticket.response.leader, ticket.response.generation_id) == (follower, 2)


def test_the_last_one_leaves_an_empty_group() -> None:
    bench = Bench()
    (member,) = bench.stable(1)
    assert bench.leave((member, None)) == [NONE]
    assert bench.state == "Empty"
    assert bench.log[-1][0].value.members == []
    assert len(bench.shard.timers) == 0


@pytest.mark.parametrize("version", [0, 2])
def test_an_old_client_leaves_by_itself(version: int) -> None:
    bench = Bench()
    (member,) = bench.stable(1)
    assert bench.send(LeaveGroupRequest(group_id=GROUP, member_id="stranger"), version).code is UNKNOWN
    left = bench.send(LeaveGroupRequest(group_id=GROUP, member_id=member), version)
    assert left.response == LeaveGroupResponse(error_code=NONE)
    assert bench.send(LeaveGroupRequest(group_id="other", member_id=member), version).code is UNKNOWN


def test_a_group_that_is_not_there() -> None:
    bench = Bench()
    assert bench.leave(("m", None), ("", "i"), group_id="other") == [UNKNOWN, UNKNOWN]
    refused = bench.send(LeaveGroupRequest(group_id="", members=[MemberIdentity(member_id="m")]), 5)
    assert (refused.code, refused.response.members) == (ErrorCode.INVALID_GROUP_ID, [])


def test_a_batch_of_static_members() -> None:
    bench = Bench()
    first, second, third = [bench.join(instance=each) for each in "abc"]
    bench.advance(2 * DELAY_MS)
    bench.sync_all([ticket.member_id for ticket in (first, second, third)])
    outcomes = bench.leave(("", "a"), (second.member_id, "b"), ("", "none"), ("wrong", "c"), ("", None))
    assert outcomes == [NONE, NONE, UNKNOWN, FENCED, UNKNOWN]
    assert list(bench.group.members) == [third.member_id]
    assert bench.state == "PreparingRebalance"
    assert bench.shard.counters["rebalances"] == 2, "one for all that left"


def test_nothing_happens_when_nobody_left() -> None:
    bench = Bench()
    bench.stable(2)
    assert bench.leave(("x", None), ("", "i")) == [UNKNOWN, UNKNOWN]
    assert bench.state == "Stable"


def test_one_that_leaves_twice_in_a_batch_leaves_once() -> None:
    bench = Bench()
    member, _ = bench.stable(2)
    assert bench.leave((member, None), (member, None)) == [NONE, UNKNOWN]


def test_an_id_that_was_only_given_out_is_given_back() -> None:
    bench = Bench()
    pending = bench.join().member_id
    assert bench.leave((pending, None)) == [NONE]
    assert bench.group.pending_join == {}
    assert bench.state == "Empty"
    assert bench.leave((pending, None)) == [UNKNOWN]


def test_a_rebalance_does_not_wait_for_one_that_left() -> None:
    bench = Bench()
    first, second = bench.stable(2)
    pending = bench.join().member_id
    ticket = bench.join(first)
    assert bench.leave((second, None)) == [NONE]
    assert ticket.is_pending
    assert bench.leave((pending, None)) == [NONE]
    assert ticket.response.generation_id == 2


def test_an_initial_rebalance_takes_its_time_whoever_leaves() -> None:
    bench = Bench()
    first, ticket = bench.join_with_id()
    second, other = bench.join_with_id()
    assert bench.leave((second, None)) == [NONE]
    assert (other.code, other.member_id) == (UNKNOWN, "")
    assert ticket.is_pending
    bench.advance(2 * DELAY_MS)
    assert ticket.code is NONE
    assert list(bench.group.members) == [first]


def test_everyone_leaves_an_initial_rebalance() -> None:
    bench = Bench()
    first, ticket = bench.join_with_id()
    assert bench.leave((first, None)) == [NONE]
    assert ticket.code is UNKNOWN
    assert bench.state == "PreparingRebalance"
    bench.advance(DELAY_MS)
    assert (bench.state, bench.group.generation) == ("Empty", 1)


def test_one_that_waits_for_its_assignment_is_told() -> None:
    bench = Bench()
    (leader, _), (follower, _) = bench.join_with_id(), bench.join_with_id()
    bench.advance(2 * DELAY_MS)
    waiting = bench.sync(follower, 1)
    assert bench.leave((follower, None)) == [NONE]
    assert waiting.code is UNKNOWN
    assert bench.join(leader).response.generation_id == 2


def test_the_last_one_leaves_a_rebalance_that_others_are_about_to_join() -> None:
    """No member is left whose protocols a newcomer would have to share."""
    bench = Bench()
    (member,) = bench.stable(1)
    bench.join(member)
    joining = bench.join().member_id
    bench.join(bench.join().member_id)
    assert bench.state == "PreparingRebalance"
    assert bench.leave(*((each, None) for each in list(bench.group.members))) == [NONE, NONE]
    assert (bench.state, list(bench.group.members)) == ("PreparingRebalance", [])
    assert bench.join().code is ErrorCode.MEMBER_ID_REQUIRED
    ticket = bench.join(joining)
    bench.advance(REBALANCE_MS)
    assert ticket.code is NONE
