"""What an assignor is given and what it gives back.

An assignor is a function of these two arguments alone: the same arguments in the same order give the same assignment,
on every coordinator. It never changes what it is given.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from tidelog.model.ids import Uuid

# Partitions by topic; a topic without partitions is absent. An assignor returns them in ascending order, and takes them
# in any order.
TopicPartitions: TypeAlias = Mapping[Uuid, Sequence[int]]

# By member id, in the order of `GroupSpec.members`. A member whose assignment stays as it was gets the very object that
# it had (`MemberSpec.assigned`): whoever looks for changes compares identities.
Assignment: TypeAlias = dict[str, TopicPartitions]


@dataclass(slots=True)
class MemberSpec:
    subscribed_topic_ids: Sequence[Uuid]  # each once, by name or by regular expression; unknown ones do not count
    assigned: TopicPartitions = field(default_factory=dict)  # its last target; some of it may be gone since
    instance_id: str | None = None
    rack_id: str | None = None  # not looked at, as by Kafka 4.3's assignors


@dataclass(slots=True)
class GroupSpec:
    members: Mapping[str, MemberSpec]
    is_homogeneous: bool  # whether all members are subscribed to the same topics, in whatever order


@dataclass(slots=True)
class TopicsSpec:
    """The topics that there are, at least those of the group."""

    partition_counts: Mapping[Uuid, int]
