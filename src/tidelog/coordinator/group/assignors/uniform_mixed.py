"""`uniform` for members whose subscriptions differ: as balanced as those allow, and sticky.

Which partition of a topic a member gets is all one; so the work is on numbers, how many of each topic a member holds:

1. members keep what they have, as far as they are subscribed to it;
2. what is left goes to the least loaded subscribers, the topics with the fewest places to go first;
3. `Loads.balance` moves partitions until nothing can be better;
4. the numbers become partitions, first those that a member had before.
"""

from heapq import heapify, heapreplace
from itertools import islice

from tidelog.coordinator.group.assignors.assignor import (
    Assignment,
    GroupSpec,
    MemberSpec,
    TopicPartitions,
    TopicsSpec,
)
from tidelog.coordinator.group.assignors.holdings import Holdings, kept_or_new
from tidelog.coordinator.group.assignors.loads import Loads
from tidelog.model.ids import Uuid


def assign_mixed(group: GroupSpec, topics: TopicsSpec) -> Assignment:
    members = list(group.members.values())
    subscribers = _subscribers(members, topics)
    topic_ids = _in_order(subscribers, topics)
    kept = _kept(members, topic_ids, topics)
    loads = Loads([subscribers[topic_id] for topic_id in topic_ids], kept)
    free = [topics.partition_counts[topic_id] for topic_id in topic_ids]
    for held in kept:
        for topic, count in held.items():
            free[topic] -= count
    for topic, count in enumerate(free):
        _assign_free(loads, topic, count)
    loads.balance()
    return dict(zip(group.members, _partitions_of_members(members, loads, topic_ids, topics), strict=True))


def _subscribers(members: list[MemberSpec], topics: TopicsSpec) -> dict[Uuid, list[int]]:
    """Return the members (by index) that subscribe to each topic. This takes longest of all where members have many
    topics each, hence it is as plain as can be."""
    by_topic: dict[Uuid, list[int]] = {topic_id: [] for topic_id in topics.partition_counts}
    for index, member in enumerate(members):
        for topic_id in member.subscribed_topic_ids:
            subscribers = by_topic.get(topic_id)
            if subscribers is not None:
                subscribers.append(index)
    return {topic_id: subscribers for topic_id, subscribers in by_topic.items() if subscribers}


def _in_order(subscribers: dict[Uuid, list[int]], topics: TopicsSpec) -> list[Uuid]:
    """Sort topics, those with the most partitions per subscriber first: they decide how high the loads must be."""

    def topic_partition(topic_id: Uuid) -> tuple[float, int, Uuid]:
        count = len(subscribers[topic_id])
        return (-topics.partition_counts[topic_id] / count, count, topic_id)

    return sorted(subscribers, key=topic_partition)


def _kept(members: list[MemberSpec], topic_ids: list[Uuid], topics: TopicsSpec) -> list[dict[int, int]]:
    """Return for each member how many partitions of which topic it has and may keep."""
    holdings = Holdings({topic_id: topics.partition_counts[topic_id] for topic_id in topic_ids})
    numbers = {topic_id: topic for topic, topic_id in enumerate(topic_ids)}
    kept: list[dict[int, int]] = []
    for member in members:
        subscribed = frozenset(member.subscribed_topic_ids)
        held: dict[int, int] = {}
        for topic_id, partitions in member.assigned.items():
            if topic_id in subscribed and topic_id in numbers:
                count = len(holdings.claim(topic_id, partitions, len(partitions)))
                if count:
                    held[numbers[topic_id]] = count
        kept.append(held)
    return kept


def _assign_free(loads: Loads, topic: int, free: int) -> None:
    """Give the `free` partitions of a topic, which nobody has, to its least loaded subscribers."""
    if not free:
        return
    least = [(loads.load[member], member) for member in loads.subscribers[topic]]
    heapify(least)
    for _ in range(free):
        load, member = least[0]
        loads.add(member, topic)
        heapreplace(least, (load + 1, member))


def _partitions_of_members(
    members: list[MemberSpec], loads: Loads, topic_ids: list[Uuid], topics: TopicsSpec
) -> list[TopicPartitions]:
    holdings = Holdings({topic_id: topics.partition_counts[topic_id] for topic_id in topic_ids})
    holds: list[dict[Uuid, list[int]]] = []
    for member, held in zip(members, loads.held, strict=True):
        holds.append({})
        for topic, count in held.items():
            had = member.assigned.get(topic_ids[topic], ())
            holds[-1][topic_ids[topic]] = holdings.claim(topic_ids[topic], had, count)
    free = [holdings.free(topic_id) for topic_id in topic_ids]
    for index, held in enumerate(loads.held):
        for topic, count in held.items():
            partitions = holds[index][topic_ids[topic]]
            partitions.extend(islice(free[topic], count - len(partitions)))
    return [kept_or_new(member.assigned, each) for member, each in zip(members, holds, strict=True)]
