"""A group changes its protocol while it lives: it is upgraded with its first consumer-protocol member, and downgraded
with its last."""

from typing import Any

import pytest
from tests.unit.coordinator.consumer.bench import GROUP, Bench
from tests.unit.coordinator.consumer.classic_client import SESSION_MS, ClassicClient, assignment, requests_of

from tidelog.coordinator.group.classic.state import ClassicState
from tidelog.coordinator.group.consumer.embedded import read_assignment
from tidelog.coordinator.group.records.classic import GroupMetadataKey
from tidelog.model.errors import ErrorCode

AT_ONCE = {"group.initial.rebalance.delay.ms": "0"}


def classic_group(topics: int = 4, **settings: str) -> tuple[Bench, ClassicClient]:
    """Return a bench with a classic group of one member that has all partitions."""
    bench = Bench(AT_ONCE | {name.replace("_", "."): value for name, value in settings.items()})
    bench.topic("t", topics)
    client = ClassicClient(bench)
    assert client.ask_to_join() is not None
    first: Any = client.ask_to_join()
    client.member_id = first.member_id
    assert client.ask_to_join() is None
    bench.tick()
    client.hear(bench.answers.pop()[1])
    assert client.sync({client.member_id: {"t": list(range(topics))}}) is ErrorCode.NONE
    assert bench.classic_group.state is ClassicState.STABLE
    return bench, client


def upgraded() -> tuple[Bench, ClassicClient, Any]:
    bench, old = classic_group()
    new = bench.client("new")
    assert new.join() is ErrorCode.NONE
    return bench, old, new


def test_up() -> None:
    bench, old, new = upgraded()
    group = bench.group
    assert list(group.members) == [old.member_id, "new"]
    member = group.members[old.member_id]
    assert (member.epoch, member.is_classic, member.topics) == (1, True, ("t",))
    assert bench.assigned(old.member_id) == {"t": [0, 1, 2, 3]}
    assert (group.epoch, group.target_epoch, new.epoch, new.assignment) == (2, 2, 2, {})
    assert bench.group.state_name == "Reconciling"
    bench.validate_state()


def test_the_records_of_going_up() -> None:
    bench, _ = classic_group()
    count = len(bench.log)
    bench.client("new").join()
    assert bench.taken(len(bench.log) - count) == [
        "-GroupMetadataKey",
        "ConsumerGroupMemberMetadataKey",
        "ConsumerGroupMetadataKey",
        "ConsumerGroupTargetAssignmentMemberKey",
        "ConsumerGroupTargetAssignmentMetadataKey",
        "ConsumerGroupCurrentMemberAssignmentKey",
        "ConsumerGroupMemberMetadataKey",
        "ConsumerGroupMetadataKey",
        "ConsumerGroupTargetAssignmentMemberKey",
        "ConsumerGroupTargetAssignmentMemberKey",
        "ConsumerGroupTargetAssignmentMetadataKey",
        "ConsumerGroupCurrentMemberAssignmentKey",
    ]


def test_both_share_the_topic_in_the_end() -> None:
    bench, old, new = upgraded()
    for _ in range(3):
        old.follow()
        new.report()
    assert sorted(old.owned["t"] + new.assignment["t"]) == [0, 1, 2, 3]
    assert len(new.assignment["t"]) == 2
    assert bench.group.state_name == "Stable"
    bench.validate_state()


def test_who_waits_in_the_classic_group_is_told_to_join_again() -> None:
    bench, old = classic_group()
    second = ClassicClient(bench)
    second.member_id = second.ask_to_join().member_id  # type: ignore[union-attr]
    assert second.ask_to_join() is None
    assert old.beat() is ErrorCode.REBALANCE_IN_PROGRESS
    assert bench.client("new").join() is ErrorCode.NONE
    assert requests_of(bench.answers) == [("JoinGroupRequest", ErrorCode.REBALANCE_IN_PROGRESS)]
    assert len(bench.group.members) == 3
    assert second.join() is ErrorCode.NONE


@pytest.mark.parametrize("policy", ["disabled", "downgrade"])
def test_a_policy_that_forbids_going_up(policy: str) -> None:
    bench, old = classic_group(group_consumer_migration_policy=policy)
    assert bench.client("new").join() is ErrorCode.GROUP_ID_NOT_FOUND
    assert old.beat() is ErrorCode.NONE


