"""The description of a group, and the replay of its records from a compacted log or another release."""

import pytest
from tests.unit.coordinator.consumer.bench import GROUP, Bench, replay
from tests.unit.coordinator.consumer.classic_client import ClassicClient

from tidelog.coordinator.group.classic.group import new_empty
from tidelog.coordinator.group.consumer import handlers
from tidelog.coordinator.group.consumer.member import MemberState
from tidelog.coordinator.group.records import consumer as records
from tidelog.coordinator.requests import KeyValue
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import Uuid

TOPIC = Uuid(bytes(15) + b"\x05")


def test_describing_a_group() -> None:
    bench = Bench()
    bench.topic("t", 4)
    a, b = bench.client("a", instance_id="i"), bench.client("b")
    a.join(rack_id="r")
    b.join()
    a.beat()
    old = ClassicClient(bench, member_id="c")
    old.join()
    group = bench.describe()
    assert (group.error_code, group.group_state, group.assignor_name) == (0, "Reconciling", "uniform")
    assert (group.group_epoch, group.assignment_epoch) == (4, 4)
    first, second, third = group.members
    assert (first.member_id, first.instance_id, first.rack_id, first.member_epoch) == ("a", "i", "r", 2)
    assert (first.client_id, first.client_host, first.subscribed_topic_names) == ("c", "/10.0.0.1", ["t"])
    assert first.assignment.topic_partitions[0].partitions == [0, 1, 2, 3], "what it has to give back is still its own"
    assert first.assignment.topic_partitions[0].topic_name == "t"
    assert len(first.target_assignment.topic_partitions[0].partitions) == 2
    assert second.assignment.topic_partitions == []
    assert [member.member_type for member in (first, second, third)] == [1, 1, 0]


def test_a_deleted_topic_is_not_shown() -> None:
    bench = Bench()
    bench.topic("t", 1)
    bench.joined("a")
    bench.delete("t")
    assert bench.describe().members[0].assignment.topic_partitions == []


def test_a_group_that_is_not_there_and_one_that_is_classic() -> None:
    bench = Bench()
    bench.shard.groups["classic"] = new_empty(bench.shard, "classic", 0)
    for group_id in ("nobody", "classic"):
        group = bench.describe(group_id)
        assert group.error_code == ErrorCode.GROUP_ID_NOT_FOUND
        assert group.error_message


def test_tombstones_of_what_is_unknown_mean_nothing() -> None:
    bench = Bench()
    for key in (
        records.ConsumerGroupMetadataKey(group_id=GROUP),
        records.ConsumerGroupPartitionMetadataKey(group_id=GROUP),
        records.ConsumerGroupMemberMetadataKey(group_id=GROUP, member_id="a"),
        records.ConsumerGroupTargetAssignmentMetadataKey(group_id=GROUP),
        records.ConsumerGroupTargetAssignmentMemberKey(group_id=GROUP, member_id="a"),
        records.ConsumerGroupCurrentMemberAssignmentKey(group_id=GROUP, member_id="a"),
        records.ConsumerGroupRegularExpressionKey(group_id=GROUP, regular_expression="r"),
    ):
        replay(bench.shard, KeyValue(key, None))
        assert bench.shard.groups == {}
    value = records.ConsumerGroupMetadataValue(epoch=5)
    replay(bench.shard, KeyValue(records.ConsumerGroupMetadataKey(group_id=GROUP), value))
    for key in (
        records.ConsumerGroupMemberMetadataKey(group_id=GROUP, member_id="a"),
        records.ConsumerGroupCurrentMemberAssignmentKey(group_id=GROUP, member_id="a"),
        records.ConsumerGroupTargetAssignmentMemberKey(group_id=GROUP, member_id="a"),
    ):
        replay(bench.shard, KeyValue(key, None))
    assert not bench.group.members


def test_the_tombstones_of_a_group_remove_all_of_it() -> None:
    bench = Bench()
    bench.topic("t", 2)
    bench.joined("a", "b")
    client = bench.client("c", regex="t.*")
    client.join()
    bench.tick()
    for message, _ in bench.group.tombstones():
        replay(bench.shard, message)
    assert bench.shard.groups == {}


def replay_all(bench: Bench, messages: list[KeyValue]) -> None:
    for message in messages:
        replay(bench.shard, message)


@pytest.mark.parametrize("skipped", ["Current", "TargetAssignmentMember"])
def test_a_member_is_not_removed_with_its_assignment(skipped: str) -> None:
    bench = Bench()
    bench.topic("t", 1)
    bench.joined("a")
    tombstones = [m for m, _ in bench.group.tombstones() if skipped not in type(m.key).__name__]
    with pytest.raises(AssertionError, match="removed with"):
        replay_all(bench, tombstones)


def current(member_id: str, epoch: int, partitions: list[int], epochs: list[int] | None, state: int = 0) -> KeyValue:
    topics = [records.TopicPartitions(topic_id=TOPIC, partitions=partitions, assignment_epochs=epochs)]
    value = records.ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=epoch,
        previous_member_epoch=epoch - 1,
        state=state,
        assigned_partitions=topics,
        partitions_pending_revocation=[],
    )
    return KeyValue(records.ConsumerGroupCurrentMemberAssignmentKey(group_id=GROUP, member_id=member_id), value)


def test_assignment_epochs_of_other_releases() -> None:
    bench = Bench()
    for epochs, expected in (([3, 4], {0: 3, 1: 4}), (None, {0: 5, 1: 5}), ([], {0: 5, 1: 5}), ([3], {0: 5, 1: 5})):
        replay(bench.shard, current("a", 5, [0, 1], epochs))
        assert bench.group.members["a"].assigned == {TOPIC: expected}
    replay(bench.shard, current("a", -2, [0], None))
    assert bench.group.members["a"].assigned == {TOPIC: {0: 0}}


def test_a_state_of_a_later_release() -> None:
    bench = Bench()
    replay(bench.shard, current("a", 5, [0], [5], state=9))
    assert bench.group.members["a"].state is MemberState.UNKNOWN


def test_a_partition_that_two_records_claim_goes_with_the_later_one() -> None:
    bench = Bench()
    replay(bench.shard, current("a", 5, [0], [5]))
    replay(bench.shard, current("b", 6, [0], [6]))
    replay(bench.shard, current("a", 6, [], []))
    assert bench.group.owners == {TOPIC: {0: "b"}}


def test_a_group_that_only_held_offsets_makes_room() -> None:
    bench = Bench()
    bench.shard.groups[GROUP] = new_empty(bench.shard, GROUP, 0)
    replay(bench.shard, current("a", 5, [0], [5]))
    assert list(bench.group.members) == ["a"]


def test_every_record_has_its_reader() -> None:
    names = [name for name in vars(records) if name.startswith("ConsumerGroup") and name.endswith("Key")]
    assert sorted(key.__name__ for key in handlers.REPLAY) == sorted(names)
