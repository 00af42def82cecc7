"""Where requests, records and timers of classic groups come in.

The four requests of the classic protocol are for whatever group has the name: members of a group that has moved on to
the protocol of KIP-848 may still speak the old one, and are served there (`consumer`).
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from tidelog.config.settings.groups import (
    GROUP_MAX_SESSION_TIMEOUT_MS,
    GROUP_MIN_SESSION_TIMEOUT_MS,
)
from tidelog.coordinator.group.classic.decision import NO_MEMBER_ID, Decision, join_refused, sync_refused
from tidelog.coordinator.group.classic.group import JOIN, LOADED, SESSION, SYNC, ClassicGroup
from tidelog.coordinator.group.classic.heartbeat import heartbeat, heartbeat_result
from tidelog.coordinator.group.classic.join import join, join_new_group
from tidelog.coordinator.group.classic.leave import leave, leaving, left_response
from tidelog.coordinator.group.classic.loaded import on_loaded_timer
from tidelog.coordinator.group.classic.rebalance import on_join_timer, on_sync_timer
from tidelog.coordinator.group.classic.replay import replay_group_metadata
from tidelog.coordinator.group.classic.session import on_session_timer
from tidelog.coordinator.group.classic.sync import names_its_protocol, sync
from tidelog.coordinator.group.consumer import handlers as consumer
from tidelog.coordinator.group.records.classic import GroupMetadataKey
from tidelog.coordinator.group.shard import GroupShard, GroupType
from tidelog.coordinator.requests import CoordinatorRequest
from tidelog.model.decisions import Result
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.heartbeat import HeartbeatRequest
from tidelog.protocol.messages.join_group import JoinGroupRequest
from tidelog.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from tidelog.protocol.messages.sync_group import SyncGroupRequest

Act: TypeAlias = Callable[[Decision, ClassicGroup], None]


def _join(shard: GroupShard, now_ms: int, request: CoordinatorRequest) -> Result:
    message: JoinGroupRequest = request.message
    code = _join_fault(shard, message)
    if code is not ErrorCode.NONE:
        return Result([], join_refused(code, message.member_id))
    group = shard.groups.get(message.group_id)
    if isinstance(group, ClassicGroup):
        return join(shard, now_ms, request, group)
    if group is not None and group.type is GroupType.CONSUMER and not group.is_empty:
        return consumer.classic_join(shard, now_ms, request)
    if group is not None and not group.is_empty:
        return Result([], join_refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, NO_MEMBER_ID))
    if message.member_id != NO_MEMBER_ID:
        return Result([], join_refused(ErrorCode.UNKNOWN_MEMBER_ID, message.member_id))
    return join_new_group(shard, now_ms, request, [] if group is None else group.tombstones())


def _join_fault(shard: GroupShard, message: JoinGroupRequest) -> ErrorCode:
    if not message.group_id:
        return ErrorCode.INVALID_GROUP_ID
    low, high = shard.config.get(GROUP_MIN_SESSION_TIMEOUT_MS), shard.config.get(GROUP_MAX_SESSION_TIMEOUT_MS)
    return ErrorCode.NONE if low <= message.session_timeout_ms <= high else ErrorCode.INVALID_SESSION_TIMEOUT


def _sync(shard: GroupShard, now_ms: int, request: CoordinatorRequest) -> Result:
    message: SyncGroupRequest = request.message
    if not names_its_protocol(request):
        return Result([], sync_refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
    if not message.group_id:
        return Result([], sync_refused(ErrorCode.INVALID_GROUP_ID))
    group = shard.groups.get(message.group_id)
    if group is not None and not group.is_empty:
        if isinstance(group, ClassicGroup):
            return sync(shard, now_ms, request, group)
        if group.type is GroupType.CONSUMER:
            return consumer.classic_sync(shard, now_ms, request)
    return Result([], sync_refused(ErrorCode.UNKNOWN_MEMBER_ID))


def _heartbeat(shard: GroupShard, now_ms: int, request: CoordinatorRequest) -> Result:
    message: HeartbeatRequest = request.message
    if not message.group_id:
        return heartbeat_result(ErrorCode.INVALID_GROUP_ID)
    group = shard.groups.get(message.group_id)
    if isinstance(group, ClassicGroup):
        return heartbeat(now_ms, request, group)
    if group is not None and group.type is GroupType.CONSUMER:
        return consumer.classic_heartbeat(shard, now_ms, request)
    return heartbeat_result(ErrorCode.UNKNOWN_MEMBER_ID)


def _leave(shard: GroupShard, now_ms: int, request: CoordinatorRequest) -> Result:
    message: LeaveGroupRequest = request.message
    if not message.group_id:
        return Result([], LeaveGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID))
    group = shard.groups.get(message.group_id)
    if isinstance(group, ClassicGroup):
        return leave(shard, now_ms, request, group)
    if group is not None and group.type is GroupType.CONSUMER:
        return consumer.classic_leave(shard, now_ms, request)
    unknown = [(identity, ErrorCode.UNKNOWN_MEMBER_ID) for identity in leaving(request)]
    return Result([], left_response(request, unknown))


def _timed(act: Act) -> Callable[[GroupShard, int, int, Any], Result]:
    """Return the handler of a timer. A timer is cancelled with what it is for; should it come all the same, it does
    nothing."""

    def on_timer(shard: GroupShard, now_ms: int, wall_ms: int, key: Any) -> Result:
        decision = Decision(shard, now_ms, wall_ms)
        group = shard.groups.get(key[1])
        if isinstance(group, ClassicGroup):
            act(decision, group)
        return decision.result()

    return on_timer


def _on_session(shard: GroupShard, now_ms: int, wall_ms: int, key: Any) -> Result:
    decision = Decision(shard, now_ms, wall_ms)
    group = shard.groups.get(key[1])
    if isinstance(group, ClassicGroup):
        on_session_timer(decision, group, key[2])
    return decision.result()


def activate(shard: GroupShard, now_ms: int) -> Result:
    """Begin after everything is loaded: every member gets a whole session to be heard of again."""
    for group in shard.groups.values():
        if isinstance(group, ClassicGroup):
            group.is_live = True
            for member in group.members.values():
                group.keep_session(now_ms, member)
            if group.members:
                shard.timers.set((LOADED, group.group_id), now_ms)
    return Result([], None)


def printed_committed(shard: GroupShard) -> dict[str, Any]:
    """Return the durable state of all classic groups: what a fresh replay of the log brings back."""
    groups = {group_id: shard.groups[group_id] for group_id in sorted(shard.groups)}
    classic = {group_id: group for group_id, group in groups.items() if isinstance(group, ClassicGroup)}
    return {group_id: group.printed_committed() for group_id, group in classic.items() if group.committed is not None}


HANDLE: dict[type, Callable[[GroupShard, int, CoordinatorRequest], Result]] = {
    JoinGroupRequest: _join,
    SyncGroupRequest: _sync,
    HeartbeatRequest: _heartbeat,
    LeaveGroupRequest: _leave,
}
REPLAY: dict[type, Callable[[GroupShard, Any, Any], None]] = {GroupMetadataKey: replay_group_metadata}
ON_TIMER: dict[str, Callable[[GroupShard, int, int, Any], Result]] = {
    SESSION: _on_session,
    JOIN: _timed(on_join_timer),
    SYNC: _timed(on_sync_timer),
    LOADED: _timed(on_loaded_timer),
}
