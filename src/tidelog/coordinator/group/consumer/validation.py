"""What a ConsumerGroupHeartbeat may say, and whether its sender is who it claims to be. ApiError says no."""

from tidelog.config.settings import groups as settings
from tidelog.coordinator.group.consumer.group import ConsumerGroup
from tidelog.coordinator.group.consumer.member import (
    JOINING_EPOCH,
    LEAVE_EPOCH,
    STATIC_LEAVE_EPOCH,
    Assigned,
    ConsumerMember,
)
from tidelog.coordinator.group.consumer.reconciliation import Owned
from tidelog.coordinator.group.shard import GroupShard
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

# From this version on a member makes up its own id.
_MEMBER_ID_VERSION = 1


def check_request(shard: GroupShard, message: ConsumerGroupHeartbeatRequest, api_version: int) -> None:
    epoch = message.member_epoch
    if api_version >= _MEMBER_ID_VERSION or epoch > JOINING_EPOCH or epoch == LEAVE_EPOCH:
        _check_not_blank(message.member_id, "member id")
    _check_not_blank(message.group_id, "group id")
    _check_not_blank(message.instance_id, "instance id")
    _check_not_blank(message.rack_id, "rack id")
    if epoch == JOINING_EPOCH:
        _check_joining(message)
    elif epoch == STATIC_LEAVE_EPOCH and message.instance_id is None:
        raise _invalid("only a member with an instance id can leave for a while")
    elif epoch < STATIC_LEAVE_EPOCH:
        raise _invalid(f"there is no member epoch {epoch}")
    if message.server_assignor is not None:
        _check_assignor(shard, message.server_assignor)


def _check_assignor(shard: GroupShard, name: str) -> None:
    known = shard.config.get(settings.GROUP_CONSUMER_ASSIGNORS)
    if name not in known:
        why = f"there is no assignor {name!r}, there are: {', '.join(known)}"
        raise ApiError(ErrorCode.UNSUPPORTED_ASSIGNOR, why)


def _check_joining(message: ConsumerGroupHeartbeatRequest) -> None:
    if message.rebalance_timeout_ms == -1:
        raise _invalid("who joins says its rebalance timeout")
    if message.topic_partitions is None or message.topic_partitions:
        raise _invalid("who joins owns no partitions, and says so")
    if message.subscribed_topic_names is None and message.subscribed_topic_regex is None:
        raise _invalid("who joins subscribes to names or to a regular expression, if only to none")


def _check_not_blank(text: str | None, what: str) -> None:
    if text is not None and not text.strip():
        raise _invalid(f"the {what} is empty")


def _invalid(why: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REQUEST, why)


def check_size(shard: GroupShard, group: ConsumerGroup, member_id: str, instance_id: str | None) -> None:
    """Raise if the group is full. A static member that comes back takes nobody's place but its own."""
    if member_id in group.members or instance_id in group.static_members:
        return
    limit = shard.config.get(settings.GROUP_CONSUMER_MAX_SIZE)
    if len(group.members) >= limit:
        raise ApiError(ErrorCode.GROUP_MAX_SIZE_REACHED, f"group {group.group_id!r} may have {limit} members")


def check_epoch(member: ConsumerMember, epoch: int, owned: Owned) -> None:
    """Raise unless the member's epoch is the current one. The answer that brought the current epoch may have been lost:
    then the member may come with the epoch before, if it owns nothing that it should not have."""
    if epoch in (JOINING_EPOCH, member.epoch):
        return
    if epoch == member.previous_epoch and epoch < member.epoch and _is_within(owned, member.assigned):
        return
    why = f"the member's epoch is {member.epoch}, not {epoch}: it must give up its partitions and join anew"
    raise ApiError(ErrorCode.FENCED_MEMBER_EPOCH, why)


def _is_within(owned: Owned, assigned: Assigned) -> bool:
    return owned is not None and all(
        topic.topic_id in assigned and all(partition in assigned[topic.topic_id] for partition in topic.partitions)
        for topic in owned
    )


def known_static(group: ConsumerGroup, member_id: str, instance_id: str) -> ConsumerMember:
    """Return the member that has the instance id now, which must be the one that asks."""
    member = group.static_member(instance_id)
    if member is None:
        raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, f"no member has the instance id {instance_id!r}")
    if member.member_id != member_id:
        why = f"the instance id {instance_id!r} is now that of member {member.member_id!r}"
        raise ApiError(ErrorCode.FENCED_INSTANCE_ID, why)
    return member


def check_released(member: ConsumerMember, instance_id: str) -> None:
    if member.epoch != STATIC_LEAVE_EPOCH:
        why = f"the instance id {instance_id!r} is in use by member {member.member_id!r}"
        raise ApiError(ErrorCode.UNRELEASED_INSTANCE_ID, why)
