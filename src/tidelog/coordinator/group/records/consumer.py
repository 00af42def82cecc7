"""Records of KIP-848 consumer groups: the group, its members, the target assignment and what each member has now.

Each is a key and a value; a null value (a tombstone) removes what the key names.
"""

from tidelog.protocol.schema import byte_string, field, int8, int32, int64, record, string, struct, uuid


@record("coordinator-key", api_key=3, versions="0", flexible="none")
class ConsumerGroupMetadataKey:
    """A consumer group."""

    group_id: string


@record("coordinator-value", api_key=3, versions="0", flexible="0+")
class ConsumerGroupMetadataValue:
    """The group epoch."""

    epoch: int32
    metadata_hash: int64 = field(tag=0, default=0)


@record("coordinator-key", api_key=4, versions="0", flexible="none")
class ConsumerGroupPartitionMetadataKey:
    """The topics of a consumer group as it last saw them. Only tombstones are written now."""

    group_id: string


@struct
class PartitionMetadata:
    partition: int32
    racks: list[string]


@struct
class TopicMetadata:
    topic_id: uuid
    topic_name: string
    num_partitions: int32
    partition_metadata: list[PartitionMetadata]


@record("coordinator-value", api_key=4, versions="0", flexible="0+")
class ConsumerGroupPartitionMetadataValue:
    """Superseded by the hash in ConsumerGroupMetadataValue, still found in old logs."""

    topics: list[TopicMetadata]


@record("coordinator-key", api_key=5, versions="0", flexible="none")
class ConsumerGroupMemberMetadataKey:
    """A member of a consumer group."""

    group_id: string
    member_id: string


@struct
class ClassicProtocol:
    name: string
    metadata: byte_string


@struct
class ClassicMemberMetadata:
    session_timeout_ms: int32 = 0
    supported_protocols: list[ClassicProtocol] = field(default_factory=list)


@record("coordinator-value", api_key=5, versions="0", flexible="0+")
class ConsumerGroupMemberMetadataValue:
    """The member as it described itself."""

    instance_id: string | None = field(nullable="0+")
    rack_id: string | None = field(nullable="0+")
    client_id: string
    client_host: string
    subscribed_topic_names: list[string]
    subscribed_topic_regex: string | None = field(nullable="0+")
    rebalance_timeout_ms: int32 = -1
    server_assignor: string | None = field(nullable="0+")
    # Absent is an empty struct, not null: a member of the consumer protocol is written with an explicit null.
    classic_member_metadata: ClassicMemberMetadata | None = field(
        nullable="0+", tag=0, default_factory=ClassicMemberMetadata
    )


@record("coordinator-key", api_key=6, versions="0", flexible="none")
class ConsumerGroupTargetAssignmentMetadataKey:
    """The target assignment of a consumer group."""

    group_id: string


@record("coordinator-value", api_key=6, versions="0", flexible="0+")
class ConsumerGroupTargetAssignmentMetadataValue:
    """The group epoch that the target assignment was computed for."""

    assignment_epoch: int32
    assignment_timestamp: int64 = field(tag=0, default=0)


@record("coordinator-key", api_key=7, versions="0", flexible="none")
class ConsumerGroupTargetAssignmentMemberKey:
    """The target assignment of one member."""

    group_id: string
    member_id: string


@struct
class TopicPartition:
    topic_id: uuid
    partitions: list[int32]


@record("coordinator-value", api_key=7, versions="0", flexible="0+")
class ConsumerGroupTargetAssignmentMemberValue:
    """The partitions that the member is to have in the end."""

    topic_partitions: list[TopicPartition]


@record("coordinator-key", api_key=8, versions="0", flexible="none")
class ConsumerGroupCurrentMemberAssignmentKey:
    """The current assignment of one member."""

    group_id: string
    member_id: string


@struct
class TopicPartitions:
    topic_id: uuid
    partitions: list[int32]
    # Absent is an empty list, as Kafka's own default is; null is written out.
    assignment_epochs: list[int32] | None = field(nullable="0+", tag=0, default_factory=list)


@record("coordinator-value", api_key=8, versions="0", flexible="0+")
class ConsumerGroupCurrentMemberAssignmentValue:
    """The partitions that the member has, and those that it has still to give back."""

    member_epoch: int32
    previous_member_epoch: int32
    state: int8
    assigned_partitions: list[TopicPartitions]
    partitions_pending_revocation: list[TopicPartitions]


@record("coordinator-key", api_key=16, versions="0", flexible="none")
class ConsumerGroupRegularExpressionKey:
    """A regular expression that members of a group subscribe to."""

    group_id: string
    regular_expression: string


@record("coordinator-value", api_key=16, versions="0", flexible="0+")
class ConsumerGroupRegularExpressionValue:
    """The topics that the expression matched, and when."""

    topics: list[string]
    version: int64
    timestamp: int64
