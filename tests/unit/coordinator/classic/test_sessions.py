"""Heartbeats, and the expiry of members that send none."""

from typing import Any

from tests.unit.coordinator.classic.bench import DELAY_MS, GROUP, REBALANCE_MS, SESSION_MS, Bench

from tidelog.coordinator.group.classic.group import JOIN
from tidelog.coordinator.group.classic.join import NEW_MEMBER_JOIN_TIMEOUT_MS
from tidelog.coordinator.group.classic.rebalance import RETRY_MS_MIN
from tidelog.model.errors import ErrorCode


def test_heartbeats_in_every_state() -> None:
    bench = Bench()
    assert bench.heartbeat("m", 0, group_id="") is ErrorCode.INVALID_GROUP_ID
    assert bench.heartbeat("m", 0) is ErrorCode.UNKNOWN_MEMBER_ID
    member, _ = bench.join_with_id()
    assert bench.heartbeat(member, 0) is ErrorCode.REBALANCE_IN_PROGRESS
    assert bench.heartbeat(member, 1) is ErrorCode.ILLEGAL_GENERATION
    bench.advance(DELAY_MS)
    assert bench.heartbeat(member, 1) is ErrorCode.NONE, "the leader assigns"
    assert bench.heartbeat(member, 0) is ErrorCode.ILLEGAL_GENERATION
    bench.sync_all([member])
    assert bench.heartbeat(member, 1) is ErrorCode.NONE
    assert bench.heartbeat("stranger", 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert bench.heartbeat(member, 1, "i") is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_that_is_not_heard_of_is_out() -> None:
    bench = Bench()
    leader, follower = bench.stable(2)
    bench.advance(SESSION_MS - 1)
    bench.heartbeat(leader, 1)
    bench.advance(1)
    assert list(bench.group.members) == [leader]
    assert bench.heartbeat(leader, 1) is ErrorCode.REBALANCE_IN_PROGRESS
    assert bench.heartbeat(follower, 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert bench.shard.counters["member expirations"] == 1


def test_heartbeats_and_commits_keep_a_session() -> None:
    bench = Bench()
    (member,) = bench.stable(1)
    bench.advance(SESSION_MS - 1)
    assert bench.heartbeat(member, 1) is ErrorCode.NONE
    bench.advance(SESSION_MS - 1)
    bench.group.after_offset_commit(bench.now_ms, member)
    bench.group.after_offset_commit(bench.now_ms, "stranger")
    bench.advance(SESSION_MS - 1)
    assert bench.heartbeat(member, 1) is ErrorCode.NONE


def test_a_commit_keeps_no_session_while_the_leader_assigns() -> None:
    bench = Bench()
    member, _ = bench.join_with_id()
    bench.advance(DELAY_MS)
    bench.advance(SESSION_MS - 1)
    bench.group.after_offset_commit(bench.now_ms, member)
    bench.advance(1)
    assert member not in bench.group.members


def test_the_last_member_leaves_an_empty_generation_behind() -> None:
    bench = Bench()
    bench.stable(1)
    bench.advance(SESSION_MS)
    value = bench.log[-1][0].value
    assert (value.generation, value.protocol_type, value.protocol, value.leader) == (2, "consumer", None, None)
    assert value.members == []
    assert value.current_state_timestamp == bench.group.state_timestamp_ms
    assert (bench.state, bench.group.generation) == ("Empty", 2)
    assert not bench.group.is_simple


def test_an_id_that_nobody_joins_with_is_forgotten() -> None:
    bench = Bench()
    member = bench.join().member_id
    bench.advance(SESSION_MS - 1)
    assert member in bench.group.pending_join
    bench.advance(1)
    assert bench.group.pending_join == {}
    assert bench.join(member).code is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_rebalance_goes_on_without_those_who_never_came() -> None:
    bench = Bench()
    (member,) = bench.stable(1)
    bench.join(session_ms=6_000)
    ticket = bench.join(member)
    bench.advance(5_999)
    assert ticket.is_pending
    bench.advance(1)
    assert ticket.response.generation_id == 2


def test_an_initial_rebalance_is_over_when_the_last_id_is_forgotten() -> None:
    bench = Bench({"group_initial_rebalance_delay_ms": "20000"})
    bench.join(session_ms=6_000)
    _, ticket = bench.join_with_id()
    bench.advance(6_000)
    assert ticket.code is ErrorCode.NONE


def test_members_that_wait_for_a_rebalance_need_no_heartbeat() -> None:
    bench = Bench()
    leader, follower = bench.stable(2)
    ticket = bench.join(leader)
    for _ in range(3):
        bench.advance(SESSION_MS - 1)
        bench.heartbeat(follower, 1)
    assert ticket.is_pending
    bench.join(follower)
    assert ticket.code is ErrorCode.NONE
    bench.advance(SESSION_MS - 1)
    assert leader in bench.group.members, "its session began with the answer"
    bench.advance(1)
    assert leader not in bench.group.members


def test_a_member_that_dies_in_a_rebalance_is_not_waited_for() -> None:
    bench = Bench()
    leader, _ = bench.stable(2)
    ticket = bench.join(leader)
    bench.advance(SESSION_MS)
    assert ticket.response.generation_id == 2
    assert list(bench.group.members) == [leader]


def test_a_new_member_does_not_wait_forever() -> None:
    """A member without an id can not send heartbeats, and may be gone."""
    bench = Bench()
    options: dict[str, Any] = {"rebalance_ms": 2 * NEW_MEMBER_JOIN_TIMEOUT_MS, "session_ms": 1_000_000}
    leader = bench.stable(1, **options)[0]
    ticket = bench.join(version=3, **options)
    bench.advance(NEW_MEMBER_JOIN_TIMEOUT_MS - 1)
    assert ticket.is_pending
    bench.advance(1)
    assert (ticket.code, ticket.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "")
    assert list(bench.group.members) == [leader]


def test_a_dead_leader_is_replaced() -> None:
    bench = Bench()
    leader, *followers = bench.stable(3)
    bench.advance(SESSION_MS - 1)
    for follower in followers:
        bench.heartbeat(follower, 1)
    bench.advance(1)
    tickets = [bench.join(each) for each in followers]
    assert {ticket.response.leader for ticket in tickets} == {followers[0]}
    assert leader not in bench.group.members


def test_static_members_that_do_not_rejoin_keep_their_place_until_their_session_is_over() -> None:
    bench = Bench()
    static = bench.join(instance="i", session_ms=60_000, rebalance_ms=10_000)
    dynamic, _ = bench.join_with_id(session_ms=60_000, rebalance_ms=10_000)
    bench.advance(2 * DELAY_MS)
    bench.sync_all([static.member_id, dynamic])
    bench.join(dynamic, protocols=(("range", b"new"),), session_ms=60_000, rebalance_ms=10_000)
    bench.advance(10_000)
    assert bench.state == "CompletingRebalance"
    assert list(bench.group.members) == [static.member_id, dynamic]
    assert bench.group.leader == dynamic
    bench.leave((dynamic, None))
    bench.advance(20_000)
    assert bench.state == "PreparingRebalance", "nobody rejoins, and nobody is thrown out"
    assert list(bench.group.members) == [static.member_id]
    bench.advance(60_000)
    assert bench.state == "Empty"


def test_a_timeout_of_nothing_is_no_busy_loop() -> None:
    bench = Bench()
    static = bench.join(instance="i")
    dynamic, _ = bench.join_with_id(rebalance_ms=-1)
    bench.advance(2 * DELAY_MS)
    bench.sync_all([static.member_id, dynamic])
    replaced = bench.join(instance="i", rebalance_ms=-1)
    bench.leave((dynamic, None))
    bench.advance(0)
    assert list(bench.group.members) == [replaced.member_id]
    assert bench.state == "PreparingRebalance"
    due_ms = bench.shard.timers.due_of((JOIN, GROUP))
    assert due_ms == bench.now_ms + RETRY_MS_MIN
    bench.advance(SESSION_MS)
    assert bench.state == "Empty"
    assert bench.shard.timers.deadline is None


def test_max_poll_interval_is_the_rebalance_timeout() -> None:
    """A consumer that is busy for longer is removed, although it sends heartbeats all the time."""
    bench = Bench()
    busy, other = bench.stable(2)
    ticket = bench.join(other, protocols=(("range", b"new"),))
    for _ in range(10):
        bench.advance(REBALANCE_MS // 10)
        bench.heartbeat(busy, 1)
    assert ticket.response.generation_id == 2
    assert bench.heartbeat(busy, 1) is ErrorCode.UNKNOWN_MEMBER_ID