def test_a_group_that_is_too_large_to_go_up() -> None:
    bench, _ = classic_group(group_consumer_max_size="1")
    assert bench.client("new").join() is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert bench.classic_group.members, "it is what it was"


def test_members_of_another_protocol_type() -> None:
    bench = Bench(AT_ONCE)
    worker = ClassicClient(bench)
    worker.member_id = worker.ask_to_join(protocol_type="connect").member_id  # type: ignore[union-attr]
    worker.ask_to_join(protocol_type="connect")
    bench.tick()
    assert bench.client("new").join() is ErrorCode.GROUP_ID_NOT_FOUND


@pytest.mark.parametrize("stored", [b"\x00", b"\xff\xff", assignment({"t": [0]}, b"mine")])
def test_an_assignment_that_can_not_be_taken_over(stored: bytes) -> None:
    bench, old = classic_group()
    bench.classic_group.members[old.member_id].assignment = stored
    assert bench.client("new").join() is ErrorCode.GROUP_ID_NOT_FOUND


def test_an_empty_classic_group_makes_room() -> None:
    bench, old = classic_group()
    old.leave()
    bench.tick()
    assert bench.classic_group.is_empty
    assert bench.client("new").join() is ErrorCode.NONE
    assert list(bench.group.members) == ["new"]
    bench.validate_state()


def test_only_who_joins_makes_it_go_up() -> None:
    bench, _ = classic_group()
    assert bench.heartbeat(member_id="x", member_epoch=3).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert bench.heartbeat(member_id="x", member_epoch=-1).error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_a_classic_member_dies_in_the_consumer_group() -> None:
    bench, old, new = upgraded()
    bench.advance(SESSION_MS - 1)
    assert old.member_id in bench.group.members
    bench.advance(1)
    assert list(bench.group.members) == ["new"]
    new.report()
    assert new.assignment == {"t": [0, 1, 2, 3]}


def test_down() -> None:
    bench, old, new = upgraded()
    for _ in range(3):
        old.follow()
        new.report()
    epoch = bench.group.epoch
    assert new.leave() is ErrorCode.NONE
    group = bench.classic_group
    assert (group.state, group.generation, list(group.members)) == (
        ClassicState.PREPARING_REBALANCE,
        epoch,
        [old.member_id],
    )
    assert group.protocol_name == "range"
    assert isinstance(bench.log[-1][0].key, GroupMetadataKey)
    stored = bench.log[-1][0].value
    assert read_assignment(stored.members[0].assignment).assigned_partitions[0].partitions == old.owned["t"]
    bench.validate_state()
    assert old.beat() is ErrorCode.REBALANCE_IN_PROGRESS
    joined = old.ask_to_join()
    if joined is None:
        bench.tick()
        joined = bench.answers[-1][1]
    assert old.hear(joined) is ErrorCode.NONE
    assert old.sync({old.member_id: {"t": [0, 1, 2, 3]}}) is ErrorCode.NONE
    assert old.owned == {"t": [0, 1, 2, 3]}
    assert not [key for key in bench.shard.timers._due if key[0].startswith("consumer")]  # type: ignore[index]
    bench.validate_state()


def test_down_because_the_last_one_was_not_heard_of() -> None:
    bench, old, _ = upgraded()
    for _ in range(9):
        bench.advance(5_000)
        old.follow()
    assert list(bench.classic_group.members) == [old.member_id]
    bench.validate_state()


@pytest.mark.parametrize("policy", ["disabled", "upgrade"])
def test_a_policy_that_forbids_going_down(policy: str) -> None:
    bench, old, new = upgraded()
    bench.settings["group.consumer.migration.policy"] = policy
    bench.reload()
    new.leave()
    assert list(bench.group.members) == [old.member_id]


def test_up_down_and_up_again() -> None:
    bench, old, new = upgraded()
    new.leave()
    assert bench.classic_group.members
    assert new.join() is ErrorCode.NONE
    assert list(bench.group.members) == [old.member_id, "new"]
    assert bench.group.epoch == 3, "the classic generation was the group epoch"
    bench.validate_state()


