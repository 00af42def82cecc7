"""Classic members of a consumer group: the coordinator assigns for them too, and JoinGroup, SyncGroup and Heartbeat
carry what a heartbeat of the consumer protocol would.

A join is answered at once, with the member's epoch as its generation; the sync brings the assignment. When there is
something new, the heartbeat says REBALANCE_IN_PROGRESS to this member alone, and it joins again.
"""

from dataclasses import dataclass, replace
from typing import Final

from tidelog.coordinator.group.classic.decision import join_refused, sync_refused
from tidelog.coordinator.group.classic.heartbeat import heartbeat_result
from tidelog.coordinator.group.classic.join_fields import rebalance_timeout_of
from tidelog.coordinator.group.classic.leave import leaving, left_response
from tidelog.coordinator.group.consumer import fencing, limits, migration, regexes, target, timeouts
from tidelog.coordinator.group.consumer.change import MemberChange, renamed
from tidelog.coordinator.group.consumer.embedded import PROTOCOL_TYPE, read_subscription, topic_ids, write_assignment
from tidelog.coordinator.group.consumer.group import ConsumerGroup
from tidelog.coordinator.group.consumer.member import ConsumerMember, MemberState, sorted_names
from tidelog.coordinator.group.consumer.regexes import RegexChange
from tidelog.coordinator.group.consumer.validation import check_size, known_static
from tidelog.coordinator.group.records.consumer import ClassicMemberMetadata, ClassicProtocol
from tidelog.coordinator.group.shard import GroupShard
from tidelog.coordinator.requests import CoordinatorRequest
from tidelog.model.decisions import Result
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import Uuid, format_uuid
from tidelog.ports.entropy import random_uuid
from tidelog.protocol.errors import MalformedMessage
from tidelog.protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from tidelog.protocol.messages.heartbeat import HeartbeatRequest
from tidelog.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from tidelog.protocol.messages.leave_group import MemberIdentity
from tidelog.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

_REQUIRES_MEMBER_ID: Final = 4


@dataclass(slots=True)
class _OwnedPartitions:
    topic_id: Uuid
    partitions: list[int]


def join(shard: GroupShard, now_ms: int, request: CoordinatorRequest) -> Result:
    message: JoinGroupRequest = request.message
    try:
        return _join(shard, now_ms, request, migration.consumer_group(shard, message.group_id))
    except ApiError as error:
        return Result([], join_refused(error.code, ""))


def _join(shard: GroupShard, now_ms: int, request: CoordinatorRequest, group: ConsumerGroup) -> Result:
    message: JoinGroupRequest = request.message
    if not migration.may_join_classic(shard):
        raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "the migration policy keeps the protocols apart")
    member_id = message.member_id or format_uuid(random_uuid(shard.entropy))
    check_size(shard, group, member_id, message.group_instance_id)
    names = [protocol.name for protocol in message.protocols]
    if message.protocol_type != PROTOCOL_TYPE or not group.supports_classic(names):
        raise ApiError(
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "no protocol of the member is known to all classic members"
        )
    is_nameless = not message.member_id and message.group_instance_id is None
    if is_nameless and request.api_version >= _REQUIRES_MEMBER_ID:
        return Result([], join_refused(ErrorCode.MEMBER_ID_REQUIRED, member_id))
    member, former = _member(group, member_id, message)
    subscription = _subscription(message)
    updated = _described(member, request, subscription)
    change = MemberChange(shard, now_ms, request, group, member, updated, [], group.epoch)
    return _carry_out(change, former, subscription)


def _member(
    group: ConsumerGroup, member_id: str, message: JoinGroupRequest
) -> tuple[ConsumerMember, ConsumerMember | None]:
    """Return the member as it was, and the one whose place it takes, if any."""
    instance_id = message.group_instance_id
    if instance_id is None:
        return group.members.get(member_id, ConsumerMember(member_id)), None
    if message.member_id:
        return known_static(group, member_id, instance_id), None
    former = group.static_member(instance_id)
    return (ConsumerMember(member_id), None) if former is None else (renamed(former, member_id), former)


def _subscription(message: JoinGroupRequest) -> ConsumerProtocolSubscription:
    """Return the subscription of the member's first protocol. Those of the others say the same."""
    try:
        return read_subscription(bytes(message.protocols[0].metadata))
    except MalformedMessage:
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "the member's subscription can not be read") from None


def _described(
    member: ConsumerMember, request: CoordinatorRequest, subscription: ConsumerProtocolSubscription
) -> ConsumerMember:
    message: JoinGroupRequest = request.message
    timeout_ms = rebalance_timeout_of(request)
    protocols = [ClassicProtocol(name=each.name, metadata=bytes(each.metadata)) for each in message.protocols]
    return replace(
        member,
        instance_id=member.instance_id if message.group_instance_id is None else message.group_instance_id,
        rack_id=subscription.rack_id or member.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        client_id=request.client_id,
        client_host=request.client_host,
        topics=sorted_names(subscription.topics),
        regex="",
        classic=ClassicMemberMetadata(session_timeout_ms=message.session_timeout_ms, supported_protocols=protocols),
    )


