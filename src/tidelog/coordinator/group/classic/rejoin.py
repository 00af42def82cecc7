"""JoinGroup of somebody who is a member already.

A member with nothing new has missed the last answer, and gets it again; only the leader can begin a rebalance without
a change of its own, because it alone sees what has changed around the group (partitions, say).
"""

from tidelog.coordinator.group.classic.decision import Decision, join_refused, joined
from tidelog.coordinator.group.classic.group import ClassicGroup
from tidelog.coordinator.group.classic.join_fields import protocols_of, reason_of, update_member
from tidelog.coordinator.group.classic.member import ClassicMember
from tidelog.coordinator.group.classic.rebalance import prepare_or_complete
from tidelog.coordinator.group.classic.state import ClassicState
from tidelog.coordinator.group.classic.validation import check_member
from tidelog.coordinator.requests import CoordinatorRequest
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse


def rejoin(decision: Decision, request: CoordinatorRequest, group: ClassicGroup) -> JoinGroupResponse | None:
    """Return the response; None: the request waits, or was answered together with others."""
    message: JoinGroupRequest = request.message
    try:
        check_member(group, message.member_id, message.group_instance_id)
    except ApiError as error:
        return join_refused(error.code, message.member_id, protocol_name=None)
    member = group.members[message.member_id]
    if _needs_rebalance(group, member, message):
        _wait(decision, request, group, member)
        return None
    return joined(group, member)


def _needs_rebalance(group: ClassicGroup, member: ClassicMember, message: JoinGroupRequest) -> bool:
    if group.state is ClassicState.PREPARING_REBALANCE or member.protocols != protocols_of(message):
        return True
    return group.state is ClassicState.STABLE and group.leader == member.member_id


def _wait(decision: Decision, request: CoordinatorRequest, group: ClassicGroup, member: ClassicMember) -> None:
    message: JoinGroupRequest = request.message
    # An earlier JoinGroup of this member: nobody reads its answer any more, but the request must not stay open.
    decision.answer_join(group, member, join_refused(ErrorCode.REBALANCE_IN_PROGRESS, member.member_id))
    update_member(group, member, request)
    group.await_join(member, request)
    prepare_or_complete(decision, group, f"{member.member_id} joins again; {reason_of(message)}")
