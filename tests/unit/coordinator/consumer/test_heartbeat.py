"""Joining, reporting and staying: epochs, records and answers."""

from typing import Any

import pytest
from tests.unit.coordinator.consumer.bench import GROUP, REBALANCE_MS, SESSION_MS, Bench

from tidelog.coordinator.group.consumer.member import MemberState
from tidelog.model.errors import ErrorCode

MEMBER, EPOCH = "ConsumerGroupMemberMetadataKey", "ConsumerGroupMetadataKey"
TARGET, TARGET_EPOCH = "ConsumerGroupTargetAssignmentMemberKey", "ConsumerGroupTargetAssignmentMetadataKey"
CURRENT = "ConsumerGroupCurrentMemberAssignmentKey"


def bench_with(partitions: int = 6) -> Bench:
    bench = Bench()
    bench.topic("t", partitions)
    return bench


def test_the_first_member_gets_everything_in_epoch_2() -> None:
    bench = bench_with()
    client = bench.client("a")
    assert client.join() is ErrorCode.NONE
    assert (client.epoch, client.assignment) == (2, {"t": [0, 1, 2, 3, 4, 5]})
    assert client.interval_ms == 5_000
    assert bench.taken(5) == [MEMBER, EPOCH, TARGET, TARGET_EPOCH, CURRENT]
    assert bench.group.state_name == "Stable"
    assert bench.group.target_timestamp_ms == bench.wall_ms
    bench.validate_state()


def test_the_second_member_waits_for_the_first_to_give_back() -> None:
    bench = bench_with()
    a, b = bench.client("a"), bench.client("b")
    a.join()
    b.join()
    assert (b.epoch, b.assignment, b.state.state) == (3, {}, MemberState.UNRELEASED_PARTITIONS)
    assert bench.group.state_name == "Reconciling"
    a.beat()  # it learns what to keep, and has revoked nothing yet
    assert (a.epoch, a.assignment, a.state.state) == (2, {"t": [0, 1, 2]}, MemberState.UNREVOKED_PARTITIONS)
    b.beat()
    assert b.assignment == {}
    a.report()
    assert (a.epoch, a.state.state) == (3, MemberState.STABLE)
    b.beat()
    assert (b.assignment, b.state.state) == ({"t": [3, 4, 5]}, MemberState.STABLE)
    assert bench.group.state_name == "Stable"
    bench.validate_state()


def test_a_keep_alive_gives_nothing_back() -> None:
    bench = bench_with()
    a, b = bench.client("a"), bench.client("b")
    a.join()
    b.join()
    for _ in range(3):
        a.beat()
        assert a.state.pending_revocation
    a.beat(topic_partitions=bench.wire({"t": [0, 1, 2, 3]}))
    assert a.state.pending_revocation, "3 is still to be given back"
    a.report()
    assert not a.state.pending_revocation


def test_the_assignment_is_told_when_it_changes_or_is_asked_for() -> None:
    bench = bench_with()
    (a,) = bench.joined("a")
    assert bench.heartbeat(member_id="a", member_epoch=a.epoch).assignment is None
    owned = bench.wire(a.assignment)
    assert bench.heartbeat(member_id="a", member_epoch=a.epoch, topic_partitions=owned).assignment is None
    full = bench.heartbeat(
        member_id="a",
        member_epoch=a.epoch,
        topic_partitions=owned,
        rebalance_timeout_ms=REBALANCE_MS,
        subscribed_topic_names=["t"],
    )
    assert full.assignment is not None
    assert full.assignment.topic_partitions[0].partitions == [0, 1, 2, 3, 4, 5]


def test_a_heartbeat_without_news_writes_nothing() -> None:
    bench = bench_with()
    (a,) = bench.joined("a")
    count = len(bench.log)
    a.beat()
    a.report()
    assert len(bench.log) == count


def test_what_a_member_says_of_itself_is_kept_without_a_rebalance() -> None:
    bench = bench_with()
    (a,) = bench.joined("a")
    assert a.beat(rack_id="r", rebalance_timeout_ms=9) is ErrorCode.NONE
    assert bench.taken(1) == [MEMBER]
    assert (a.state.rack_id, a.state.rebalance_timeout_ms, a.epoch) == ("r", 9, 2)
    assert a.beat() is ErrorCode.NONE
    assert a.state.rack_id == "r"


def test_another_subscription_is_a_rebalance() -> None:
    bench = bench_with()
    bench.topic("u", 2)
    (a,) = bench.joined("a")
    a.beat(subscribed_topic_names=["u", "t", "u"])
    assert bench.taken(5) == [MEMBER, EPOCH, TARGET, TARGET_EPOCH, CURRENT]
    assert a.assignment == {"t": [0, 1, 2, 3, 4, 5], "u": [0, 1]}
    a.report(subscribed_topic_names=["u"])
    assert a.assignment == {"u": [0, 1]}
    assert a.epoch == 3, "first it gives back"
    a.report()
    assert a.epoch == 4


