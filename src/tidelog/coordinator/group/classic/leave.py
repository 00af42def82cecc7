"""LeaveGroup from a classic group: any number of members at once, of which each has its own outcome.

An admin takes out a static member by its group.instance.id alone. Up to version 2 a member only ever leaves by itself.
"""

from typing import Final

from tidelog.coordinator.group.classic.decision import NO_MEMBER_ID, Decision
from tidelog.coordinator.group.classic.group import ClassicGroup
from tidelog.coordinator.group.classic.rebalance import complete_if_all_joined, prepare, remove_member
from tidelog.coordinator.group.classic.state import ClassicState
from tidelog.coordinator.group.classic.validation import check_member
from tidelog.coordinator.group.shard import GroupShard
from tidelog.coordinator.requests import CoordinatorRequest
from tidelog.model.decisions import Result
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity, MemberResponse

NAMES_MEMBERS: Final = 3


def leave(shard: GroupShard, now_ms: int, request: CoordinatorRequest, group: ClassicGroup) -> Result:
    decision = Decision(shard, now_ms, request.wall_ms)
    outcomes = [(identity, _leave(decision, group, identity)) for identity in leaving(request)]
    left = [identity for identity, code in outcomes if code is ErrorCode.NONE]
    if left:
        _go_on(decision, group, left)
    return decision.result(request, left_response(request, outcomes))


def leaving(request: CoordinatorRequest) -> list[MemberIdentity]:
    message: LeaveGroupRequest = request.message
    return message.members if request.api_version >= NAMES_MEMBERS else [MemberIdentity(member_id=message.member_id)]


def left_response(request: CoordinatorRequest, outcomes: list[tuple[MemberIdentity, ErrorCode]]) -> LeaveGroupResponse:
    if request.api_version < NAMES_MEMBERS:
        return LeaveGroupResponse(error_code=outcomes[0][1])
    members = [
        MemberResponse(member_id=each.member_id, group_instance_id=each.group_instance_id, error_code=code)
        for each, code in outcomes
    ]
    return LeaveGroupResponse(error_code=ErrorCode.NONE, members=members)


def _leave(decision: Decision, group: ClassicGroup, identity: MemberIdentity) -> ErrorCode:
    member_id, instance_id = identity.member_id, identity.group_instance_id
    if member_id in group.pending_join:
        group.remove(member_id)
        return ErrorCode.NONE
    if member_id == NO_MEMBER_ID and instance_id is not None:
        member_id = group.static_members.get(instance_id, NO_MEMBER_ID)
    try:
        check_member(group, member_id, instance_id)
    except ApiError as error:
        return error.code
    remove_member(decision, group, member_id)
    return ErrorCode.NONE


def _go_on(decision: Decision, group: ClassicGroup, left: list[MemberIdentity]) -> None:
    """Rebalance without the members that left, or complete a rebalance that only waited for them."""
    if group.state in (ClassicState.STABLE, ClassicState.COMPLETING_REBALANCE):
        names = ", ".join(each.member_id or str(each.group_instance_id) for each in left)
        prepare(decision, group, f"{names} left; the reason given: {left[0].reason!r}")
    else:
        complete_if_all_joined(decision, group)
