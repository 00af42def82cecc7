"""SyncGroup: the leader's assignment, and when each member gets its part."""

import pytest
from tests.unit.coordinator.classic.bench import DELAY_MS, GROUP, RANGE, REBALANCE_MS, SESSION_MS, Bench

from tidelog.coordinator.group.records.classic import GroupMetadataKey, MemberMetadata
from tidelog.model.errors import ErrorCode


def completing(count: int = 2, **settings: str) -> tuple[Bench, list[str]]:
    bench = Bench(settings)
    members = [bench.join_with_id()[0] for _ in range(count)]
    bench.advance(2 * DELAY_MS)
    assert bench.state == "CompletingRebalance"
    return bench, members


def test_followers_that_come_first_wait_for_the_leader() -> None:
    bench, (leader, *followers) = completing(3)
    waiting = [bench.sync(each, 1) for each in followers]
    assert all(ticket.is_pending for ticket in waiting)
    assert len(bench.log) == 1
    parts = {leader: b"L", followers[0]: b"0", followers[1]: b"1"}
    led = bench.sync(leader, 1, parts)
    assert [led.assignment, *(ticket.assignment for ticket in waiting)] == [b"L", b"0", b"1"]
    assert (led.response.protocol_type, led.response.protocol_name) == ("consumer", "range")
    assert bench.state == "Stable"


def test_a_follower_that_comes_later_gets_its_part_at_once() -> None:
    bench, (leader, follower) = completing()
    bench.sync(leader, 1, {leader: b"L", follower: b"F"})
    assert bench.sync(follower, 1).assignment == b"F"
    assert bench.sync(follower, 1).assignment == b"F", "as often as it asks"


def test_who_asks_for_its_part_is_alive() -> None:
    """SyncGroup counts as a heartbeat. Kafka 4 removes the member all the same, if it has sent no heartbeat since the
    group was loaded."""
    bench = Bench()
    leader, follower = bench.stable(2)
    bench.reload()
    bench.advance(SESSION_MS - 10)
    assert bench.sync(follower, bench.group.generation).code is ErrorCode.NONE
    bench.advance(20)
    assert set(bench.group.members) == {follower}, f"{leader} was not heard of"


def test_the_assignment_is_the_record_of_the_group() -> None:
    bench, (leader, follower) = completing()
    completing_since_ms = bench.group.state_timestamp_ms
    bench.advance(10)
    bench.sync(leader, 1, {leader: b"L", "stranger": b"S"})
    message, version = bench.log[-1]
    assert (message.key, version) == (GroupMetadataKey(group=GROUP), 3)
    value = message.value
    assert (value.protocol_type, value.protocol, value.generation, value.leader) == ("consumer", "range", 1, leader)
    assert value.current_state_timestamp == completing_since_ms

    def stored(member_id: str, assignment: bytes) -> MemberMetadata:
        return MemberMetadata(
            member_id=member_id,
            group_instance_id=None,
            client_id="c",
            client_host="/10.0.0.1",
            rebalance_timeout=REBALANCE_MS,
            session_timeout=SESSION_MS,
            subscription=RANGE[0][1],
            assignment=assignment,
        )

    # A member that was left out gets an empty assignment; an unknown member is dropped.
    assert value.members == [stored(leader, b"L"), stored(follower, b"")]
    assert bench.group.committed == value


def test_only_the_leader_assigns() -> None:
    bench, (_, follower) = completing()
    assert bench.sync(follower, 1, {follower: b"mine"}).is_pending
    assert bench.state == "CompletingRebalance"


def test_a_leaders_second_assignment_changes_nothing() -> None:
    bench, (leader, _) = completing()
    bench.sync(leader, 1, {leader: b"first"})
    written = len(bench.log)
    assert bench.sync(leader, 1, {leader: b"second"}).assignment == b"first"
    assert len(bench.log) == written


