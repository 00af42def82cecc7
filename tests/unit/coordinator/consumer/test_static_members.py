"""Static members: they leave for a while, keep their partitions, and come back with another id."""

from tests.unit.coordinator.consumer.bench import SESSION_MS, Bench, Client

from tidelog.model.errors import ErrorCode


def static(bench: Bench, member_id: str, instance_id: str = "i") -> Client:
    return bench.client(member_id, instance_id=instance_id)


def bench_with_static() -> tuple[Bench, Client, Client]:
    bench = Bench()
    bench.topic("t", 4)
    first, other = static(bench, "a"), bench.client("b")
    first.join()
    other.join()
    bench.settle(first, other)
    return bench, first, other


def test_who_leaves_for_a_while_keeps_its_partitions() -> None:
    bench, first, other = bench_with_static()
    response = bench.heartbeat(member_id="a", member_epoch=-2, instance_id="i")
    assert (response.error_code, response.member_epoch) == (0, -2)
    assert bench.taken(1) == ["ConsumerGroupCurrentMemberAssignmentKey"]
    assert first.state.epoch == -2
    assert set(first.state.assigned[bench.topic_id("t")].values()) == {0}
    bench.settle(other)
    assert other.assignment == {"t": [2, 3]}
    bench.validate_state()


def test_it_comes_back_with_another_id_and_nobody_else_notices() -> None:
    bench, first, other = bench_with_static()
    epoch = bench.group.epoch
    first.leave(-2)
    again = static(bench, "a2")
    assert again.join() is ErrorCode.NONE
    assert (again.epoch, again.assignment) == (epoch, {"t": [0, 1]})
    assert list(bench.group.members) == ["b", "a2"]
    assert bench.target("a2") == {"t": [0, 1]}
    assert bench.group.static_members == {"i": "a2"}
    assert bench.group.epoch == epoch
    bench.settle(again, other)
    assert bench.group.state_name == "Stable"
    bench.validate_state()


def test_the_records_of_coming_back() -> None:
    bench, first, _ = bench_with_static()
    first.leave(-2)
    count = len(bench.log)
    static(bench, "a2").join()
    assert bench.taken(len(bench.log) - count) == [
        "-ConsumerGroupCurrentMemberAssignmentKey",
        "-ConsumerGroupTargetAssignmentMemberKey",
        "-ConsumerGroupMemberMetadataKey",
        "ConsumerGroupMemberMetadataKey",
        "ConsumerGroupTargetAssignmentMemberKey",
        "ConsumerGroupCurrentMemberAssignmentKey",
        "ConsumerGroupCurrentMemberAssignmentKey",
    ]


def test_it_comes_back_with_another_subscription() -> None:
    bench, first, other = bench_with_static()
    bench.topic("u", 2)
    first.leave(-2)
    again = static(bench, "a2")
    again.topics = ("u",)
    again.join()
    bench.settle(again, other)
    assert (again.assignment, other.assignment) == ({"u": [0, 1]}, {"t": [0, 1, 2, 3]})
    bench.validate_state()


def test_it_may_come_back_with_the_same_id() -> None:
    bench, first, other = bench_with_static()
    first.leave(-2)
    assert first.join() is ErrorCode.NONE
    assert first.assignment == {"t": [0, 1]}
    bench.settle(first, other)
    bench.validate_state()


def test_who_has_not_left_is_not_replaced() -> None:
    bench, first, _ = bench_with_static()
    assert static(bench, "a2").join() is ErrorCode.UNRELEASED_INSTANCE_ID
    assert first.join() is ErrorCode.UNRELEASED_INSTANCE_ID


def test_the_former_process_is_fenced() -> None:
    bench, first, _ = bench_with_static()
    epoch = first.epoch
    first.leave(-2)
    static(bench, "a2").join()
    first.epoch = epoch
    assert first.beat() is ErrorCode.FENCED_INSTANCE_ID
    assert first.leave() is ErrorCode.FENCED_INSTANCE_ID
    assert first.leave(-2) is ErrorCode.FENCED_INSTANCE_ID


def test_an_instance_id_that_nobody_has() -> None:
    bench, _, _ = bench_with_static()
    for epoch in (1, -1, -2):
        response = bench.heartbeat(member_id="x", member_epoch=epoch, instance_id="j")
        assert response.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_who_does_not_come_back_in_time_is_out() -> None:
    bench, first, other = bench_with_static()
    first.leave(-2)
    bench.advance(SESSION_MS - 1)
    other.report()
    assert "a" in bench.group.members
    bench.advance(1)
    assert "a" not in bench.group.members
    bench.settle(other)
    assert other.assignment == {"t": [0, 1, 2, 3]}


def test_leaving_for_good_frees_everything_at_once() -> None:
    bench, first, other = bench_with_static()
    first.leave(-1)
    bench.settle(other)
    assert other.assignment == {"t": [0, 1, 2, 3]}
    assert not bench.group.static_members


def test_leaving_in_the_middle_of_giving_back() -> None:
    """The partitions that the member had still to revoke are free, and its rebalance timeout no longer counts."""
    bench = Bench()
    bench.topic("t", 4)
    first, other = static(bench, "a"), bench.client("b")
    first.join()
    other.join()
    first.beat()
    assert first.state.pending_revocation
    first.leave(-2)
    other.beat()
    assert other.assignment == {"t": [2, 3]}
    bench.advance(31_000)
    assert "a" in bench.group.members
    bench.validate_state()


def test_a_new_instance_id_for_a_member() -> None:
    bench = Bench()
    bench.topic("t", 1)
    client = bench.client("a")
    client.join()
    assert client.beat(instance_id="i") is ErrorCode.UNKNOWN_MEMBER_ID
