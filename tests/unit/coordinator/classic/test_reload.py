"""A classic group after its coordinator was loaded anew, and the deletion of one."""

import pytest
from tests.unit.coordinator.classic.bench import DELAY_MS, GROUP, RANGE, SESSION_MS, WALL_MS, Bench

from tidelog.coordinator.group.classic import handlers
from tidelog.coordinator.group.classic.group import ClassicGroup, new_empty
from tidelog.coordinator.group.records.classic import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from tidelog.coordinator.requests import KeyValue
from tidelog.model.errors import ErrorCode


def stored(**changes: object) -> GroupMetadataValue:
    member = MemberMetadata(
        member_id="m",
        group_instance_id="i",
        client_id="c",
        client_host="/h",
        rebalance_timeout=20_000,
        session_timeout=10_000,
        subscription=RANGE[0][1],
        assignment=b"A",
    )
    values: dict[str, object] = {
        "protocol_type": "consumer",
        "generation": 5,
        "protocol": "range",
        "leader": "m",
        "current_state_timestamp": WALL_MS,
        "members": [member],
    }
    return GroupMetadataValue(**(values | changes))  # type: ignore[arg-type]


def loaded(value: GroupMetadataValue, **settings: str) -> Bench:
    bench = Bench(settings)
    bench.log.append((KeyValue(GroupMetadataKey(group=GROUP), value), 3))
    bench.reload()
    return bench


def test_a_loaded_group_goes_on_where_it_was() -> None:
    bench = Bench()
    leader, follower = bench.stable(2)
    bench.reload()
    assert (bench.state, bench.group.generation, bench.group.leader) == ("Stable", 1, leader)
    assert bench.heartbeat(follower, 1) is ErrorCode.NONE
    assert bench.sync(follower, 1).assignment == follower.encode()
    assert bench.join(follower).code is ErrorCode.NONE, "nothing new"
    assert bench.group.is_subscribed_to("t")
    assert not bench.group.is_subscribed_to("u")


def test_every_member_has_a_session_to_be_heard_of() -> None:
    bench = Bench()
    leader, _ = bench.stable(2)
    bench.advance(SESSION_MS - 1)
    bench.reload()
    bench.advance(SESSION_MS - 1)
    assert bench.state == "Stable"
    bench.heartbeat(leader, 1)
    bench.advance(1)
    assert list(bench.group.members) == [leader]


def test_a_rebalance_that_was_not_finished_begins_anew() -> None:
    bench = Bench()
    leader, follower = bench.stable(2)
    bench.join(leader)
    bench.join(follower)
    assert bench.state == "CompletingRebalance"
    bench.reload()
    assert (bench.state, bench.group.generation) == ("Stable", 1)
    # The members are in a generation that was never written, and learn so from the errors.
    assert bench.heartbeat(leader, 2) is ErrorCode.ILLEGAL_GENERATION
    assert bench.sync(follower, 2).code is ErrorCode.ILLEGAL_GENERATION
    tickets = [bench.join(leader), bench.join(follower)]
    assert [ticket.response.generation_id for ticket in tickets] == [2, 2]


def test_an_emptied_group_is_empty() -> None:
    bench = Bench()
    bench.stable(1)
    bench.advance(SESSION_MS)
    bench.reload()
    assert (bench.state, bench.group.generation, bench.group.protocol_type) == ("Empty", 2, "consumer")
    assert bench.group.leader is None
    _, ticket = bench.join_with_id()
    bench.advance(DELAY_MS)
    assert ticket.response.generation_id == 3


def test_everything_in_the_record_is_there_again() -> None:
    group = loaded(stored()).group
    member = group.members["m"]
    assert (member.group_instance_id, member.client_id, member.client_host) == ("i", "c", "/h")
    assert (member.rebalance_timeout_ms, member.session_timeout_ms) == (20_000, 10_000)
    assert (member.protocols, member.assignment) == (RANGE, b"A")
    assert (group.protocol_type, group.protocol_name, group.generation) == ("consumer", "range", 5)
    assert group.static_members == {"i": "m"}
    assert group.state_timestamp_ms == WALL_MS


def test_old_records_lack_some_of_it() -> None:
    value = stored(current_state_timestamp=-1)
    value.members[0].rebalance_timeout = -1
    group = loaded(value).group
    assert group.members["m"].rebalance_timeout_ms == 10_000
    assert group.state_timestamp_ms is None
    assert loaded(stored(leader=None)).group.leader == "m"