def test_a_topic_no_longer_subscribed_goes_even_before_the_next_target() -> None:
    bench = Bench({"group.consumer.assignment.interval.ms": "10000"})
    bench.topic("t", 2)
    bench.topic("u", 2)
    client = bench.client("a", "t", "u")
    client.join()
    client.beat(subscribed_topic_names=["u"])
    assert bench.group.epoch > bench.group.target_epoch, "it is not time for another target yet"
    assert client.assignment == {"u": [0, 1]}
    assert client.state.state is MemberState.UNREVOKED_PARTITIONS
    assert bench.group.state_name == "Assigning"


@pytest.mark.parametrize(("offset", "code"), [(1, ErrorCode.FENCED_MEMBER_EPOCH), (0, ErrorCode.NONE)])
def test_an_epoch_ahead_is_fenced(offset: int, code: ErrorCode) -> None:
    bench = bench_with()
    (a,) = bench.joined("a")
    a.epoch += offset
    assert a.beat() is code


def test_the_epoch_before_is_fine_for_who_owns_nothing_it_should_not() -> None:
    bench = bench_with()
    (a,) = bench.joined("a")
    before = a.epoch
    a.beat(subscribed_topic_names=["t", "u"])
    assert a.epoch == before + 1
    beat: dict[str, Any] = {"member_id": "a", "member_epoch": before}
    assert bench.heartbeat(**beat).error_code == ErrorCode.FENCED_MEMBER_EPOCH, "it does not say what it owns"
    foreign = bench.wire({"t": [0, 99]})
    assert bench.heartbeat(**beat, topic_partitions=foreign).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    accepted = bench.heartbeat(**beat, topic_partitions=bench.wire({"t": [0, 1]}))
    assert (accepted.error_code, accepted.member_epoch) == (0, before + 1)
    older = bench.heartbeat(member_id="a", member_epoch=before - 1, topic_partitions=[])
    assert older.error_code == ErrorCode.FENCED_MEMBER_EPOCH


def test_a_fenced_member_joins_again_with_its_own_id() -> None:
    bench = bench_with()
    a, _ = bench.joined("a", "b")
    assert a.join() is ErrorCode.NONE
    assert a.assignment == bench.assigned("a")
    assert len(bench.group.members) == 2


def test_a_member_leaves_and_the_other_takes_over() -> None:
    bench = bench_with()
    a, b = bench.joined("a", "b")
    epoch = bench.group.epoch
    assert a.leave() is ErrorCode.NONE
    assert bench.taken(4) == [f"-{CURRENT}", f"-{TARGET}", f"-{MEMBER}", EPOCH]
    assert bench.group.epoch == epoch + 1
    assert bench.group.state_name == "Assigning"
    b.report()
    assert b.assignment == {"t": [0, 1, 2, 3, 4, 5]}
    assert b.leave() is ErrorCode.NONE
    assert bench.group.state_name == "Empty"
    bench.advance(2 * SESSION_MS)
    assert bench.group.is_empty
    bench.validate_state()


def test_the_answer_to_a_leave_repeats_who_left() -> None:
    bench = bench_with()
    bench.joined("a")
    response = bench.heartbeat(member_id="a", member_epoch=-1)
    assert (response.member_id, response.member_epoch, response.heartbeat_interval_ms) == ("a", -1, 0)


def test_settings_of_the_group() -> None:
    bench = bench_with()
    (a,) = bench.joined("a")
    bench.configure("consumer.heartbeat.interval.ms", "7000")
    a.beat()
    assert a.interval_ms == 7_000


def test_a_failover_loses_nothing() -> None:
    bench = bench_with()
    a, b = bench.client("a"), bench.client("b")
    a.join()
    b.join()
    bench.reload()
    bench.settle(a, b)
    assert (a.assignment, b.assignment) == ({"t": [0, 1, 2]}, {"t": [3, 4, 5]})
    epoch = bench.group.epoch
    bench.reload()
    bench.settle(a, b)
    assert bench.group.epoch == epoch, "the topics are what they were: no rebalance"


def test_a_group_of_records_from_before_hashes_loses_what_they_replaced() -> None:
    from tests.unit.coordinator.consumer.bench import replay

    from tidelog.coordinator.group.records.consumer import (
        ConsumerGroupPartitionMetadataKey,
        ConsumerGroupPartitionMetadataValue,
    )
    from tidelog.coordinator.requests import KeyValue

    bench = bench_with()
    (a,) = bench.joined("a")
    old = KeyValue(ConsumerGroupPartitionMetadataKey(group_id=GROUP), ConsumerGroupPartitionMetadataValue(topics=[]))
    bench.log.append((old, 0))
    replay(bench.shard, old)
    bench.reload()
    a.beat()
    assert bench.taken(1) == ["-ConsumerGroupPartitionMetadataKey"]
    assert not bench.group.has_partition_metadata
