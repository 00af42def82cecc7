"""Which topics the members of a classic group read, and which partitions they were assigned: the two things that the
broker looks at in what consumers tell each other.

Only the fields of version 0 are read, with which every later version begins, so that the coordinator depends on no
version that a client may speak.
"""

from collections.abc import Iterable
from typing import Final

from tidelog.protocol.codec import decode
from tidelog.protocol.errors import MalformedMessage
from tidelog.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartition,
)

CONSUMER_PROTOCOL_TYPE: Final = "consumer"
VERSION_BYTES: Final = 2


def subscribed_topics(metadata: Iterable[bytes]) -> frozenset[str] | None:
    """Return the topics of all members together; None where a subscription cannot be read."""
    topics: set[str] = set()
    try:
        for subscription in metadata:
            topics.update(_topics(subscription))
    except MalformedMessage:
        return None
    return frozenset(topics)


def _topics(metadata: bytes) -> list[str]:
    if len(metadata) < VERSION_BYTES:
        raise MalformedMessage("a subscription begins with its version", 0)
    return decode(ConsumerProtocolSubscription, metadata, 0, VERSION_BYTES)[0].topics


def assigned_partitions(assignments: Iterable[bytes]) -> dict[str, set[int]] | None:
    """Return the partitions of each topic that some member was assigned; None where an assignment cannot be read. An
    empty assignment is one without partitions."""
    found: dict[str, set[int]] = {}
    try:
        for assignment in assignments:
            for each in _assigned(assignment):
                found.setdefault(each.topic, set()).update(each.partitions)
    except MalformedMessage:
        return None
    return found


def _assigned(assignment: bytes) -> list[TopicPartition]:
    if not assignment:
        return []
    if len(assignment) < VERSION_BYTES:
        raise MalformedMessage("an assignment begins with its version", 0)
    return decode(ConsumerProtocolAssignment, assignment, 0, VERSION_BYTES)[0].assigned_partitions
