"""`uniform` for members that are all subscribed to the same topics.

Each of M members gets P // M partitions and P % M of them one more. A member keeps what it has up to that; whoever has
the one more already keeps it, as long as there are such places. So only what is too much for a member moves.
"""

from collections.abc import Iterator
from itertools import islice

from tidelog.coordinator.group.assignors.assignor import Assignment, GroupSpec, TopicsSpec
from tidelog.coordinator.group.assignors.holdings import Holdings, kept_or_new
from tidelog.model.ids import Uuid


def assign_equal(group: GroupSpec, topics: TopicsSpec) -> Assignment:
    counts = _counts(group, topics)
    holdings = Holdings(counts)
    quota, extras = divmod(sum(counts.values()), len(group.members))
    holds, missing = _keep(group, holdings, quota, extras)
    free = ((topic_id, partition) for topic_id in counts for partition in holdings.free(topic_id))
    _fill(holds, missing, free)
    return {
        member_id: kept_or_new(group.members[member_id].assigned, partitions) for member_id, partitions in holds.items()
    }


def _counts(group: GroupSpec, topics: TopicsSpec) -> dict[Uuid, int]:
    """Return the partition counts of the topics, in an order that does not depend on which member's subscription is
    looked at."""
    first = next(iter(group.members.values()))
    return {
        topic_id: topics.partition_counts[topic_id]
        for topic_id in sorted(first.subscribed_topic_ids)
        if topic_id in topics.partition_counts
    }


_Holds = dict[str, dict[Uuid, list[int]]]


def _keep(group: GroupSpec, holdings: Holdings, quota: int, extras: int) -> tuple[_Holds, dict[str, int]]:
    """Return the partitions that each member keeps, and how many it lacks. An extra place that no member fills with
    what it has goes to the last members."""
    holds: _Holds = {}
    missing: dict[str, int] = {}
    waiting = len(group.members)
    for member_id, member in group.members.items():
        limit = quota + 1 if extras else quota
        room = limit
        kept: dict[Uuid, list[int]] = {}
        for topic_id, partitions in member.assigned.items():
            claimed = holdings.claim(topic_id, partitions, room)
            if claimed:
                kept[topic_id] = claimed
                room -= len(claimed)
        if extras and room and waiting > extras:
            room -= 1  # a later member may already hold one more than the quota
        elif extras:
            extras -= 1
        waiting -= 1
        holds[member_id] = kept
        missing[member_id] = room
    return holds, missing


def _fill(holds: _Holds, missing: dict[str, int], free: Iterator[tuple[Uuid, int]]) -> None:
    for member_id, count in missing.items():
        for topic_id, partition in islice(free, count):
            holds[member_id].setdefault(topic_id, []).append(partition)
