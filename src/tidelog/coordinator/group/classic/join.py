"""JoinGroup to a classic group, or to one that it creates: who may come in, and whether that costs a rebalance.

A member without an id gets one. From version 4 a dynamic one has to come back with it before it counts: clients that
gave up on a long rebalance and tried anew used to leave a dead member behind each time.
"""

from typing import Final

from tidelog.config.settings.groups import GROUP_MAX_SIZE
from tidelog.coordinator.group.classic import rejoin
from tidelog.coordinator.group.classic.decision import NO_MEMBER_ID, Decision, fits, for_version, join_refused
from tidelog.coordinator.group.classic.group import SESSION, ClassicGroup, new_empty
from tidelog.coordinator.group.classic.join_fields import protocols_of, reason_of, rebalance_timeout_of
from tidelog.coordinator.group.classic.member import ClassicMember
from tidelog.coordinator.group.classic.rebalance import complete_if_all_joined, prepare_or_complete
from tidelog.coordinator.group.classic.state import ClassicState
from tidelog.coordinator.group.classic.static_join import replace_static
from tidelog.coordinator.group.shard import GroupShard
from tidelog.coordinator.requests import CoordinatorRequest
from tidelog.model.decisions import PENDING, Record, Result
from tidelog.model.errors import ErrorCode
from tidelog.ports.entropy import Entropy, random_uuid
from tidelog.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse

REQUIRES_MEMBER_ID: Final = 4
# A new member that waits in a long rebalance is let go after this: it may be gone, and should ask again if it is not.
NEW_MEMBER_JOIN_TIMEOUT_MS: Final = 5 * 60 * 1_000


def join(shard: GroupShard, now_ms: int, request: CoordinatorRequest, group: ClassicGroup) -> Result:
    decision = Decision(shard, now_ms, request.wall_ms)
    response = _join(decision, request, group)
    return decision.result(request, PENDING if response is None else for_version(response, request.api_version))


def join_new_group(shard: GroupShard, now_ms: int, request: CoordinatorRequest, before: list[Record]) -> Result:
    """Join a group that does not exist yet. `before` removes what had the group's name. The new group is written at
    once, whatever becomes of its member."""
    group = new_empty(shard, request.message.group_id, request.wall_ms)
    record = group.to_record({})
    if not fits(shard, record):
        return Result([], join_refused(ErrorCode.UNKNOWN_SERVER_ERROR, NO_MEMBER_ID))
    shard.groups[group.group_id] = group
    result = join(shard, now_ms, request, group)
    result.records[:0] = [*before, record]
    return result


def _join(decision: Decision, request: CoordinatorRequest, group: ClassicGroup) -> JoinGroupResponse | None:
    """Return the response; None: the request waits, or was answered together with others."""
    message: JoinGroupRequest = request.message
    group.is_live = True
    if not _accepts(decision.shard, group, message.member_id):
        group.remove(message.member_id)
        complete_if_all_joined(decision, group)  # the others may have waited for this one alone
        return join_refused(ErrorCode.GROUP_MAX_SIZE_REACHED, NO_MEMBER_ID)
    if not group.supports(message.protocol_type, protocols_of(message)):
        return join_refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, message.member_id)
    if message.member_id == NO_MEMBER_ID:
        return _join_new(decision, request, group)
    if message.member_id in group.pending_join:
        return _join_pending(decision, request, group)
    return rejoin.rejoin(decision, request, group)


def _accepts(shard: GroupShard, group: ClassicGroup, member_id: str) -> bool:
    """Tell whether the group has room for the member. While a group prepares, only those who have joined count, so that
    after `group.max.size` was lowered the last to rejoin are refused. Later every member has joined."""
    max_size = shard.config.get(GROUP_MAX_SIZE)
    member = group.members.get(member_id)
    if group.state is ClassicState.PREPARING_REBALANCE:
        return (member is not None and member.awaiting_join is not None) or group.awaiting_join_count < max_size
    return group.state is ClassicState.EMPTY or member is not None or len(group.members) < max_size


def _join_new(decision: Decision, request: CoordinatorRequest, group: ClassicGroup) -> JoinGroupResponse | None:
    message: JoinGroupRequest = request.message
    instance_id = message.group_instance_id
    member_id = new_member_id(decision.shard.entropy, request.client_id if instance_id is None else instance_id)
    if instance_id is not None and instance_id in group.static_members:
        return replace_static(decision, request, group, member_id)
    if instance_id is None and request.api_version >= REQUIRES_MEMBER_ID:
        group.pending_join[member_id] = None
        due_ms = decision.now_ms + message.session_timeout_ms
        group.timers.set((SESSION, group.group_id, member_id), due_ms)
        return join_refused(ErrorCode.MEMBER_ID_REQUIRED, member_id)
    _add(decision, request, group, member_id)
    return None


def _join_pending(decision: Decision, request: CoordinatorRequest, group: ClassicGroup) -> JoinGroupResponse | None:
    message: JoinGroupRequest = request.message
    if message.group_instance_id is not None:
        # Static members are never pending: no client that keeps to the protocol sends this.
        return join_refused(ErrorCode.UNKNOWN_SERVER_ERROR, NO_MEMBER_ID)
    _add(decision, request, group, message.member_id)
    return None


def _add(decision: Decision, request: CoordinatorRequest, group: ClassicGroup, member_id: str) -> None:
    message: JoinGroupRequest = request.message
    member = ClassicMember(
        member_id=member_id,
        group_instance_id=message.group_instance_id,
        client_id=request.client_id,
        client_host=request.client_host,
        rebalance_timeout_ms=rebalance_timeout_of(request),
        session_timeout_ms=message.session_timeout_ms,
        protocol_type=message.protocol_type,
        protocols=protocols_of(message),
        is_new=True,
    )
    if group.state is ClassicState.PREPARING_REBALANCE and group.previous_state is ClassicState.EMPTY:
        group.has_new_member = True
    group.add(member, request)
    group.keep_session(decision.now_ms, member, NEW_MEMBER_JOIN_TIMEOUT_MS)
    prepare_or_complete(decision, group, f"{member_id} is new; {reason_of(message)}")


def new_member_id(entropy: Entropy, prefix: str) -> str:
    digits = random_uuid(entropy).hex()
    return f"{prefix}-{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
