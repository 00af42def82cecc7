"""Records of share groups as the group coordinator keeps them (their delivery state lies in `__share_group_state`).

Each is a key and a value; a null value (a tombstone) removes what the key names.
"""

from tidelog.protocol.schema import field, int8, int32, int64, record, string, struct, uuid


@record("coordinator-key", api_key=11, versions="0", flexible="none")
class ShareGroupMetadataKey:
    """A share group."""

    group_id: string


@record("coordinator-value", api_key=11, versions="0", flexible="0+")
class ShareGroupMetadataValue:
    """The group epoch."""

    epoch: int32
    metadata_hash: int64


@record("coordinator-key", api_key=10, versions="0", flexible="none")
class ShareGroupMemberMetadataKey:
    """A member of a share group."""

    group_id: string
    member_id: string


@record("coordinator-value", api_key=10, versions="0", flexible="0+")
class ShareGroupMemberMetadataValue:
    """The member as it described itself."""

    rack_id: string | None = field(nullable="0+")
    client_id: string
    client_host: string
    subscribed_topic_names: list[string]


@record("coordinator-key", api_key=12, versions="0", flexible="none")
class ShareGroupTargetAssignmentMetadataKey:
    """The target assignment of a share group."""

    group_id: string


@record("coordinator-value", api_key=12, versions="0", flexible="0+")
class ShareGroupTargetAssignmentMetadataValue:
    """The group epoch that the target assignment was computed for."""

    assignment_epoch: int32
    assignment_timestamp: int64 = field(tag=0, default=0)


@record("coordinator-key", api_key=13, versions="0", flexible="none")
class ShareGroupTargetAssignmentMemberKey:
    """The target assignment of one member."""

    group_id: string
    member_id: string


@struct
class TopicPartition:
    topic_id: uuid
    partitions: list[int32]


@record("coordinator-value", api_key=13, versions="0", flexible="0+")
class ShareGroupTargetAssignmentMemberValue:
    """The partitions that the member is to have in the end."""

    topic_partitions: list[TopicPartition]


@record("coordinator-key", api_key=14, versions="0", flexible="none")
class ShareGroupCurrentMemberAssignmentKey:
    """The current assignment of one member."""

    group_id: string
    member_id: string


@struct
class TopicPartitions:
    topic_id: uuid
    partitions: list[int32]


@record("coordinator-value", api_key=14, versions="0", flexible="0+")
class ShareGroupCurrentMemberAssignmentValue:
    """The partitions that the member has."""

    member_epoch: int32
    previous_member_epoch: int32
    state: int8
    assigned_partitions: list[TopicPartitions]


@record("coordinator-key", api_key=15, versions="0", flexible="none")
class ShareGroupStatePartitionMetadataKey:
    """The progress of creating or removing a group's state at the share coordinator."""

    group_id: string


@struct
class TopicPartitionsInfo:
    topic_id: uuid
    topic_name: string
    partitions: list[int32]


@struct
class TopicInfo:
    topic_id: uuid
    topic_name: string


@record("coordinator-value", api_key=15, versions="0", flexible="0+")
class ShareGroupStatePartitionMetadataValue:
    """The topics whose state is being created, is there, or is being deleted."""

    initializing_topics: list[TopicPartitionsInfo]
    initialized_topics: list[TopicPartitionsInfo]
    deleting_topics: list[TopicInfo]
