"""A member's time is up: nothing was heard of it for its session timeout."""

from tidelog.coordinator.group.classic.decision import Decision
from tidelog.coordinator.group.classic.group import ClassicGroup
from tidelog.coordinator.group.classic.rebalance import complete_join, prepare, remove_member
from tidelog.coordinator.group.classic.state import ClassicState


def on_session_timer(decision: Decision, group: ClassicGroup, member_id: str) -> None:
    """Remove the member, or the id that nobody has joined with, and go on without it."""
    member = group.members.get(member_id)
    if member is not None and not member.has_satisfied_heartbeat:
        remove_member(decision, group, member_id)
        decision.shard.count("member expirations")
    elif member_id in group.pending_join:
        group.remove(member_id)
    else:
        return
    if group.state is ClassicState.PREPARING_REBALANCE:
        # Even in an initial rebalance: the one that it still waited for does not come.
        if group.has_all_joined:
            complete_join(decision, group)
    elif member is not None:
        prepare(decision, group, f"{member_id} was not heard of in time")
