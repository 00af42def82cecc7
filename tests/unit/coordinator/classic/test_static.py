"""Static members: a group.instance.id keeps its assignment when its process comes back under a new member id."""

import pytest
from tests.unit.coordinator.classic.bench import DELAY_MS, RANGE, REBALANCE_MS, SESSION_MS, Bench, Ticket, subscription

from tidelog.coordinator.group.classic.group import SESSION
from tidelog.model.errors import ErrorCode

BOTH = (("range", subscription("t")), ("sticky", b""))
STICKY_FIRST = BOTH[::-1]


def joining(bench: Bench, **options: object) -> list[Ticket]:
    tickets = [bench.join(instance=each, **options) for each in ("leader", "follower")]  # type: ignore[arg-type]
    bench.advance(2 * DELAY_MS)
    return tickets


def stable(**options: object) -> tuple[Bench, str, str]:
    bench = Bench()
    leader, follower = (ticket.member_id for ticket in joining(bench, **options))
    bench.sync_all([leader, follower])
    return bench, leader, follower


def test_a_static_member_is_in_at_once() -> None:
    bench = Bench()
    ticket = bench.join(instance="i", client_id="reader")
    assert ticket.is_pending
    bench.advance(DELAY_MS)
    assert ticket.code is ErrorCode.NONE
    assert ticket.member_id.startswith("i-")
    assert ticket.response.members[0].group_instance_id == "i"


def test_a_follower_that_is_back_costs_no_rebalance() -> None:
    bench, leader, follower = stable()
    written = len(bench.log)
    response = bench.join(instance="follower").response
    assert response.error_code == 0
    assert response.member_id not in (leader, follower)
    assert (response.generation_id, response.leader, response.members) == (1, leader, [])
    assert (response.protocol_type, response.protocol_name) == ("consumer", "range")
    assert not response.skip_assignment
    assert bench.state == "Stable"
    assert bench.sync(response.member_id, 1, instance="follower").assignment == follower.encode()
    (message, _), *more = bench.log[written:]
    assert not more
    assert {each.member_id: each.assignment for each in message.value.members} == {
        leader: leader.encode(),
        response.member_id: follower.encode(),
    }


