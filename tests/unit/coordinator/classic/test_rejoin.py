"""JoinGroup of members, in every state, and the rebalance that it may start."""

from tests.unit.coordinator.classic.bench import DELAY_MS, REBALANCE_MS, SESSION_MS, Bench, subscription

from tidelog.model.errors import ErrorCode

CHANGED = (("range", subscription("t", "u")),)


def test_the_leader_of_a_stable_group_brings_about_a_rebalance() -> None:
    bench = Bench()
    leader, follower = bench.stable(2)
    ticket = bench.join(leader)
    assert ticket.is_pending
    assert bench.state == "PreparingRebalance"
    assert bench.heartbeat(follower, 1) is ErrorCode.REBALANCE_IN_PROGRESS
    other = bench.join(follower)
    assert (ticket.response.generation_id, other.response.generation_id) == (2, 2)
    assert bench.state == "CompletingRebalance"
    bench.sync_all([leader, follower])


def test_a_follower_with_nothing_new_gets_the_generation_again() -> None:
    bench = Bench()
    leader, follower = bench.stable(2)
    response = bench.join(follower).response
    assert (response.error_code, response.generation_id, response.leader) == (0, 1, leader)
    assert response.protocol_type == "consumer"
    assert response.members == []
    assert bench.state == "Stable"


def test_a_follower_with_something_new_brings_about_a_rebalance() -> None:
    bench = Bench()
    leader, follower = bench.stable(2)
    ticket = bench.join(follower, protocols=CHANGED)
    assert ticket.is_pending
    again = bench.join(leader)
    metadata = {each.member_id: each.metadata for each in again.response.members}
    assert metadata[follower] == CHANGED[0][1]
    assert again.response.leader == leader


def test_the_order_of_protocols_is_something_new() -> None:
    bench = Bench()
    both = (("range", b""), ("sticky", b""))
    _, follower = bench.stable(2, protocols=both)
    assert bench.join(follower, protocols=both[::-1]).is_pending


def test_a_member_that_missed_the_answer_gets_it_again_while_the_leader_assigns() -> None:
    bench = Bench()
    (leader, _), (follower, _) = bench.join_with_id(), bench.join_with_id()
    bench.advance(2 * DELAY_MS)
    assert bench.state == "CompletingRebalance"
    assert len(bench.join(leader).response.members) == 2
    assert bench.join(follower).response.members == []
    assert bench.state == "CompletingRebalance"


def test_something_new_while_the_leader_assigns_starts_over() -> None:
    bench = Bench()
    (leader, _), (follower, _) = bench.join_with_id(), bench.join_with_id()
    bench.advance(2 * DELAY_MS)
    synced = bench.sync(leader, 1, {leader: b"1"}) if bench.group.leader != leader else bench.sync(follower, 1)
    assert synced.is_pending
    assert bench.join(follower, protocols=CHANGED).is_pending
    assert synced.code is ErrorCode.REBALANCE_IN_PROGRESS
    assert synced.response.protocol_name is None
    assert bench.state == "PreparingRebalance"


def test_a_new_member_while_the_leader_assigns_starts_over() -> None:
    bench = Bench()
    (leader, _), (follower, _) = bench.join_with_id(), bench.join_with_id()
    bench.advance(2 * DELAY_MS)
    synced = bench.sync(follower, 1)
    _, third = bench.join_with_id()
    assert synced.code is ErrorCode.REBALANCE_IN_PROGRESS
    assert bench.sync(leader, 1, {leader: b""}).code is ErrorCode.REBALANCE_IN_PROGRESS
    bench.join(leader)
    bench.join(follower)
    assert third.response.generation_id == 2
    assert bench.state == "CompletingRebalance"


def test_a_member_that_asks_twice_is_answered_twice() -> None:
    bench = Bench()
    leader, follower = bench.stable(2)
    first = bench.join(leader)
    second = bench.join(leader)
    assert first.code is ErrorCode.REBALANCE_IN_PROGRESS
    assert second.is_pending
    bench.join(follower)
    assert second.code is ErrorCode.NONE


def test_who_does_not_rejoin_in_time_is_out() -> None:
    bench = Bench()
    leader, follower = bench.stable(2, session_ms=60_000)
    ticket = bench.join(follower, protocols=CHANGED, session_ms=60_000)
    bench.advance(REBALANCE_MS - 1)
    assert ticket.is_pending
    bench.advance(1)
    assert ticket.response.leader == follower, "the leader is gone, and another leads"
    assert list(bench.group.members) == [follower]
    assert bench.heartbeat(leader, 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert bench.shard.counters["member expirations"] == 1


def test_members_may_change_their_timeouts() -> None:
    bench = Bench()
    leader, follower = bench.stable(2)
    bench.join(leader, rebalance_ms=90_000, session_ms=60_000)
    bench.join(follower)
    assert bench.group.rebalance_timeout_ms == 90_000
    assert bench.group.members[leader].session_timeout_ms == 60_000


def test_every_rebalance_is_a_generation() -> None:
    bench = Bench()
    (member,) = bench.stable(1)
    for generation in range(2, 5):
        assert bench.join(member).response.generation_id == generation
        bench.sync_all([member])
    assert bench.shard.counters["rebalances"] == 4
    assert bench.shard.counters["completed rebalances"] == 4


def test_cooperative_members_come_back_to_hand_over() -> None:
    """A follower reports anew which partitions it owns, in the second rebalance of a cooperative assignor."""
    bench = Bench()
    sticky = (("cooperative-sticky", subscription("t", version=1)),)
    (first, _) = bench.join_with_id(protocols=sticky)
    bench.advance(DELAY_MS)
    bench.sync_all([first], "cooperative-sticky")
    second, ticket = bench.join_with_id(protocols=sticky)
    bench.join(first, protocols=sticky)
    assert ticket.response.protocol_name == "cooperative-sticky"
    bench.sync_all([first, second], "cooperative-sticky")
    bench.join(first, protocols=(("cooperative-sticky", subscription("t", version=2)),))
    bench.join(second, protocols=sticky)
    assert bench.group.generation == 3
    bench.sync_all([first, second], "cooperative-sticky")


def test_a_member_of_an_emptied_group_is_unknown() -> None:
    bench = Bench()
    (member,) = bench.stable(1)
    bench.advance(SESSION_MS)
    assert bench.state == "Empty"
    assert bench.join(member).code is ErrorCode.UNKNOWN_MEMBER_ID
    assert bench.sync(member, 1).code is ErrorCode.UNKNOWN_MEMBER_ID
    assert bench.heartbeat(member, 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert bench.leave((member, None)) == [ErrorCode.UNKNOWN_MEMBER_ID]
