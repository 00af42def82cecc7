"""The only writer of a consumer group's durable state: its records, one by one, from the log or just decided.

After a compaction the log begins anywhere: tombstones of what is unknown are passed over.
"""

from collections.abc import Callable
from typing import Any, Final

from tidelog.coordinator.group.classic.group import ClassicGroup
from tidelog.coordinator.group.consumer.group import NO_TARGET_EPOCH, ConsumerGroup
from tidelog.coordinator.group.consumer.member import LEAVE_EPOCH, ConsumerMember
from tidelog.coordinator.group.consumer.subscriptions import ResolvedRegex
from tidelog.coordinator.group.records.consumer import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)
from tidelog.coordinator.group.shard import GroupShard


def replay_group(shard: GroupShard, key: ConsumerGroupMetadataKey, value: ConsumerGroupMetadataValue | None) -> None:
    if value is not None:
        group = _created(shard, key.group_id)
        group.epoch, group.metadata_hash = value.epoch, value.metadata_hash
    elif (found := _known(shard, key.group_id)) is not None:
        assert not found.members, f"group {key.group_id!r} is removed with members in it"
        assert not found.target, f"group {key.group_id!r} is removed with a target assignment"
        assert found.target_epoch == NO_TARGET_EPOCH, f"group {key.group_id!r} is removed with an assignment epoch"
        del shard.groups[key.group_id]


def replay_partition_metadata(
    shard: GroupShard, key: ConsumerGroupPartitionMetadataKey, value: ConsumerGroupPartitionMetadataValue | None
) -> None:
    group = _known(shard, key.group_id) if value is None else _created(shard, key.group_id)
    if group is not None:
        group.has_partition_metadata = value is not None


def replay_member(
    shard: GroupShard, key: ConsumerGroupMemberMetadataKey, value: ConsumerGroupMemberMetadataValue | None
) -> None:
    if value is not None:
        group = _created(shard, key.group_id)
        group.put_member(group.members.get(key.member_id, ConsumerMember(key.member_id)).with_description(value))
    elif (found := _known(shard, key.group_id)) is not None and (
        member := found.members.get(key.member_id)
    ) is not None:
        assert member.epoch == LEAVE_EPOCH, f"member {key.member_id!r} is removed with its assignment"
        assert key.member_id not in found.target, f"member {key.member_id!r} is removed with its target assignment"
        found.remove_member(key.member_id)


def replay_target_epoch(
    shard: GroupShard,
    key: ConsumerGroupTargetAssignmentMetadataKey,
    value: ConsumerGroupTargetAssignmentMetadataValue | None,
) -> None:
    if value is not None:
        group = _created(shard, key.group_id)
        group.target_epoch, group.target_timestamp_ms = value.assignment_epoch, value.assignment_timestamp
    elif (found := _known(shard, key.group_id)) is not None:
        assert not found.target, f"the target assignment of {key.group_id!r} is removed with members in it"
        found.target_epoch, found.target_timestamp_ms = NO_TARGET_EPOCH, 0


def replay_target_member(
    shard: GroupShard,
    key: ConsumerGroupTargetAssignmentMemberKey,
    value: ConsumerGroupTargetAssignmentMemberValue | None,
) -> None:
    if value is not None:
        target = {topic.topic_id: sorted(topic.partitions) for topic in value.topic_partitions}
        _created(shard, key.group_id).target[key.member_id] = target
    elif (found := _known(shard, key.group_id)) is not None:
        found.target.pop(key.member_id, None)


def replay_current(
    shard: GroupShard,
    key: ConsumerGroupCurrentMemberAssignmentKey,
    value: ConsumerGroupCurrentMemberAssignmentValue | None,
) -> None:
    if value is not None:
        group = _created(shard, key.group_id)
        group.put_member(group.members.get(key.member_id, ConsumerMember(key.member_id)).with_current_assignment(value))
    elif (found := _known(shard, key.group_id)) is not None and (
        member := found.members.get(key.member_id)
    ) is not None:
        found.put_member(member.without_assignment())


def replay_regex(
    shard: GroupShard, key: ConsumerGroupRegularExpressionKey, value: ConsumerGroupRegularExpressionValue | None
) -> None:
    if value is not None:
        resolved = ResolvedRegex(tuple(sorted(value.topics)), value.version, value.timestamp)
        _created(shard, key.group_id).subscriptions.resolve(key.regular_expression, resolved)
    elif (found := _known(shard, key.group_id)) is not None:
        found.subscriptions.resolve(key.regular_expression, None)


def _known(shard: GroupShard, group_id: str) -> ConsumerGroup | None:
    group = shard.groups.get(group_id)
    return group if isinstance(group, ConsumerGroup) else None


def _created(shard: GroupShard, group_id: str) -> ConsumerGroup:
    """Return the consumer group, created if it is not there. It takes the place of a classic group without records,
    which is only there because somebody committed offsets to it."""
    group = shard.groups.get(group_id)
    if isinstance(group, ConsumerGroup):
        return group
    assert group is None or (isinstance(group, ClassicGroup) and group.is_simple), (
        f"{group_id!r} is another kind of group"
    )
    created = shard.groups[group_id] = ConsumerGroup(group_id)
    return created


REPLAY: Final[dict[type, Callable[[GroupShard, Any, Any], None]]] = {
    ConsumerGroupMetadataKey: replay_group,
    ConsumerGroupPartitionMetadataKey: replay_partition_metadata,
    ConsumerGroupMemberMetadataKey: replay_member,
    ConsumerGroupTargetAssignmentMetadataKey: replay_target_epoch,
    ConsumerGroupTargetAssignmentMemberKey: replay_target_member,
    ConsumerGroupCurrentMemberAssignmentKey: replay_current,
    ConsumerGroupRegularExpressionKey: replay_regex,
}
