"""What the members of a classic consumer group tell each other inside JoinGroup and SyncGroup.

The broker passes it on unread; only tools and our own client look in. On the wire a version (int16) comes first, and a
reader takes a newer version for the newest that it knows: trailing bytes are not an error here.
"""

from tidelog.protocol.schema import byte_string, field, int32, record, string, struct


@struct
class TopicPartition:
    topic: string
    partitions: list[int32]


@record("data", versions="0-3", flexible="none")
class ConsumerProtocolSubscription:
    """The topics that a member subscribes to. Version 1 adds the partitions it owns, 2 the generation of those, 3 its
    rack."""

    topics: list[string]
    user_data: byte_string | None = field(nullable="0+", default=None)
    owned_partitions: list[TopicPartition] = field("1+", default_factory=list, ignorable=True)
    generation_id: int32 = field("2+", default=-1, ignorable=True)
    rack_id: string | None = field("3+", nullable="3+", default=None, ignorable=True)


@record("data", versions="0-3", flexible="none")
class ConsumerProtocolAssignment:
    """The partitions that the leader assigned to a member. The versions differ in nothing."""

    assigned_partitions: list[TopicPartition]
    user_data: byte_string | None = field(nullable="0+", default=None)
