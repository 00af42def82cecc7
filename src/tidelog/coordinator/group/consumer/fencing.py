"""Members go: they leave, or are fenced because they were not heard of or did not do in time what they had to.

Whoever goes for good leaves its partitions free at once, and the group epoch moves. A static member that leaves for a
while keeps them until its session is over.
"""

from collections.abc import Sequence
from typing import Any

from tidelog.coordinator.group.consumer import migration, timeouts
from tidelog.coordinator.group.consumer.group import ConsumerGroup
from tidelog.coordinator.group.consumer.member import NOTHING, STATIC_LEAVE_EPOCH, ConsumerMember, MemberState
from tidelog.coordinator.group.consumer.records import (
    current_record,
    epoch_record,
    member_tombstones,
    regex_tombstone,
)
from tidelog.coordinator.group.consumer.validation import known_static
from tidelog.coordinator.group.shard import GroupShard
from tidelog.coordinator.requests import CoordinatorRequest
from tidelog.model.decisions import Record, Result
from tidelog.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

_REASONS = {
    timeouts.SESSION: "was not heard of for a whole session",
    timeouts.REBALANCE: "did not give back its partitions in time",
    timeouts.JOIN: "did not rejoin in time",
    timeouts.SYNC: "did not sync in time",
}


def leave(shard: GroupShard, now_ms: int, request: CoordinatorRequest) -> Result:
    message: ConsumerGroupHeartbeatRequest = request.message
    group = migration.consumer_group(shard, message.group_id)
    response = ConsumerGroupHeartbeatResponse(
        throttle_time_ms=0,
        error_code=0,
        member_id=message.member_id,
        member_epoch=message.member_epoch,
        heartbeat_interval_ms=0,
    )
    if message.instance_id is None:
        return fence(shard, now_ms, request.wall_ms, group, [group.member(message.member_id)], response)
    member = known_static(group, message.member_id, message.instance_id)
    if message.member_epoch == STATIC_LEAVE_EPOCH:
        return Result([current_record(group.group_id, _away(member))], response)
    return fence(shard, now_ms, request.wall_ms, group, [member], response)


def _away(member: ConsumerMember) -> ConsumerMember:
    """Return a static member that leaves for a while. Its partitions count as assigned before any epoch, so that
    whoever comes back under its instance id may commit them, while commits under the old id are refused."""
    assigned = {topic_id: dict.fromkeys(epochs, 0) for topic_id, epochs in member.assigned.items()}
    return member.with_assignment(STATIC_LEAVE_EPOCH, member.previous_epoch, member.state, assigned, NOTHING)


def fence(
    shard: GroupShard, now_ms: int, wall_ms: int, group: ConsumerGroup, members: Sequence[ConsumerMember], response: Any
) -> Result:
    """Remove the members; where only classic members remain, the group may become a classic one again."""
    if not members:
        return Result([], response)
    downgrade = migration.downgrade_without(shard, now_ms, wall_ms, group, members)
    if downgrade is not None:
        downgrade.response = response
        return downgrade
    records = _removal(shard, group, members)
    for member in members:
        timeouts.cancel_all(shard, group.group_id, member.member_id)
    return Result(records, response)


def _removal(shard: GroupShard, group: ConsumerGroup, members: Sequence[ConsumerMember]) -> list[Record]:
    records = [record for member in members for record in member_tombstones(group.group_id, member.member_id)]
    after = group.subscriptions.after(members, ())
    records += [
        regex_tombstone(group.group_id, regex) for regex in group.subscriptions.regexes if regex not in after.regexes
    ]
    metadata_hash = shard.topic_hashes.group_hash(shard.image, after.topics)
    records.append(epoch_record(group.group_id, group.epoch + 1, metadata_hash))
    return records


def on_timer(shard: GroupShard, now_ms: int, wall_ms: int, key: Any) -> Result:
    """Fence the member whose time is up. A timer does nothing if its group or member is gone, or has done what it was
    for."""
    kind, group_id, member_id = key
    group = shard.groups.get(group_id)
    member = group.members.get(member_id) if isinstance(group, ConsumerGroup) else None
    if (
        not isinstance(group, ConsumerGroup)
        or member is None
        or (kind == timeouts.REBALANCE and not _is_revoking(member))
    ):
        return Result([], None)
    shard.count("consumer-group-fenced-members")
    shard.note(f"group {group_id!r}: member {member_id!r} {_REASONS[kind]}")
    return fence(shard, now_ms, wall_ms, group, [member], None)


def _is_revoking(member: ConsumerMember) -> bool:
    """Tell whether the member has partitions to give back. One that left for a while need not until it returns."""
    return member.state is MemberState.UNREVOKED_PARTITIONS and member.epoch != STATIC_LEAVE_EPOCH