def _carry_out(
    change: MemberChange, former: ConsumerMember | None, subscription: ConsumerProtocolSubscription
) -> Result:
    shard, group = change.shard, change.group
    if former is not None:
        change.replace_static(former)
    have_names_changed = change.describe()
    regex_change = regexes.update(change)  # in any case: the member may be the last of an expression
    has_changed = have_names_changed or regex_change is not RegexChange.NONE
    change.has_subscription_changed = has_changed
    change.update_epoch(bump=has_changed)
    owned = [_OwnedPartitions(*each) for each in topic_ids(shard.image, subscription.owned_partitions).items()]
    downgraded = None if former is None else _downgrade(change, former, owned)
    if downgraded is not None:
        return downgraded
    targeted = target.assigned_now(change) if target.is_due(change) else target.last_target(change)
    change.reconcile(*targeted, owned)
    limits.check_records(shard, change.records)
    timeouts.joined(shard, change.now_ms, group, change.updated)
    return Result(change.records, _joined(change.updated))


def _downgrade(change: MemberChange, former: ConsumerMember, owned: list[_OwnedPartitions]) -> Result | None:
    if not migration.all_classic(change.group, [former]):
        return None
    if change.group.target_epoch >= change.group_epoch:
        change.reconcile(*target.last_target(change), owned)
    result = migration.downgrade_with(change, former)
    if result is not None:
        result.response = _joined(change.updated)
    return result


def _joined(member: ConsumerMember) -> JoinGroupResponse:
    return JoinGroupResponse(
        error_code=0,
        generation_id=member.epoch,
        protocol_type=PROTOCOL_TYPE,
        protocol_name=member.classic_protocols[0].name,
        leader="",
        member_id=member.member_id,
        members=[],
    )


def sync(shard: GroupShard, now_ms: int, request: CoordinatorRequest) -> Result:
    message: SyncGroupRequest = request.message
    try:
        group = migration.consumer_group(shard, message.group_id)
        member = _classic_member(group, message.member_id, message.group_instance_id, message.generation_id)
        _check_protocol(member, message)
        if group.target_epoch > member.epoch and member.state is not MemberState.UNREVOKED_PARTITIONS:
            timeouts.await_join(shard, now_ms, group.group_id, member)
            raise ApiError(ErrorCode.REBALANCE_IN_PROGRESS, "there is a newer assignment: the member must rejoin")
    except ApiError as error:
        return Result([], sync_refused(error.code))
    timeouts.synced(shard, now_ms, group, member)
    response = SyncGroupResponse(
        error_code=0,
        protocol_type=message.protocol_type,
        protocol_name=message.protocol_name,
        assignment=write_assignment(shard.image, member.assigned, bytes(member.classic_protocols[0].metadata)),
    )
    return Result([], response)


def _check_protocol(member: ConsumerMember, message: SyncGroupRequest) -> None:
    is_type = message.protocol_type in (None, PROTOCOL_TYPE)
    if not is_type or message.protocol_name not in (None, member.classic_protocols[0].name):
        raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "the protocol is not the one of the join's answer")


def heartbeat(shard: GroupShard, now_ms: int, request: CoordinatorRequest) -> Result:
    message: HeartbeatRequest = request.message
    try:
        group = migration.consumer_group(shard, message.group_id)
        member = _classic_member(group, message.member_id, message.group_instance_id, message.generation_id)
    except ApiError as error:
        return heartbeat_result(error.code)
    timeouts.keep_session(shard, now_ms, group, member)
    if not _has_news(group, member):
        return heartbeat_result(ErrorCode.NONE)
    timeouts.await_join(shard, now_ms, group.group_id, member)
    return heartbeat_result(ErrorCode.REBALANCE_IN_PROGRESS)


def _has_news(group: ConsumerGroup, member: ConsumerMember) -> bool:
    """Tell whether the member has to join again: the target is a newer one, it has partitions to give back, or what it
    waited for is free."""
    if member.epoch < group.target_epoch or member.state is MemberState.UNREVOKED_PARTITIONS:
        return True
    return member.state is MemberState.UNRELEASED_PARTITIONS and not group.is_waiting_for_others(member)


def _classic_member(group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int) -> ConsumerMember:
    member = group.member(member_id) if instance_id is None else known_static(group, member_id, instance_id)
    if not member.is_classic:
        raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, f"{member_id!r} speaks the consumer protocol")
    if generation != member.epoch:
        raise ApiError(ErrorCode.ILLEGAL_GENERATION, f"the member's epoch is {member.epoch}, not {generation}")
    return member


def leave(shard: GroupShard, now_ms: int, request: CoordinatorRequest) -> Result:
    group = migration.consumer_group(shard, request.message.group_id)
    outcomes: list[tuple[MemberIdentity, ErrorCode]] = []
    members: dict[str, ConsumerMember] = {}
    for identity in leaving(request):
        try:
            member = _leaving(group, identity)
        except ApiError as error:
            outcomes.append((identity, error.code))
        else:
            members[member.member_id] = member
            outcomes.append((identity, ErrorCode.NONE))
    response = left_response(request, outcomes)
    return fencing.fence(shard, now_ms, request.wall_ms, group, list(members.values()), response)


def _leaving(group: ConsumerGroup, identity: MemberIdentity) -> ConsumerMember:
    """Return the member that is meant. An admin names a static member by its instance id alone."""
    if identity.group_instance_id is None:
        return group.member(identity.member_id)
    by_instance = group.static_member(identity.group_instance_id)
    if by_instance is not None and not identity.member_id:
        return by_instance
    return known_static(group, identity.member_id, identity.group_instance_id)