@pytest.mark.parametrize(
    ("protocol_type", "protocol_name", "code"),
    [
        ("consumer", "range", ErrorCode.NONE),
        ("connect", "range", ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ("consumer", "sticky", ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (None, "range", ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ("consumer", None, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_the_protocol_has_to_be_the_groups(
    protocol_type: str | None, protocol_name: str | None, code: ErrorCode
) -> None:
    bench, (leader,) = completing(1)
    assert bench.sync(leader, 1, protocol_type=protocol_type, protocol_name=protocol_name).code is code


def test_old_clients_do_not_name_it() -> None:
    bench, (leader,) = completing(1)
    assert bench.sync(leader, 1, protocol_type=None, protocol_name=None, version=4).code is ErrorCode.NONE


def test_who_is_refused() -> None:
    bench, (leader, _) = completing()
    assert bench.sync(leader, 1, group_id="").code is ErrorCode.INVALID_GROUP_ID
    assert bench.sync(leader, 1, group_id="other").code is ErrorCode.UNKNOWN_MEMBER_ID
    assert bench.sync("stranger", 1).code is ErrorCode.UNKNOWN_MEMBER_ID
    assert bench.sync(leader, 2).code is ErrorCode.ILLEGAL_GENERATION
    assert bench.sync(leader, 0).code is ErrorCode.ILLEGAL_GENERATION
    assert bench.sync(leader, 1, instance="i").code is ErrorCode.UNKNOWN_MEMBER_ID
    bench.join_with_id()
    assert bench.sync(leader, 1).code is ErrorCode.REBALANCE_IN_PROGRESS


def test_nobody_syncs_with_an_empty_group() -> None:
    bench = Bench()
    member = bench.join().member_id
    assert bench.sync(member, 0).code is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_that_asks_twice_is_answered_twice() -> None:
    bench, (leader, follower) = completing()
    first, second = bench.sync(follower, 1), bench.sync(follower, 1)
    assert first.code is ErrorCode.REBALANCE_IN_PROGRESS
    bench.sync(leader, 1, {follower: b"F"})
    assert second.assignment == b"F"


def test_an_assignment_that_can_not_be_written_starts_over() -> None:
    bench, (leader, follower) = completing()
    bench.shard.max_record_bytes = 10_000
    waiting = bench.sync(follower, 1)
    written = len(bench.log)
    refused = bench.sync(leader, 1, {leader: bytes(5_000), follower: bytes(5_000)})
    assert (refused.code, waiting.code) == (ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.UNKNOWN_SERVER_ERROR)
    assert refused.response.assignment == b""
    assert len(bench.log) == written
    assert bench.state == "PreparingRebalance"
    bench.join(leader)
    bench.join(follower)
    bench.sync_all([leader, follower])
    assert bench.shard.counters["completed rebalances"] == 1


def test_the_group_rebalances_without_those_who_do_not_sync() -> None:
    bench, (leader, follower) = completing()
    bench.sync(leader, 1, {leader: b"L", follower: b"F"})
    for _ in range(5):
        bench.advance(REBALANCE_MS // 5 - 1)
        assert bench.heartbeat(leader, 1) is ErrorCode.NONE
        bench.heartbeat(follower, 1)
    assert bench.state == "Stable"
    bench.advance(5)
    assert bench.state == "PreparingRebalance"
    assert list(bench.group.members) == [leader]
    assert bench.heartbeat(follower, 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert bench.join(leader).response.generation_id == 2


def test_a_leader_that_does_not_sync_is_out() -> None:
    bench, (leader, follower) = completing()
    waiting = bench.sync(follower, 1)
    for _ in range(4):
        bench.advance(REBALANCE_MS // 4)
        bench.heartbeat(leader, 1)
    assert waiting.code is ErrorCode.REBALANCE_IN_PROGRESS
    assert bench.join(follower).response.leader == follower


def test_nobody_is_out_when_all_have_synced() -> None:
    bench, members = completing()
    bench.sync_all(members)
    for _ in range(8):
        bench.advance(REBALANCE_MS // 4)
        assert [bench.heartbeat(each, 1) for each in members] == [ErrorCode.NONE] * 2
    assert bench.state == "Stable"


def test_a_follower_that_waits_long_has_a_session_afterwards() -> None:
    """The session time that passes while a follower waits for the leader does not count."""
    bench, (leader, follower) = completing()
    waiting = bench.sync(follower, 1)
    for _ in range(3):
        bench.advance(SESSION_MS - 1_000)
        bench.heartbeat(leader, 1)
    bench.sync(leader, 1, {follower: b"F"})
    assert waiting.assignment == b"F"
    bench.advance(SESSION_MS - 1)
    assert follower in bench.group.members
    bench.advance(1)
    assert follower not in bench.group.members
