"""Heartbeat to a classic group: a member is alive, and learns that it has to join again."""

from tidelog.coordinator.group.classic.group import ClassicGroup
from tidelog.coordinator.group.classic.state import ClassicState
from tidelog.coordinator.group.classic.validation import check_generation, check_member
from tidelog.coordinator.requests import CoordinatorRequest
from tidelog.model.decisions import Result
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse


def heartbeat(now_ms: int, request: CoordinatorRequest, group: ClassicGroup) -> Result:
    message: HeartbeatRequest = request.message
    try:
        check_member(group, message.member_id, message.group_instance_id)
        check_generation(group, message.generation_id)
    except ApiError as error:
        return heartbeat_result(error.code)
    group.keep_session(now_ms, group.members[message.member_id])
    is_preparing = group.state is ClassicState.PREPARING_REBALANCE
    return heartbeat_result(ErrorCode.REBALANCE_IN_PROGRESS if is_preparing else ErrorCode.NONE)


def heartbeat_result(code: ErrorCode) -> Result:
    return Result([], HeartbeatResponse(error_code=code))
