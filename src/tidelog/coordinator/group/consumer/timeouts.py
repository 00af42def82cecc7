"""The time limits of a member of a consumer group. Volatile, on the monotonic clock.

session     to be heard of again
rebalance   to give back the partitions that it was asked to
join, sync  for a classic member: to join again when it was told to, and to fetch its assignment
"""

from typing import Final

from tidelog.coordinator.group.consumer.group import ConsumerGroup
from tidelog.coordinator.group.consumer.member import ConsumerMember, MemberState
from tidelog.coordinator.group.shard import GroupShard

SESSION: Final = "consumer-session"
REBALANCE: Final = "consumer-rebalance"
JOIN: Final = "consumer-join"
SYNC: Final = "consumer-sync"


def begin_session(shard: GroupShard, now_ms: int, group: ConsumerGroup, member: ConsumerMember) -> None:
    """Begin a session of the group's length. After a failover even classic members, whose own timeout may be shorter,
    get the group's: everybody comes at once."""
    timeout_ms = group.settings(shard).consumer_session_timeout_ms
    shard.timers.set((SESSION, group.group_id, member.member_id), now_ms + timeout_ms)


def keep_session(shard: GroupShard, now_ms: int, group: ConsumerGroup, member: ConsumerMember) -> None:
    if member.classic is None:
        begin_session(shard, now_ms, group, member)
    else:
        timeout_ms = member.classic.session_timeout_ms
        shard.timers.set((SESSION, group.group_id, member.member_id), now_ms + timeout_ms)


def watch_revocation(shard: GroupShard, now_ms: int, group_id: str, member: ConsumerMember) -> None:
    """Limit the time for giving back partitions. A classic member has its join and sync timeouts instead."""
    key = (REBALANCE, group_id, member.member_id)
    if member.is_classic:
        return
    if member.state is MemberState.UNREVOKED_PARTITIONS:
        shard.timers.set(key, now_ms + member.rebalance_timeout_ms)
    else:
        shard.timers.cancel(key)


def await_join(shard: GroupShard, now_ms: int, group_id: str, member: ConsumerMember) -> None:
    """Limit the time for joining again. The member is told so with every heartbeat; the time counts from the first."""
    key = (JOIN, group_id, member.member_id)
    if key not in shard.timers:
        shard.timers.set(key, now_ms + member.rebalance_timeout_ms)


def joined(shard: GroupShard, now_ms: int, group: ConsumerGroup, member: ConsumerMember) -> None:
    shard.timers.cancel((JOIN, group.group_id, member.member_id))
    keep_session(shard, now_ms, group, member)
    shard.timers.set((SYNC, group.group_id, member.member_id), now_ms + member.rebalance_timeout_ms)


def synced(shard: GroupShard, now_ms: int, group: ConsumerGroup, member: ConsumerMember) -> None:
    shard.timers.cancel((SYNC, group.group_id, member.member_id))
    keep_session(shard, now_ms, group, member)


def cancel_all(shard: GroupShard, group_id: str, member_id: str) -> None:
    for kind in (SESSION, REBALANCE, JOIN, SYNC):
        shard.timers.cancel((kind, group_id, member_id))
