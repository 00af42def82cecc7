"""Which of a coordinator's requests, records and timers are for consumer groups (KIP-848)."""

from collections.abc import Callable, Generator
from typing import Any, Final

from tidelog.coordinator.group.consumer import classic_members, crowd, fencing, regexes, replay, timeouts
from tidelog.coordinator.group.consumer.describe import describe
from tidelog.coordinator.group.consumer.group import ConsumerGroup
from tidelog.coordinator.group.consumer.heartbeat import heartbeat
from tidelog.coordinator.group.shard import GroupShard
from tidelog.coordinator.requests import CoordinatorRequest
from tidelog.metadata.changes import Changes
from tidelog.model.decisions import Result
from tidelog.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from tidelog.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

Steps = Generator[None, None, Result]

HANDLE: Final[dict[type, Callable[[GroupShard, int, CoordinatorRequest], Result | Steps]]] = {
    ConsumerGroupHeartbeatRequest: heartbeat,
    ConsumerGroupDescribeRequest: describe,
}
REPLAY: Final[dict[type, Callable[[GroupShard, Any, Any], None]]] = replay.REPLAY
ON_TIMER: Final[dict[str, Callable[[GroupShard, int, int, Any], Result | Steps]]] = {
    timeouts.SESSION: fencing.on_timer,
    timeouts.REBALANCE: fencing.on_timer,
    timeouts.JOIN: fencing.on_timer,
    timeouts.SYNC: fencing.on_timer,
    regexes.RESOLVE: regexes.resolve,
    crowd.CROWD: crowd.on_timer,
}

# Requests of the classic protocol to a consumer group.
classic_join = classic_members.join
classic_sync = classic_members.sync
classic_heartbeat = classic_members.heartbeat
classic_leave = classic_members.leave


def activate(shard: GroupShard, now_ms: int) -> Result:
    """Begin after everything is loaded: every member gets a whole session to be heard of again, and time anew to give
    back what it was asked to."""
    shard.topic_hashes.new_topics_offset = shard.image.provenance.offset
    for group in shard.groups.values():
        if isinstance(group, ConsumerGroup):
            for member in group.members.values():
                timeouts.begin_session(shard, now_ms, group, member)
                timeouts.watch_revocation(shard, now_ms, group.group_id, member)
    return Result([], None)


def image_changed(shard: GroupShard, now_ms: int, changes: Changes) -> None:  # noqa: ARG001 - heartbeats notice
    """Have groups that read a topic which came, went or changed look at their topics again with the next heartbeat."""
    if changes.topics_created:
        shard.topic_hashes.new_topics_offset = shard.image.provenance.offset
    names = changes.topic_names(shard.image.topics)
    if not names:
        return
    shard.topic_hashes.forget(names)
    for group in shard.groups.values():
        if isinstance(group, ConsumerGroup) and any(topic in names for topic in group.subscriptions.topics):
            group.refresh_due_ms = 0
