"""Which partitions a command is about: `--topic orders`, `--topic orders:0,2`, or all that a group has offsets of."""

import argparse
from collections.abc import Sequence
from typing import Final, NamedTuple

from tidelog.cli.failing import WrongUsage
from tidelog.cli.topics.offsets import chosen_partitions
from tidelog.client.admin.admin_client import Admin
from tidelog.model.ids import TopicPartition

SCOPE: Final = "TOPIC[:0,1]"


class TopicScope(NamedTuple):
    topic: str
    partitions: tuple[int, ...] | None  # None: all


def topic_scope(text: str) -> TopicScope:
    """Parse a topic, or a topic and some of its partitions, as an argument's type. A topic's name has no colon in
    it."""
    topic, colon, listed = text.partition(":")
    try:
        indexes = tuple(int(each) for each in listed.split(",")) if colon else None
    except ValueError:
        indexes = ()
    if not topic or indexes == ():
        raise argparse.ArgumentTypeError(f"{text!r} is not a topic, or a topic and partitions like orders:0,2")
    return TopicScope(topic, indexes)


def one_partition(text: str) -> TopicPartition:
    """Parse a single partition, as an argument's type."""
    topic, indexes = topic_scope(text)
    if indexes is None or len(indexes) != 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not one partition, like orders:0")
    return TopicPartition(topic, indexes[0])


def partitions_of(admin: Admin, scopes: Sequence[TopicScope]) -> list[TopicPartition]:
    return list(dict.fromkeys(each for scope in scopes for each in chosen_partitions(admin, *scope)))


def committed_in(admin: Admin, group_id: str, scopes: Sequence[TopicScope], *, is_all: bool) -> list[TopicPartition]:
    """Return the partitions in scope that the group has committed to; those of deleted topics too."""
    if is_all == bool(scopes):
        raise WrongUsage(f"say which: --topic {SCOPE}, or --all-topics")
    committed = sorted(admin.list_group_offsets(group_id))
    if is_all:
        return committed
    return [each for each in committed if any(_covers(scope, each) for scope in scopes)]


def _covers(scope: TopicScope, topic_partition: TopicPartition) -> bool:
    return scope.topic == topic_partition.topic and (
        scope.partitions is None or topic_partition.partition in scope.partitions
    )
