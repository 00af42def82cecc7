"""Members that come in a crowd get one target assignment together, and each its share of it at once.

    arrives, in line with others, when a new target assignment is due: its records are written, its answer waits
    a timer for now:            the target assignment, once for all who arrived
    and again, once that is in the log: each moves towards its target, and is answered

What is computed for the first of a crowd is out of date with the second, and has to be given back. Who is alone waits
for nobody, and the crowd only for those who have come and stand in line at the coordinator (`LINE_MS_MAX`). They are
answered in the order in which they came, as if each had come once the one before it was answered.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from tidelog.coordinator.group.consumer import limits, migration, target, timeouts
from tidelog.coordinator.group.consumer.answer import answer, refusal
from tidelog.coordinator.group.consumer.change import MemberChange
from tidelog.coordinator.group.consumer.group import ConsumerGroup
from tidelog.coordinator.group.consumer.member import STATIC_LEAVE_EPOCH, ConsumerMember
from tidelog.coordinator.group.consumer.validation import check_epoch, known_static
from tidelog.coordinator.group.consumer.waiters import Crowd, Waiter
from tidelog.coordinator.group.shard import GroupShard
from tidelog.coordinator.requests import CoordinatorRequest
from tidelog.model.decisions import PENDING, Record, Result
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

CROWD: Final = "consumer-crowd"
# Members answered in one turn: with their records and responses that is some milliseconds.
ANSWERS_MAX: Final = 100
# A line that does not end within this time is no crowd, but a coordinator that has too much to do.
LINE_MS_MAX: Final = 100

Steps: TypeAlias = Generator[None, None, Result]


def may_wait(change: MemberChange) -> bool:
    """Tell whether the heartbeat may wait for a crowd. Its own records must be sure to fit into the log: whoever waits
    is a member already, and will be answered as one."""
    return (
        (change.request.is_in_line or change.shard.has_line())
        and change.is_plain
        and not change.group.classic_count
        and limits.fit_together(change.shard, change.records)
    )


def wait(change: MemberChange) -> Result:
    shard, group_id = change.shard, change.group.group_id
    timeouts.keep_session(shard, change.now_ms, change.group, change.updated)
    waiter = Waiter(change.request, change.updated.member_id, change.has_subscription_changed)
    crowd = shard.crowds.setdefault(group_id, Crowd())
    if not crowd.arrived:
        crowd.since_ms = change.now_ms
    crowd.arrived.append(waiter)
    if (CROWD, group_id) not in shard.timers:
        shard.timers.set((CROWD, group_id), change.now_ms)
    return Result(change.records, PENDING)


def on_timer(shard: GroupShard, now_ms: int, wall_ms: int, key: tuple[str, str]) -> Result | Steps:
    crowd = shard.crowds[key[1]]
    if not crowd.targeted and shard.has_line() and now_ms < crowd.since_ms + LINE_MS_MAX:
        shard.timers.set(key, now_ms)
        return Result([], None)
    if not crowd.targeted:
        change = _group_change(shard, now_ms, wall_ms, key[1], crowd)
        crowd.targeted, crowd.arrived = crowd.arrived, []
        crowd.target_epoch = 0 if change is None else change.group_epoch
        if change is not None:
            shard.timers.set(key, now_ms)
            return _targeted(change, crowd)
    waiters, crowd.targeted = crowd.targeted[:ANSWERS_MAX], crowd.targeted[ANSWERS_MAX:]
    if crowd.targeted or crowd.arrived:
        shard.timers.set(key, now_ms)
    else:
        del shard.crowds[key[1]]
    return _answered(shard, now_ms, key[1], waiters, crowd.target_epoch)


# The target


def _group_change(shard: GroupShard, now_ms: int, wall_ms: int, group_id: str, crowd: Crowd) -> MemberChange | None:
    """Return a change that stands for the whole crowd: its members have been written already. None: no new target is
    due, or none of the members is left."""
    group = shard.groups.get(group_id)
    if not isinstance(group, ConsumerGroup):
        return None
    found = (group.members.get(waiter.member_id) for waiter in crowd.arrived)
    member = next((each for each in found if each is not None), None)
    if member is None:
        return None
    nobody = CoordinatorRequest(None, 0, wall_ms)
    change = MemberChange(shard, now_ms, nobody, group, member, member, [], group.epoch)
    return change if target.is_due(change) else None


def _targeted(change: MemberChange, crowd: Crowd) -> Result | Steps:
    if target.is_large(change):
        return _target_in_steps(change, crowd)
    target.assigned_now(change)
    return _target_written(change, crowd)


def _target_in_steps(change: MemberChange, crowd: Crowd) -> Steps:
    yield from target.assigned_in_steps(change)
    return _target_written(change, crowd)


def _target_written(change: MemberChange, crowd: Crowd) -> Result:
    try:
        limits.check_records(change.shard, change.records)
    except ApiError as error:
        waiters, crowd.targeted = crowd.targeted, []
        return Result([], None, answers=_refused(waiters, error))
    return Result(change.records, None)


# The answers


def _answered(shard: GroupShard, now_ms: int, group_id: str, waiters: Sequence[Waiter], target_epoch: int) -> Result:
    """Move each waiter towards its target and answer it. The records are written in order and each is true without the
    next, so any number of them fits."""
    try:
        group = migration.consumer_group(shard, group_id)
        if group.target_epoch < target_epoch:  # the log has refused the assignment
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "the group's assignment could not be written")
    except ApiError as error:
        return Result([], None, answers=_refused(waiters, error))
    reconciled = _CrowdReconciliation(shard, now_ms, group)
    answers = [(waiter.request, reconciled.answer(waiter)) for waiter in waiters]
    return Result(reconciled.records, None, is_atomic=False, answers=answers)


def _refused(waiters: Sequence[Waiter], error: ApiError) -> list[tuple[Any, Any]]:
    return [(waiter.request, refusal(error)) for waiter in waiters]


@dataclass(slots=True)
class _CrowdReconciliation:
    """The members as they will be when the records are replayed, and the partitions that they have got or given up."""

    shard: GroupShard
    now_ms: int
    group: ConsumerGroup
    records: list[Record] = field(default_factory=list)
    members: dict[str, ConsumerMember] = field(default_factory=dict)
    owned: dict[tuple[Uuid, int], bool] = field(default_factory=dict)

    def answer(self, waiter: Waiter) -> ConsumerGroupHeartbeatResponse:
        group, message = self.group, waiter.request.message
        try:
            member = self._member(waiter)
            change = MemberChange(self.shard, self.now_ms, waiter.request, group, member, member, [], group.epoch)
            change.has_subscription_changed = waiter.has_subscription_changed
            change.reconcile(group.target_epoch, group.target_of(member), message.topic_partitions, self._is_owned)
            limits.check_records(self.shard, change.records)
        except ApiError as error:
            return refusal(error)
        self._note(change)
        return answer(change)

    def _member(self, waiter: Waiter) -> ConsumerMember:
        """Return the waiter's member. What its heartbeat said must still hold: other requests may have changed the
        member since."""
        message: ConsumerGroupHeartbeatRequest = waiter.request.message
        if message.instance_id is not None:
            known_static(self.group, waiter.member_id, message.instance_id)
        member = self.members.get(waiter.member_id) or self.group.member(waiter.member_id)
        if member.is_classic or member.epoch == STATIC_LEAVE_EPOCH:
            raise ApiError(ErrorCode.FENCED_MEMBER_EPOCH, "the member has left since, or speaks the classic protocol")
        check_epoch(member, message.member_epoch, message.topic_partitions)
        return member

    def _is_owned(self, topic_id: Uuid, partition: int) -> bool:
        known = self.owned.get((topic_id, partition))
        return self.group.is_owned(topic_id, partition) if known is None else known

    def _note(self, change: MemberChange) -> None:
        if change.updated is change.member:
            return
        self.records += change.records
        self.members[change.updated.member_id] = change.updated
        for member, is_owned in ((change.member, False), (change.updated, True)):
            for assigned in (member.assigned, member.pending_revocation):
                for topic_id, partitions in assigned.items():
                    for partition in partitions:
                        self.owned[topic_id, partition] = is_owned
