"""A classic group as a consumer group: the records that make it one.

Every member is stable with what the last generation assigned, in an epoch that is that generation's number.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from tidelog.coordinator.group.classic.group import ClassicGroup
from tidelog.coordinator.group.classic.member import ClassicMember
from tidelog.coordinator.group.consumer import replay
from tidelog.coordinator.group.consumer.embedded import read_assignment, read_subscription, topic_ids
from tidelog.coordinator.group.consumer.group import ConsumerGroup
from tidelog.coordinator.group.consumer.member import ConsumerMember, sorted_names
from tidelog.coordinator.group.consumer.records import (
    current_record,
    epoch_record,
    member_record,
    target_epoch_record,
    target_record,
)
from tidelog.coordinator.group.records.consumer import ClassicMemberMetadata, ClassicProtocol
from tidelog.coordinator.group.shard import GroupShard
from tidelog.model.decisions import Record
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import Uuid
from tidelog.protocol.errors import MalformedMessage

Partitions: TypeAlias = Mapping[Uuid, Sequence[int]]


def records_of(shard: GroupShard, group: ClassicGroup) -> list[Record]:
    try:
        upgraded = [_upgraded(shard, group, member) for member in group.members.values()]
    except MalformedMessage:
        why = f"classic group {group.group_id!r} can not be upgraded: what its members say can not be read"
        raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, why) from None
    topics = dict.fromkeys(topic for member, _ in upgraded for topic in member.topics)
    group_id, epoch = group.group_id, group.generation
    return [
        *(member_record(group_id, member) for member, _ in upgraded),
        epoch_record(group_id, epoch, shard.topic_hashes.group_hash(shard.image, topics)),
        *(target_record(group_id, member.member_id, assigned) for member, assigned in upgraded),
        target_epoch_record(group_id, epoch, 0),
        *(current_record(group_id, member) for member, _ in upgraded),
    ]


def _upgraded(shard: GroupShard, group: ClassicGroup, classic: ClassicMember) -> tuple[ConsumerMember, Partitions]:
    """Return a classic member as a member of the consumer group, and its partitions. Where the group never chose a
    protocol, the member's first one tells its subscription."""
    subscription = read_subscription(classic.metadata(group.protocol_name or classic.protocols[0][0]))
    assigned = _assigned(shard, group, classic)
    protocols = [ClassicProtocol(name=name, metadata=metadata) for name, metadata in classic.protocols]
    member = ConsumerMember(
        classic.member_id,
        group.generation,
        group.generation,
        instance_id=classic.group_instance_id,
        rack_id=subscription.rack_id,
        rebalance_timeout_ms=classic.rebalance_timeout_ms,
        client_id=classic.client_id,
        client_host=classic.client_host,
        topics=sorted_names(subscription.topics),
        classic=ClassicMemberMetadata(session_timeout_ms=classic.session_timeout_ms, supported_protocols=protocols),
        assigned={topic_id: dict.fromkeys(partitions, group.generation) for topic_id, partitions in assigned.items()},
    )
    return member, assigned


def _assigned(shard: GroupShard, group: ClassicGroup, classic: ClassicMember) -> Partitions:
    """Return the member's partitions; none as long as it has not synced."""
    if not classic.assignment:
        return {}
    assignment = read_assignment(classic.assignment)
    if assignment.user_data:
        why = f"classic group {group.group_id!r} can not be upgraded: its assignor keeps data of its own in assignments"
        raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, why)
    return topic_ids(shard.image, assignment.assigned_partitions)


def replayed(shard: GroupShard, group_id: str, records: Sequence[Record]) -> ConsumerGroup:
    """Return the group that the records will make, before they are written."""
    aside = GroupShard(shard.config, shard.entropy, shard.image, shard.partition, shard.max_record_bytes)
    for message, _ in records:
        replayed_by = replay.REPLAY.get(type(message.key))
        if replayed_by is not None:
            replayed_by(aside, message.key, message.value)
    group = aside.groups[group_id]
    assert isinstance(group, ConsumerGroup)
    return group
