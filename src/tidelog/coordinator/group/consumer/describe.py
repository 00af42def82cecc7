"""ConsumerGroupDescribe: consumer groups with their members, what these have and what they are to have."""

from collections.abc import Iterable, Mapping

from tidelog.coordinator.group.consumer.group import ConsumerGroup
from tidelog.coordinator.group.consumer.member import ConsumerMember
from tidelog.coordinator.group.consumer.migration import consumer_group
from tidelog.coordinator.group.consumer.target import default_assignor
from tidelog.coordinator.group.shard import GroupShard
from tidelog.coordinator.requests import CoordinatorRequest
from tidelog.metadata.image import MetadataImage
from tidelog.model.decisions import Result
from tidelog.model.errors import ApiError
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
    TopicPartitions,
)
from tidelog.protocol.messages.consumer_group_describe import Member as DescribedMember

_CLASSIC, _CONSUMER = 0, 1


def describe(shard: GroupShard, now_ms: int, request: CoordinatorRequest) -> Result:  # noqa: ARG001 - time plays no part
    message: ConsumerGroupDescribeRequest = request.message
    groups = [_described(shard, group_id) for group_id in message.group_ids]
    return Result([], ConsumerGroupDescribeResponse(throttle_time_ms=0, groups=groups))


def _described(shard: GroupShard, group_id: str) -> DescribedGroup:
    try:
        group = consumer_group(shard, group_id)
    except ApiError as error:
        return DescribedGroup(
            error_code=error.code,
            error_message=error.message,
            group_id=group_id,
            group_state="",
            group_epoch=0,
            assignment_epoch=0,
            assignor_name="",
            members=[],
        )
    return DescribedGroup(
        error_code=0,
        group_id=group_id,
        group_state=group.state_name,
        group_epoch=group.epoch,
        assignment_epoch=group.target_epoch,
        assignor_name=group.preferred_assignor() or default_assignor(shard),
        members=[_described_member(shard.image, group, member) for member in group.members.values()],
    )


def _described_member(image: MetadataImage, group: ConsumerGroup, member: ConsumerMember) -> DescribedMember:
    """Describe a member. Partitions that it has to give back count as its own until it has."""
    has: dict[Uuid, list[int]] = {}
    for assigned in (member.assigned, member.pending_revocation):
        for topic_id, epochs in assigned.items():
            has.setdefault(topic_id, []).extend(epochs)
    return DescribedMember(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.topics),
        subscribed_topic_regex=member.regex,
        assignment=_assignment(image, has),
        target_assignment=_assignment(image, group.target.get(member.member_id, {})),
        member_type=_CLASSIC if member.is_classic else _CONSUMER,
    )


def _assignment(image: MetadataImage, partitions: Mapping[Uuid, Iterable[int]]) -> Assignment:
    """Return the partitions with the names of their topics. Topics that are gone are left out."""
    topics = [
        TopicPartitions(topic_id=topic_id, topic_name=topic.name, partitions=sorted(ids))
        for topic_id, ids in partitions.items()
        if (topic := image.topics.by_id.get(topic_id)) is not None
    ]
    return Assignment(topic_partitions=topics)
