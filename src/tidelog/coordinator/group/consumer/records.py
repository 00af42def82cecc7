"""The records of a consumer group, as the group coordinator of Kafka 4.3 writes them."""

from collections.abc import Mapping, Sequence

from tidelog.coordinator.group.consumer.member import Assigned, ConsumerMember
from tidelog.coordinator.group.consumer.subscriptions import ResolvedRegex
from tidelog.coordinator.group.records.consumer import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    TopicPartition,
    TopicPartitions,
)
from tidelog.coordinator.requests import KeyValue
from tidelog.model.decisions import Record
from tidelog.model.ids import Uuid

VERSION = 0


def member_record(group_id: str, member: ConsumerMember) -> Record:
    value = ConsumerGroupMemberMetadataValue(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.topics),
        subscribed_topic_regex=member.regex,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        server_assignor=member.server_assignor,
        classic_member_metadata=member.classic,
    )
    return KeyValue(ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id), value), VERSION


def epoch_record(group_id: str, epoch: int, metadata_hash: int) -> Record:
    value = ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
    return KeyValue(ConsumerGroupMetadataKey(group_id=group_id), value), VERSION


def target_record(group_id: str, member_id: str, target: Mapping[Uuid, Sequence[int]]) -> Record:
    topics = [TopicPartition(topic_id=topic_id, partitions=list(ids)) for topic_id, ids in target.items()]
    key = ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
    return KeyValue(key, ConsumerGroupTargetAssignmentMemberValue(topic_partitions=topics)), VERSION


def target_epoch_record(group_id: str, epoch: int, timestamp_ms: int) -> Record:
    value = ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=timestamp_ms)
    return KeyValue(ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), value), VERSION


def current_record(group_id: str, member: ConsumerMember) -> Record:
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=member.epoch,
        previous_member_epoch=member.previous_epoch,
        state=member.state.value,
        assigned_partitions=_written(member.assigned),
        partitions_pending_revocation=_written(member.pending_revocation),
    )
    key = ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id)
    return KeyValue(key, value), VERSION


def regex_record(group_id: str, regex: str, resolved: ResolvedRegex) -> Record:
    key = ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex)
    value = ConsumerGroupRegularExpressionValue(
        topics=list(resolved.topics), version=resolved.version, timestamp=resolved.timestamp_ms
    )
    return KeyValue(key, value), VERSION


def member_tombstones(group_id: str, member_id: str) -> list[Record]:
    return [
        current_tombstone(group_id, member_id),
        target_tombstone(group_id, member_id),
        member_tombstone(group_id, member_id),
    ]


def current_tombstone(group_id: str, member_id: str) -> Record:
    return KeyValue(ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id), None), VERSION


def target_tombstone(group_id: str, member_id: str) -> Record:
    return KeyValue(ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), None), VERSION


def member_tombstone(group_id: str, member_id: str) -> Record:
    return KeyValue(ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id), None), VERSION


def regex_tombstone(group_id: str, regex: str) -> Record:
    key = ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex)
    return KeyValue(key, None), VERSION


def partition_metadata_tombstone(group_id: str) -> Record:
    return KeyValue(ConsumerGroupPartitionMetadataKey(group_id=group_id), None), VERSION


def group_tombstones(group_id: str, member_ids: Sequence[str], regexes: Sequence[str]) -> list[Record]:
    """Return the tombstones of a group, in an order in which replay finds a member without an assignment before it
    goes, and then a group without members."""
    return [
        *(current_tombstone(group_id, member_id) for member_id in member_ids),
        *(target_tombstone(group_id, member_id) for member_id in member_ids),
        (KeyValue(ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), None), VERSION),
        *(member_tombstone(group_id, member_id) for member_id in member_ids),
        *(regex_tombstone(group_id, regex) for regex in regexes),
        partition_metadata_tombstone(group_id),
        (KeyValue(ConsumerGroupMetadataKey(group_id=group_id), None), VERSION),
    ]


def _written(assigned: Assigned) -> list[TopicPartitions]:
    return [
        TopicPartitions(topic_id=topic_id, partitions=list(epochs), assignment_epochs=list(epochs.values()))
        for topic_id, epochs in assigned.items()
    ]