def test_the_old_id_is_fenced() -> None:
    bench, leader, follower = stable()
    bench.join(instance="follower")
    assert bench.join(follower, instance="follower").code is ErrorCode.FENCED_INSTANCE_ID
    assert bench.sync(follower, 1, instance="follower").code is ErrorCode.FENCED_INSTANCE_ID
    assert bench.heartbeat(follower, 1, "follower") is ErrorCode.FENCED_INSTANCE_ID
    assert bench.leave((follower, "follower")) == [ErrorCode.FENCED_INSTANCE_ID]
    assert bench.heartbeat(follower, 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert bench.sync(follower, 1).code is ErrorCode.UNKNOWN_MEMBER_ID
    assert bench.join(follower).code is ErrorCode.UNKNOWN_MEMBER_ID
    assert bench.heartbeat(leader, 1, "leader") is ErrorCode.NONE


def test_every_return_is_a_new_id() -> None:
    bench, *_ = stable()
    ids = [bench.join(instance="follower").member_id for _ in range(5)]
    assert len(set(ids)) == 5
    assert bench.group.static_members["follower"] == ids[-1]
    assert len(bench.group.members) == 2


def test_a_leader_that_is_back_leads_and_has_nothing_to_assign() -> None:
    bench, _leader, follower = stable()
    response = bench.join(instance="leader").response
    assert response.leader == response.member_id == bench.group.leader
    assert response.skip_assignment
    assert {each.member_id for each in response.members} == {response.member_id, follower}
    assert bench.state == "Stable"


@pytest.mark.parametrize("version", [5, 6, 8])
def test_an_older_leader_takes_itself_for_a_follower(version: int) -> None:
    bench, leader, _ = stable()
    response = bench.join(instance="leader", version=version).response
    assert response.leader == leader, "its old id"
    assert response.members == []
    assert not response.skip_assignment
    assert bench.group.leader == response.member_id
    # As the leader it may still start a rebalance.
    assert bench.join(response.member_id, instance="leader", version=version).is_pending


def test_the_return_renews_what_is_known_of_the_client() -> None:
    bench, *_ = stable()
    ticket = bench.join(
        instance="follower", client_id="new", client_host="/10.0.0.9", session_ms=20_000, rebalance_ms=50_000
    )
    stored = next(each for each in bench.log[-1][0].value.members if each.group_instance_id == "follower")
    assert (stored.client_id, stored.client_host) == ("new", "/10.0.0.9")
    assert (stored.session_timeout, stored.rebalance_timeout) == (20_000, 50_000)
    due_ms = bench.shard.timers.due_of((SESSION, "g", ticket.member_id))
    assert due_ms == bench.now_ms + 20_000


def test_the_topics_of_the_returned_are_known() -> None:
    bench, *_ = stable()
    bench.join(instance="follower", protocols=(("range", subscription("u")),))
    assert bench.state == "Stable"
    assert bench.group.is_subscribed_to("u")
    assert bench.group.is_subscribed_to("t")


def test_a_return_that_changes_the_vote_costs_a_rebalance() -> None:
    bench, leader, _ = stable(protocols=BOTH)
    assert bench.group.protocol_name == "range"
    for ticket in [bench.join(instance=each, protocols=STICKY_FIRST) for each in ("leader", "follower")]:
        last = ticket
    assert last.is_pending
    assert bench.state == "PreparingRebalance"
    again = bench.join(bench.group.static_members["leader"], instance="leader", protocols=STICKY_FIRST)
    assert (again.response.protocol_name, last.response.protocol_name) == ("sticky", "sticky")
    assert again.response.generation_id == 2
    assert leader not in bench.group.members


def test_a_return_that_brings_more_protocols_costs_none() -> None:
    bench, *_ = stable()
    assert bench.join(instance="follower", protocols=BOTH).code is ErrorCode.NONE
    assert bench.state == "Stable"
    assert bench.group.supporters == {"range": 2, "sticky": 1}


def test_a_return_without_the_groups_protocol_is_refused() -> None:
    bench, _, follower = stable()
    assert bench.join(instance="follower", protocols=(("sticky", b""),)).code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert bench.group.static_members["follower"] == follower


def test_a_return_while_the_leader_assigns_starts_over() -> None:
    bench = Bench()
    leader, follower = (ticket.member_id for ticket in joining(bench))
    waiting = bench.sync(leader, 1) if bench.group.leader == follower else bench.sync(follower, 1)
    back = bench.join(instance="follower")
    assert waiting.code is ErrorCode.FENCED_INSTANCE_ID
    assert waiting.response.assignment == b""
    assert back.is_pending
    assert bench.state == "PreparingRebalance"
    again = bench.join(leader, instance="leader")
    assert {each.member_id for each in again.response.members} == {leader, back.member_id}
    assert back.response.generation_id == 2


def test_a_return_while_the_old_one_waits_fences_it() -> None:
    bench, leader, follower = stable()
    bench.join_with_id()
    old = bench.join(follower, instance="follower")
    back = bench.join(instance="follower")
    assert (old.code, old.member_id) == (ErrorCode.FENCED_INSTANCE_ID, follower)
    assert (old.response.protocol_name, old.response.leader, old.response.generation_id) == (None, "", -1)
    bench.join(leader, instance="leader")
    assert back.response.generation_id == 2


def test_an_old_client_that_is_fenced_reads_an_empty_protocol_name() -> None:
    bench, _, follower = stable()
    bench.join_with_id()
    old = bench.join(follower, instance="follower", version=5)
    bench.join(instance="follower")
    assert old.response.protocol_name == ""


def test_a_return_in_the_initial_rebalance_takes_the_place() -> None:
    bench = Bench()
    first = bench.join(instance="i")
    second = bench.join(instance="i")
    assert first.code is ErrorCode.FENCED_INSTANCE_ID
    bench.advance(DELAY_MS)
    assert second.code is ErrorCode.NONE
    assert list(bench.group.members) == [second.member_id]
    assert bench.group.leader == second.member_id


def test_the_returned_waits_as_long_as_the_rebalance_takes() -> None:
    bench = Bench({"group_initial_rebalance_delay_ms": "20000"})
    bench.join(instance="i")
    back = bench.join(instance="i")
    bench.advance(2 * SESSION_MS - 1)
    assert back.is_pending
    bench.advance(1)
    assert back.code is ErrorCode.NONE


def test_a_member_with_its_id_is_as_any_other() -> None:
    bench, leader, follower = stable()
    assert bench.join(follower, instance="follower").response.generation_id == 1
    assert bench.join(leader, instance="leader").is_pending
    assert bench.join(follower, instance="leader").code is ErrorCode.FENCED_INSTANCE_ID
    assert bench.join(follower, instance="unknown").code is ErrorCode.UNKNOWN_MEMBER_ID
    assert bench.join("unknown", instance="follower").code is ErrorCode.FENCED_INSTANCE_ID


def test_a_new_id_that_can_not_be_written_is_taken_back() -> None:
    bench, leader, follower = stable()
    bench.shard.max_record_bytes = 10_000
    written = len(bench.log)
    refused = bench.join(instance="follower", client_id="x", protocols=(("range", bytes(10_000)),), session_ms=20_000)
    assert (refused.code, refused.member_id) == (ErrorCode.UNKNOWN_SERVER_ERROR, "")
    assert (refused.response.generation_id, refused.response.leader) == (1, leader)
    assert len(bench.log) == written
    member = bench.group.members[follower]
    assert (member.client_id, member.session_timeout_ms, member.protocols) == ("c", SESSION_MS, RANGE)
    assert bench.heartbeat(follower, 1, "follower") is ErrorCode.NONE


def test_one_that_is_not_back_in_time_is_out() -> None:
    bench, leader, follower = stable()
    bench.advance(SESSION_MS - 1)
    bench.heartbeat(leader, 1, "leader")
    bench.advance(1)
    assert bench.group.static_members == {"leader": leader}
    # A member that joins with that instance id now is new.
    back = bench.join(instance="follower")
    assert back.is_pending
    bench.join(leader, instance="leader")
    assert back.response.generation_id == 2
    assert back.member_id != follower


def test_a_return_before_it_has_synced_needs_no_other_rebalance() -> None:
    bench = Bench()
    leader, follower = (ticket.member_id for ticket in joining(bench))
    bench.sync(leader, 1, {leader: b"L", follower: b"F"}, instance="leader")
    back = bench.join(instance="follower")
    assert bench.sync(back.member_id, 1, instance="follower").assignment == b"F"
    for _ in range(5):
        bench.advance(REBALANCE_MS // 4)
        bench.heartbeat(leader, 1)
        bench.heartbeat(back.member_id, 1)
    assert bench.state == "Stable"
