"""A static member is back under a new id: it takes the place that its group.instance.id has in the group.

In a stable group that costs no rebalance, which is what static membership is for: the new id is written down in the
place of the old, and the assignment stays. Unless it votes for another protocol, and the vote changes.
"""

from typing import Final, NamedTuple

from tidelog.coordinator.group.classic.decision import Decision, fits, join_refused, joined, sync_refused
from tidelog.coordinator.group.classic.group import ClassicGroup
from tidelog.coordinator.group.classic.join_fields import reason_of, update_member
from tidelog.coordinator.group.classic.member import ClassicMember, Protocols
from tidelog.coordinator.group.classic.rebalance import prepare_or_complete
from tidelog.coordinator.group.classic.state import ClassicState
from tidelog.coordinator.requests import CoordinatorRequest
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.join_group import JoinGroupResponse

# From this version a leader can be told that it leads and has nothing to assign. Before, it is given its old id as the
# leader's, so that it takes itself for a follower: what it assigned would be ignored.
SKIPS_ASSIGNMENT: Final = 9


class _FormerMember(NamedTuple):
    """The member as it was, to be restored if its new id cannot be written."""

    member_id: str
    client_id: str
    client_host: str
    protocols: Protocols
    rebalance_timeout_ms: int
    session_timeout_ms: int


def replace_static(
    decision: Decision, request: CoordinatorRequest, group: ClassicGroup, member_id: str
) -> JoinGroupResponse | None:
    """Return the response; None: the request waits, or was answered together with others."""
    member = group.members[group.static_members[request.message.group_instance_id]]
    old_leader, before = group.leader, _former(member)
    _fence(decision, group, member)
    _replace_id(decision, request, group, member, member_id)
    reason = reason_of(request.message)
    if group.state is ClassicState.STABLE and group.select_protocol() == group.protocol_name:
        return _write(decision, request, group, member, before, old_leader)
    group.await_join(member, request)
    # In CompletingRebalance the leader may be assigning to the old id at this moment: that would not reach the new one.
    prepare_or_complete(decision, group, f"{member_id} replaces the static member {before.member_id}; {reason}")
    return None


def _former(member: ClassicMember) -> _FormerMember:
    return _FormerMember(
        member.member_id,
        member.client_id,
        member.client_host,
        member.protocols,
        member.rebalance_timeout_ms,
        member.session_timeout_ms,
    )


def _fence(decision: Decision, group: ClassicGroup, member: ClassicMember) -> None:
    """Refuse the requests that wait under the old id: another has taken its place."""
    refused = join_refused(ErrorCode.FENCED_INSTANCE_ID, member.member_id, protocol_name=None)
    decision.answer_join(group, member, refused)
    decision.answer_sync(member, sync_refused(ErrorCode.FENCED_INSTANCE_ID))


def _replace_id(
    decision: Decision, request: CoordinatorRequest, group: ClassicGroup, member: ClassicMember, member_id: str
) -> None:
    group.rename_static(member, member_id)
    member.client_id, member.client_host, member.is_new = request.client_id, request.client_host, False
    update_member(group, member, request)
    group.keep_session(decision.now_ms, member)


def _write(
    decision: Decision,
    request: CoordinatorRequest,
    group: ClassicGroup,
    member: ClassicMember,
    before: _FormerMember,
    old_leader: str | None,
) -> JoinGroupResponse:
    record = group.to_record({each.member_id: each.assignment for each in group.members.values()})
    if not fits(decision.shard, record):
        _restore(decision, group, member, before)
        refused = joined(group, member)
        refused.error_code, refused.member_id, refused.members = ErrorCode.UNKNOWN_SERVER_ERROR, "", []
        return refused
    decision.records.append(record)
    group.learn_subscribed_topics()
    response = joined(group, member)
    if request.api_version >= SKIPS_ASSIGNMENT:
        response.skip_assignment = group.leader == member.member_id
    else:
        response.leader, response.members = old_leader or "", []
    return response


def _restore(decision: Decision, group: ClassicGroup, member: ClassicMember, before: _FormerMember) -> None:
    group.rename_static(member, before.member_id)
    member.client_id, member.client_host = before.client_id, before.client_host
    group.update(member, before.protocols, before.rebalance_timeout_ms, before.session_timeout_ms)
    group.keep_session(decision.now_ms, member)
