"""`range`: each member gets a run of neighbouring partitions of every topic that it is subscribed to.

Topics with as many partitions and the same subscribers are split at the same places, so that partitions of the same
number (the same keys) meet in one member. Static members come first, by instance id, because they come back under it:
a restart moves nothing, and neither does it when members without one come and go behind them, as far as the quotas
stay. Otherwise a member keeps what its place among the others gives it; what it had is not looked at.
"""

from tidelog.coordinator.group.assignors.assignor import (
    Assignment,
    GroupSpec,
    MemberSpec,
    TopicPartitions,
    TopicsSpec,
)
from tidelog.model.ids import Uuid

_Ranges = dict[str, dict[Uuid, list[int]]]


def assign(group: GroupSpec, topics: TopicsSpec) -> Assignment:
    ranges: _Ranges = {member_id: {} for member_id in group.members}
    for topic_id, subscribers in _subscribers(group).items():
        _deal_out(ranges, topic_id, topics.partition_counts.get(topic_id, 0), subscribers)
    return {member_id: _kept_or_new(group.members[member_id], each) for member_id, each in ranges.items()}


def _deal_out(ranges: _Ranges, topic_id: Uuid, count: int, subscribers: list[str]) -> None:
    """Give each subscriber a run of the topic's partitions; the first ones get one more where they do not come out
    even."""
    quota, extras = divmod(count, len(subscribers))
    start = 0
    for topic_partition, member_id in enumerate(subscribers):
        if start == count:
            return
        end = start + quota + (topic_partition < extras)
        ranges[member_id][topic_id] = list(range(start, end))
        start = end


def _subscribers(group: GroupSpec) -> dict[Uuid, list[str]]:
    member_ids = _in_order(group)
    if group.is_homogeneous and member_ids:
        return dict.fromkeys(group.members[member_ids[0]].subscribed_topic_ids, member_ids)
    subscribers: dict[Uuid, list[str]] = {}
    for member_id in member_ids:
        for topic_id in group.members[member_id].subscribed_topic_ids:
            subscribers.setdefault(topic_id, []).append(member_id)
    return subscribers


def _in_order(group: GroupSpec) -> list[str]:
    def topic_partition(member_id: str) -> tuple[bool, str, str]:
        instance_id = group.members[member_id].instance_id
        return (instance_id is None, instance_id or "", member_id)

    return sorted(group.members, key=topic_partition)


def _kept_or_new(member: MemberSpec, ranges: dict[Uuid, list[int]]) -> TopicPartitions:
    """Return the ranges of a member: the very object that it had, where that says the same."""
    had = member.assigned
    is_same = had.keys() == ranges.keys() and all(sorted(had[topic_id]) == run for topic_id, run in ranges.items())
    return had if is_same else ranges