def test_an_empty_consumer_group_becomes_a_classic_one() -> None:
    bench = Bench(AT_ONCE)
    bench.topic("t", 1)
    (a,) = bench.joined("a")
    a.leave()
    client = ClassicClient(bench)
    client.ask_to_join()
    assert GROUP in bench.shard.groups
    assert bench.classic_group.group_id == GROUP
    bench.validate_state()


def test_a_static_member_moves_up() -> None:
    bench = Bench(AT_ONCE)
    bench.topic("t", 2)
    old = ClassicClient(bench, instance_id="i")
    assert old.ask_to_join() is None
    bench.tick()
    old.hear(bench.answers.pop()[1])
    old.sync({old.member_id: {"t": [0, 1]}})
    new = bench.client("new", instance_id="i")
    assert new.join() is ErrorCode.NONE
    assert list(bench.group.members) == ["new"]
    assert new.assignment == {"t": [0, 1]}
    assert not new.state.is_classic
    assert old.beat() is ErrorCode.FENCED_INSTANCE_ID
    bench.validate_state()


def test_the_last_static_member_moves_down_and_nobody_rebalances() -> None:
    bench = Bench(AT_ONCE)
    bench.topic("t", 2)
    new = bench.client("new", instance_id="i")
    new.join()
    new.report()
    epoch = bench.group.epoch
    old = ClassicClient(bench, instance_id="i")
    assert old.join() is ErrorCode.NONE
    group = bench.classic_group
    assert (group.state, group.generation, old.generation) == (ClassicState.STABLE, epoch, epoch)
    assert list(group.members) == [old.member_id]
    assert old.sync() is ErrorCode.NONE
    assert old.owned == {"t": [0, 1]}
    bench.validate_state()


def test_the_last_static_member_moves_down_with_another_subscription() -> None:
    bench = Bench(AT_ONCE)
    bench.topic("t", 2)
    new = bench.client("new", instance_id="i")
    new.join()
    old = ClassicClient(bench, topics=("u",), instance_id="i")
    assert old.join() is ErrorCode.NONE
    assert bench.classic_group.state is ClassicState.PREPARING_REBALANCE
    bench.validate_state()


# A crash between the downgrade and the rebalance that follows it


def test_partitions_that_nobody_owns_after_a_load_are_handed_out() -> None:
    bench, old, new = upgraded()
    for _ in range(3):
        old.follow()
        new.report()
    assert new.assignment == {"t": [2, 3]}
    new.leave()
    states = [bench.classic_group.state]
    bench.reload()
    states.append(bench.classic_group.state)  # stable: the rebalance was not in the log
    bench.tick()
    states.append(bench.classic_group.state)
    assert states == [ClassicState.PREPARING_REBALANCE, ClassicState.STABLE, ClassicState.PREPARING_REBALANCE]
    assert old.beat() is ErrorCode.REBALANCE_IN_PROGRESS
    bench.validate_state()


def test_a_group_that_owns_everything_is_loaded_in_peace() -> None:
    bench, old = classic_group()
    bench.reload()
    bench.tick()
    assert bench.classic_group.state is ClassicState.STABLE
    assert old.beat() is ErrorCode.NONE


def test_a_subscribed_topic_that_is_gone_has_no_partitions_to_own() -> None:
    bench, _ = classic_group()
    bench.delete("t")
    bench.reload()
    bench.tick()
    assert bench.classic_group.state is ClassicState.STABLE


def test_a_partition_that_was_added_meanwhile_is_handed_out() -> None:
    bench, _ = classic_group()
    bench.grow("t", 5)
    bench.reload()
    bench.tick()
    assert bench.classic_group.state is ClassicState.PREPARING_REBALANCE


def test_an_assignment_that_cannot_be_read_is_left_alone() -> None:
    bench, old = classic_group()
    member = bench.classic_group.members[old.member_id]
    for unreadable in (b"\0", b"\0\0\0\0\0\7", b"no assignment of a consumer"):
        member.assignment = unreadable
        bench.log.append(bench.classic_group.to_record({old.member_id: unreadable}))
        bench.reload()
        bench.tick()
        assert bench.classic_group.state is ClassicState.STABLE
