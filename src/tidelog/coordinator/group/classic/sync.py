"""SyncGroup to a classic group: the leader hands in the assignment, and everyone gets its part of it.

The assignment is written first, as the group's record; from then on it is the group's state, and whoever waits is
told once the record is committed.
"""

from typing import Final

from tidelog.coordinator.group.classic.decision import Decision, fits, sync_refused
from tidelog.coordinator.group.classic.group import ClassicGroup
from tidelog.coordinator.group.classic.member import ClassicMember
from tidelog.coordinator.group.classic.rebalance import prepare, reset_assignment
from tidelog.coordinator.group.classic.state import ClassicState
from tidelog.coordinator.group.classic.validation import check_generation, check_member
from tidelog.coordinator.group.shard import GroupShard
from tidelog.coordinator.requests import CoordinatorRequest
from tidelog.model.decisions import Result
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

NAMES_PROTOCOL: Final = 5


def sync(shard: GroupShard, now_ms: int, request: CoordinatorRequest, group: ClassicGroup) -> Result:
    message: SyncGroupRequest = request.message
    decision = Decision(shard, now_ms, request.wall_ms)
    try:
        _check(group, message)
    except ApiError as error:
        return decision.result(request, sync_refused(error.code))
    member = group.members[message.member_id]
    group.has_synced(member.member_id)
    if group.state is ClassicState.STABLE:
        # Kafka 4 does not count this as a sign of life, as its predecessors did: a member could be told what it owns
        # and be given up in the next moment.
        group.keep_session(decision.now_ms, member)
        return decision.result(request, _assigned(group, member))
    # An earlier SyncGroup of this member: nobody reads its answer any more, but the request must not stay open.
    decision.answer_sync(member, sync_refused(ErrorCode.REBALANCE_IN_PROGRESS))
    member.awaiting_sync = request
    if group.leader == member.member_id:
        _assign(decision, group, {each.member_id: bytes(each.assignment) for each in message.assignments})
    return decision.result(request)


def names_its_protocol(request: CoordinatorRequest) -> bool:
    """Tell whether the request names its protocol type and name. From version 5 it has to, so that members that
    misunderstand each other notice."""
    message: SyncGroupRequest = request.message
    has_both = message.protocol_type is not None and message.protocol_name is not None
    return has_both or request.api_version < NAMES_PROTOCOL


def _check(group: ClassicGroup, message: SyncGroupRequest) -> None:
    check_member(group, message.member_id, message.group_instance_id)
    check_generation(group, message.generation_id)
    if _differ(message.protocol_type, group.protocol_type_or_none) or _differ(
        message.protocol_name, group.protocol_name
    ):
        raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if group.state is ClassicState.PREPARING_REBALANCE:
        raise ApiError(ErrorCode.REBALANCE_IN_PROGRESS)


def _differ(named: str | None, current: str | None) -> bool:
    return named is not None and current is not None and named != current


def _assign(decision: Decision, group: ClassicGroup, assignment: dict[str, bytes]) -> None:
    """Write the leader's assignment and hand it out. Members that the leader left out get nothing; ids that it invented
    are ignored."""
    record = group.to_record(assignment)
    if not fits(decision.shard, record):
        reset_assignment(decision, group, ErrorCode.UNKNOWN_SERVER_ERROR)
        prepare(decision, group, "the assignment is larger than a record may be")
        return
    decision.records.append(record)
    for member in group.members.values():
        member.assignment = assignment.get(member.member_id, b"")
        if decision.answer_sync(member, _assigned(group, member)):
            group.keep_session(decision.now_ms, member)
    group.transition_to(ClassicState.STABLE, decision.wall_ms)
    decision.shard.count("completed rebalances")


def _assigned(group: ClassicGroup, member: ClassicMember) -> SyncGroupResponse:
    return SyncGroupResponse(
        error_code=ErrorCode.NONE,
        protocol_type=group.protocol_type_or_none,
        protocol_name=group.protocol_name,
        assignment=member.assignment,
    )
