"""What classic consumers say inside of JoinGroup and SyncGroup: their subscription and their assignment.

A version comes first. A newer one than we know is read as the newest that we know: later versions only append.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from tidelog.metadata.image import MetadataImage
from tidelog.model.ids import Uuid
from tidelog.protocol.codec import decode, encode
from tidelog.protocol.errors import MalformedMessage
from tidelog.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartition,
)

PROTOCOL_TYPE: Final = "consumer"
_VERSION_BYTES: Final = 2
_VERSION_MAX: Final = 3


def read_subscription(metadata: bytes) -> ConsumerProtocolSubscription:
    """Decode a subscription. MalformedMessage where the bytes are none."""
    return decode(ConsumerProtocolSubscription, metadata, version_of(metadata), _VERSION_BYTES)[0]


def read_assignment(assignment: bytes) -> ConsumerProtocolAssignment:
    """Decode an assignment. MalformedMessage where the bytes are none."""
    return decode(ConsumerProtocolAssignment, assignment, version_of(assignment), _VERSION_BYTES)[0]


def version_of(metadata: bytes) -> int:
    version = int.from_bytes(metadata[:_VERSION_BYTES], "big", signed=True)
    if len(metadata) < _VERSION_BYTES or version < 0:
        raise MalformedMessage("the embedded protocol begins with its version", 0)
    return min(version, _VERSION_MAX)


def write_assignment(image: MetadataImage, assigned: Mapping[Uuid, Iterable[int]], metadata: bytes) -> bytes:
    """Encode a member's assignment in the version of its subscription. Topics that are gone are left out."""
    version = version_of(metadata)
    topics = [
        TopicPartition(topic=topic.name, partitions=sorted(partitions))
        for topic_id, partitions in assigned.items()
        if (topic := image.topics.by_id.get(topic_id)) is not None
    ]
    message = ConsumerProtocolAssignment(assigned_partitions=topics)
    return version.to_bytes(_VERSION_BYTES, "big") + encode(message, version)


def topic_ids(image: MetadataImage, topics: Iterable[TopicPartition]) -> dict[Uuid, list[int]]:
    """Return the partitions by topic id. Topics that are gone are left out."""
    found: dict[Uuid, list[int]] = {}
    for each in topics:
        topic = image.topics.by_name.get(each.topic)
        if topic is not None and each.partitions:
            found.setdefault(topic.id, []).extend(each.partitions)
    return found
