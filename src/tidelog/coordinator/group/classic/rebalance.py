"""How a classic group comes from one generation to the next.

    something changes -> prepare: PreparingRebalance, everyone has to join again
                      -> all have joined, or the rebalance timeout is over -> complete_join: the others are out,
                         the next generation begins, everyone who waits is told (CompletingRebalance)
                      -> the leader's SyncGroup -> Stable (`sync`)

A group that was empty does not begin with its first member: it waits `group.initial.rebalance.delay.ms` for more, and
as long again while more come, so that a fleet that starts together rebalances once.
"""

from typing import Final

from tidelog.config.settings.groups import GROUP_INITIAL_REBALANCE_DELAY_MS
from tidelog.coordinator.group.classic.decision import Decision, fits, join_refused, joined, sync_refused
from tidelog.coordinator.group.classic.group import JOIN, SYNC, ClassicGroup, InitialDelay
from tidelog.coordinator.group.classic.state import PREVIOUS, ClassicState
from tidelog.model.errors import ErrorCode

# The shortest pause before looking again, however short a timeout the members asked for: less would be a busy loop.
RETRY_MS_MIN: Final = 1_000


def prepare_or_complete(decision: Decision, group: ClassicGroup, reason: str) -> None:
    """Begin a rebalance because somebody came or went, or complete the one under way if it has everyone now."""
    if group.state in PREVIOUS[ClassicState.PREPARING_REBALANCE]:
        prepare(decision, group, reason)
    else:
        complete_if_all_joined(decision, group)


def prepare(decision: Decision, group: ClassicGroup, reason: str) -> None:
    """Begin a rebalance: everyone has to join again."""
    if group.state is ClassicState.COMPLETING_REBALANCE:
        reset_assignment(decision, group, ErrorCode.REBALANCE_IN_PROGRESS)
    group.pending_sync.clear()
    group.timers.cancel((SYNC, group.group_id))
    is_initial = group.state is ClassicState.EMPTY
    group.transition_to(ClassicState.PREPARING_REBALANCE, decision.wall_ms)
    decision.shard.count("rebalances")
    decision.shard.note(f"group {group.group_id!r} rebalances, generation {group.generation} is over: {reason}")
    if is_initial:
        _begin_initial_delay(decision, group)
    elif group.has_all_joined:
        complete_join(decision, group)
    else:
        _await_joins(decision, group)


def complete_if_all_joined(decision: Decision, group: ClassicGroup) -> None:
    """Complete the rebalance if everyone has joined. An initial rebalance takes its whole delay all the same."""
    is_initial = group.previous_state is ClassicState.EMPTY
    if group.state is ClassicState.PREPARING_REBALANCE and not is_initial and group.has_all_joined:
        complete_join(decision, group)


def complete_join(decision: Decision, group: ClassicGroup) -> None:
    """Begin the next generation with those who have joined."""
    group.timers.cancel((JOIN, group.group_id))
    group.initial_delay = None
    _remove_who_did_not_join(decision, group)
    if not group.elect_joined_leader() and group.members:
        # All of them are static members, which are not removed for not joining: their sessions decide.
        group.timers.set((JOIN, group.group_id), decision.now_ms + max(group.rebalance_timeout_ms, RETRY_MS_MIN))
        return
    group.init_next_generation(decision.wall_ms)
    if group.state is ClassicState.EMPTY:
        _write_empty(decision, group)
    else:
        _tell_generation(decision, group)


def on_join_timer(decision: Decision, group: ClassicGroup) -> None:
    delay = group.initial_delay
    if delay is None or not group.has_new_member or delay.remaining_ms == 0:
        complete_join(decision, group)
        return
    group.has_new_member = False
    next_delay_ms = min(_initial_delay_ms(decision), delay.remaining_ms)
    group.initial_delay = InitialDelay(next_delay_ms, max(delay.remaining_ms - delay.delay_ms, 0))
    group.timers.set((JOIN, group.group_id), decision.now_ms + next_delay_ms)


def on_sync_timer(decision: Decision, group: ClassicGroup) -> None:
    """Remove the members that have not asked for their assignment by now, and rebalance."""
    late = list(group.pending_sync)
    if not late or group.state not in (ClassicState.COMPLETING_REBALANCE, ClassicState.STABLE):
        return
    for member_id in late:
        group.remove(member_id)
    decision.shard.count("member expirations", len(late))
    prepare(decision, group, f"{', '.join(late)} did not sync in time")


def reset_assignment(decision: Decision, group: ClassicGroup, code: ErrorCode) -> None:
    """Drop what was being assigned; members that wait for it are answered with the code."""
    for member in group.members.values():
        member.assignment = b""
        if decision.answer_sync(member, sync_refused(code)):
            group.keep_session(decision.now_ms, member)


def refuse_waiting(decision: Decision, group: ClassicGroup, code: ErrorCode) -> None:
    """Answer everyone who waits for a rebalance that will not come, as when the group changes its protocol."""
    for member in group.members.values():
        decision.answer_join(group, member, join_refused(code, member.member_id))
        decision.answer_sync(member, sync_refused(code))


def remove_member(decision: Decision, group: ClassicGroup, member_id: str) -> None:
    """Remove a member. If it waits somewhere it is told that it is out: if it is alive it comes back as a new one."""
    member = group.members[member_id]
    decision.answer_join(group, member, join_refused(ErrorCode.UNKNOWN_MEMBER_ID, ""))
    decision.answer_sync(member, sync_refused(ErrorCode.UNKNOWN_MEMBER_ID))
    group.remove(member_id)


def _initial_delay_ms(decision: Decision) -> int:
    return decision.shard.config.get(GROUP_INITIAL_REBALANCE_DELAY_MS)


def _begin_initial_delay(decision: Decision, group: ClassicGroup) -> None:
    delay_ms = _initial_delay_ms(decision)
    group.has_new_member = False
    group.initial_delay = InitialDelay(delay_ms, max(group.rebalance_timeout_ms - delay_ms, 0))
    group.timers.set((JOIN, group.group_id), decision.now_ms + delay_ms)


def _await_joins(decision: Decision, group: ClassicGroup) -> None:
    group.timers.set((JOIN, group.group_id), decision.now_ms + group.rebalance_timeout_ms)


def _remove_who_did_not_join(decision: Decision, group: ClassicGroup) -> None:
    late = [each.member_id for each in group.members.values() if each.awaiting_join is None and not each.is_static]
    for member_id in late:
        group.remove(member_id)
    if late:
        decision.shard.count("member expirations", len(late))
        decision.shard.note(f"group {group.group_id!r}: {', '.join(late)} did not rejoin in time")


def _write_empty(decision: Decision, group: ClassicGroup) -> None:
    """Write that the group has no members. If the log does not take the record, the last generation comes back at the
    next load, and times out again."""
    record = group.to_record({})
    if fits(decision.shard, record):
        decision.records.append(record)


def _tell_generation(decision: Decision, group: ClassicGroup) -> None:
    for member in group.members.values():
        decision.answer_join(group, member, joined(group, member))
        group.keep_session(decision.now_ms, member)
        member.is_new = False
        group.pending_sync[member.member_id] = None
    group.timers.set((SYNC, group.group_id), decision.now_ms + group.rebalance_timeout_ms)
