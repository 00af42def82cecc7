"""ConsumerGroupHeartbeat: the one request by which a member joins, reports, learns its assignment and leaves.

1. the member is made or changed; new subscriptions, or news of the topics, move the group epoch
2. a group epoch ahead of the target assignment has it computed, for a crowd of members once (`crowd`)
3. the member moves towards its target as far as others let it
"""

from collections.abc import Generator

from tidelog.coordinator.group.consumer import crowd, fencing, limits, migration, regexes, target, timeouts
from tidelog.coordinator.group.consumer.answer import answer, refusal
from tidelog.coordinator.group.consumer.change import MemberChange, renamed
from tidelog.coordinator.group.consumer.member import (
    JOINING_EPOCH,
    LEAVE_EPOCH,
    STATIC_LEAVE_EPOCH,
    ConsumerMember,
    sorted_names,
)
from tidelog.coordinator.group.consumer.regexes import RegexChange
from tidelog.coordinator.group.consumer.validation import (
    check_epoch,
    check_released,
    check_request,
    check_size,
    known_static,
)
from tidelog.coordinator.group.shard import GroupShard
from tidelog.coordinator.requests import CoordinatorRequest
from tidelog.model.decisions import Result
from tidelog.model.errors import ApiError
from tidelog.model.ids import format_uuid
from tidelog.ports.entropy import random_uuid
from tidelog.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

Steps = Generator[None, None, Result]


def heartbeat(shard: GroupShard, now_ms: int, request: CoordinatorRequest) -> Result | Steps:
    message: ConsumerGroupHeartbeatRequest = request.message
    try:
        check_request(shard, message, request.api_version)
        if message.member_epoch in (LEAVE_EPOCH, STATIC_LEAVE_EPOCH):
            return fencing.leave(shard, now_ms, request)
        change = _begin(shard, now_ms, request)
        if not target.is_due(change):
            return _finish(change, target.last_target(change))
        if crowd.may_wait(change):
            return crowd.wait(change)
        if target.is_large(change):
            return _in_steps(change)
        return _finish(change, target.assigned_now(change))
    except ApiError as error:
        return Result([], refusal(error))


def _in_steps(change: MemberChange) -> Steps:
    targeted = yield from target.assigned_in_steps(change)
    try:
        return _finish(change, targeted)
    except ApiError as error:
        return Result([], refusal(error))


def _begin(shard: GroupShard, now_ms: int, request: CoordinatorRequest) -> MemberChange:
    message: ConsumerGroupHeartbeatRequest = request.message
    is_joining = message.member_epoch == JOINING_EPOCH
    found = migration.group_of_heartbeat(shard, request, may_create=is_joining)
    check_size(shard, found.group, message.member_id, message.instance_id)
    member_id = message.member_id or format_uuid(random_uuid(shard.entropy))
    member, replaced = _member(found, member_id, message)
    updated = _described(member, request)
    change = MemberChange(shard, now_ms, request, found.group, member, updated, found.records, found.group.epoch)
    change.is_plain = not found.records and replaced is None
    if replaced is not None:
        change.replace_static(replaced)
    have_names_changed = change.describe()
    regex_change = regexes.update(change)
    change.has_subscription_changed = have_names_changed or regex_change is not RegexChange.NONE
    change.update_epoch(bump=have_names_changed or regex_change is RegexChange.RESOLVED)
    return change


def _member(
    found: migration.FoundGroup, member_id: str, message: ConsumerGroupHeartbeatRequest
) -> tuple[ConsumerMember, ConsumerMember | None]:
    """Return the member as it was, and the one whose place it takes, if any."""
    group, instance_id = found.group, message.instance_id
    is_joining = message.member_epoch == JOINING_EPOCH
    if instance_id is None:
        member = group.members.get(member_id, ConsumerMember(member_id)) if is_joining else group.member(member_id)
    elif not is_joining:
        member = known_static(group, member_id, instance_id)
    else:
        former = group.static_member(instance_id)
        if former is None:
            return group.members.get(member_id, ConsumerMember(member_id)), None
        if not former.is_classic:
            check_released(former, instance_id)
        return renamed(former, member_id), former
    check_epoch(member, message.member_epoch, message.topic_partitions)
    return member, None


def _described(member: ConsumerMember, request: CoordinatorRequest) -> ConsumerMember:
    """Return the member with what the heartbeat says. What it does not say stays; mostly that is everything, and the
    member is the very same object."""
    message: ConsumerGroupHeartbeatRequest = request.message
    is_same_client = request.client_id == member.client_id and request.client_host == member.client_host
    is_same = is_same_client and message.instance_id in (None, member.instance_id) and not member.is_classic
    if is_same and _says_nothing(message):
        return member
    described = member.copied()
    described.client_id, described.client_host, described.classic = request.client_id, request.client_host, None
    if message.instance_id is not None:
        described.instance_id = message.instance_id
    if message.rack_id is not None:
        described.rack_id = message.rack_id
    if message.rebalance_timeout_ms != -1:
        described.rebalance_timeout_ms = message.rebalance_timeout_ms
    if message.subscribed_topic_names is not None:
        described.topics = sorted_names(message.subscribed_topic_names)
    if message.subscribed_topic_regex is not None:
        described.regex = message.subscribed_topic_regex
    if message.server_assignor is not None:
        described.server_assignor = message.server_assignor
    return described


def _says_nothing(message: ConsumerGroupHeartbeatRequest) -> bool:
    """Tell whether the heartbeat leaves out everything that describes the member, apart from who it is."""
    return (
        message.subscribed_topic_names is None
        and message.subscribed_topic_regex is None
        and message.rebalance_timeout_ms == -1
        and message.server_assignor is None
        and message.rack_id is None
    )


def _finish(change: MemberChange, targeted: target.Targeted) -> Result:
    message: ConsumerGroupHeartbeatRequest = change.request.message
    target_epoch, member_target = targeted
    change.reconcile(target_epoch, member_target, message.topic_partitions)
    limits.check_records(change.shard, change.records)
    timeouts.keep_session(change.shard, change.now_ms, change.group, change.updated)
    migration.upgraded(change)
    return Result(change.records, answer(change), answers=change.answers)
