"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup: what members of classic groups say, to the group's coordinator."""

from typing import TYPE_CHECKING, Final

from tidelog.model.errors import ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from tidelog.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from tidelog.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from tidelog.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from tidelog.server.coordination.asking import ask_group
from tidelog.server.requests.handler import Handler, RequestContext

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

FIRST_WITH_NULL_PROTOCOL: Final = 7


def handle_join(broker: "Broker", context: RequestContext, body: JoinGroupRequest) -> None:
    def answer(response: JoinGroupResponse) -> None:
        """Where there is no protocol, older versions can only say that its name is empty."""
        nothing = "" if context.api_version < FIRST_WITH_NULL_PROTOCOL else None
        response.protocol_name = response.protocol_name or nothing
        context.respond(response)

    ask_group(broker, context, body.group_id, body, refuse_join, answer)


def refuse_join(_body: JoinGroupRequest, code: ErrorCode, _message: str | None) -> JoinGroupResponse:
    return JoinGroupResponse(error_code=code, protocol_name="", leader="", member_id="", members=[])


def handle_sync(broker: "Broker", context: RequestContext, body: SyncGroupRequest) -> None:
    ask_group(broker, context, body.group_id, body, refuse_sync)


def refuse_sync(_body: SyncGroupRequest, code: ErrorCode, _message: str | None) -> SyncGroupResponse:
    return SyncGroupResponse(error_code=code, assignment=b"")


def handle_heartbeat(broker: "Broker", context: RequestContext, body: HeartbeatRequest) -> None:
    ask_group(broker, context, body.group_id, body, _refuse_heartbeat)


def _refuse_heartbeat(body: HeartbeatRequest, code: ErrorCode, message: str | None) -> HeartbeatResponse:
    """While the group is being loaded its members are alive, for all we know."""
    is_loading = code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    return refuse_heartbeat(body, ErrorCode.NONE if is_loading else code, message)


def refuse_heartbeat(_body: HeartbeatRequest, code: ErrorCode, _message: str | None) -> HeartbeatResponse:
    return HeartbeatResponse(error_code=code)


def handle_leave(broker: "Broker", context: RequestContext, body: LeaveGroupRequest) -> None:
    ask_group(broker, context, body.group_id, body, refuse_leave)


def refuse_leave(_body: LeaveGroupRequest, code: ErrorCode, _message: str | None) -> LeaveGroupResponse:
    return LeaveGroupResponse(error_code=code)


JOIN_GROUP = Handler(ApiKey.JOIN_GROUP, handle_join, refuse_join)
SYNC_GROUP = Handler(ApiKey.SYNC_GROUP, handle_sync, refuse_sync)
HEARTBEAT = Handler(ApiKey.HEARTBEAT, handle_heartbeat, refuse_heartbeat)
LEAVE_GROUP = Handler(ApiKey.LEAVE_GROUP, handle_leave, refuse_leave)