def test_a_leader_that_is_no_member_does_no_harm() -> None:
    bench = loaded(stored(leader="m"))
    bench.group.leader = "stranger"
    ticket = bench.join("m", instance="i", protocols=(("range", b"new"),))
    assert ticket.response.leader == "m"


def test_the_last_record_of_a_group_counts() -> None:
    bench = loaded(stored())
    bench.log.append((KeyValue(GroupMetadataKey(group=GROUP), stored(generation=6, members=[], leader=None)), 3))
    bench.reload()
    assert (bench.state, bench.group.generation) == ("Empty", 6)


def test_a_group_that_is_larger_than_it_may_be_rebalances() -> None:
    bench = Bench()
    members = bench.stable(3)
    bench.reload(group_max_size="2")
    assert bench.state == "Stable"
    bench.advance(0)
    assert bench.state == "PreparingRebalance"
    assert bench.heartbeat(members[2], 1) is ErrorCode.REBALANCE_IN_PROGRESS, "it may still commit its offsets"


def test_a_member_may_be_quicker_than_that() -> None:
    bench = Bench()
    members = bench.stable(3)
    bench.reload(group_max_size="2")
    assert bench.join(members[0]).is_pending
    bench.advance(0)
    assert bench.state == "PreparingRebalance"


@pytest.mark.parametrize("size", ["3", "4"])
def test_a_group_that_is_not_too_large_is_left_alone(size: str) -> None:
    bench = Bench()
    bench.stable(3)
    bench.reload(group_max_size=size)
    bench.advance(0)
    assert bench.state == "Stable"


def test_a_deleted_group_leaves_nothing_behind() -> None:
    bench = Bench()
    bench.stable(1)
    bench.advance(SESSION_MS)
    bench.join()
    group = bench.group
    ((tombstone, version),) = group.tombstones()
    assert (tombstone, version) == (KeyValue(GroupMetadataKey(group=GROUP), None), 3)
    bench.log.append((tombstone, version))
    handlers.REPLAY[GroupMetadataKey](bench.shard, tombstone.key, None)
    bench.validate_state()
    assert bench.shard.groups == {}
    assert len(bench.shard.timers) == 0
    assert group.state_name == "Dead"
    bench.reload()
    assert bench.shard.groups == {}


def test_a_tombstone_of_nothing_is_nothing() -> None:
    bench = Bench()
    handlers.REPLAY[GroupMetadataKey](bench.shard, GroupMetadataKey(group="unknown"), None)
    assert bench.shard.groups == {}


def test_a_group_that_only_has_offsets_can_be_joined() -> None:
    bench = Bench()
    bench.shard.groups[GROUP] = new_empty(bench.shard, GROUP, bench.wall_ms)
    assert bench.group.is_simple
    member, _ = bench.join_with_id()
    assert bench.log == []
    bench.advance(DELAY_MS)
    bench.sync_all([member])
    assert len(bench.log) == 1


def test_a_live_group_is_not_changed_by_its_own_record() -> None:
    bench = Bench()
    leader, follower = bench.stable(2)
    group = bench.group
    bench.join(leader)
    assert isinstance(group, ClassicGroup)
    assert bench.group is group
    assert group.committed is not None
    assert group.committed.generation == 1
    bench.join(follower)
    bench.sync_all([leader, follower])
    assert group.committed.generation == 2


def test_a_loaded_group_is_live() -> None:
    bench = Bench()
    bench.stable(1)
    bench.reload()
    group = bench.group
    bench.advance(SESSION_MS)
    assert bench.state == "Empty"
    assert bench.group is group, "its record did not put another in its place"


def test_what_is_printed_names_everything() -> None:
    bench = Bench()
    (member,) = bench.stable(1)
    pending = bench.join().member_id
    printed = bench.group.printed()
    assert (printed["type"], printed["state"], printed["generation"]) == ("classic", "Stable", 1)
    assert printed["members"][member]["assignment"] == member.encode().hex()
    assert printed["pending join"] == [pending]
    assert printed["committed"]["generation"] == 1
    assert handlers.printed_committed(bench.shard) == {GROUP: printed["committed"]}
