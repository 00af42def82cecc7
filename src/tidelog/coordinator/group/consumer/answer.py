"""What a member hears when it sends ConsumerGroupHeartbeat."""

from tidelog.coordinator.group.consumer.change import MemberChange
from tidelog.coordinator.group.consumer.member import JOINING_EPOCH, Assigned
from tidelog.model.errors import ApiError
from tidelog.protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)


def answer(change: MemberChange) -> ConsumerGroupHeartbeatResponse:
    message: ConsumerGroupHeartbeatRequest = change.request.message
    updated = change.updated
    has_changed = updated is not change.member and updated.assigned != change.member.assigned
    wants_all = message.member_epoch == JOINING_EPOCH or _is_full(message)
    return ConsumerGroupHeartbeatResponse(
        throttle_time_ms=0,
        error_code=0,
        member_id=updated.member_id,
        member_epoch=updated.epoch,
        heartbeat_interval_ms=change.group.settings(change.shard).consumer_heartbeat_interval_ms,
        assignment=_assignment(updated.assigned) if has_changed or wants_all else None,
    )


def _is_full(message: ConsumerGroupHeartbeatRequest) -> bool:
    """Tell whether the heartbeat says everything, as a member does when it joins and after it has missed an answer:
    then the answer has to say everything as well."""
    subscribes = message.subscribed_topic_names is not None or message.subscribed_topic_regex is not None
    return message.rebalance_timeout_ms != -1 and subscribes and message.topic_partitions is not None


def _assignment(assigned: Assigned) -> Assignment:
    topics = [TopicPartitions(topic_id=topic_id, partitions=sorted(epochs)) for topic_id, epochs in assigned.items()]
    return Assignment(topic_partitions=topics)


def refusal(error: ApiError) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(
        throttle_time_ms=0,
        error_code=error.code,
        error_message=error.message,
        member_epoch=0,
        heartbeat_interval_ms=0,
    )
