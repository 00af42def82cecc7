"""Records of streams groups (KIP-1071): the group, its topology, its members and their tasks.

Each is a key and a value; a null value (a tombstone) removes what the key names.
"""

from tidelog.protocol.schema import field, int8, int16, int32, int64, record, string, struct, uint16


@record("coordinator-key", api_key=17, versions="0", flexible="none")
class StreamsGroupMetadataKey:
    """A streams group."""

    group_id: string


@struct
class LastAssignmentConfig:
    key: string
    value: string


@record("coordinator-value", api_key=17, versions="0", flexible="0+")
class StreamsGroupMetadataValue:
    """The group epoch, and what the last assignment was computed from."""

    epoch: int32
    metadata_hash: int64
    validated_topology_epoch: int32 = field(tag=0, default=-1)
    # Absent is an empty list, as Kafka's own default is; null is written out.
    last_assignment_configs: list[LastAssignmentConfig] | None = field(nullable="0+", tag=1, default_factory=list)


@record("coordinator-key", api_key=19, versions="0", flexible="none")
class StreamsGroupMemberMetadataKey:
    """A member of a streams group."""

    group_id: string
    member_id: string


@struct
class Endpoint:
    host: string
    port: uint16


@struct
class KeyValue:
    key: string
    value: string


@record("coordinator-value", api_key=19, versions="0", flexible="0+")
class StreamsGroupMemberMetadataValue:
    """The member as it described itself."""

    instance_id: string | None = field(nullable="0+")
    rack_id: string | None = field(nullable="0+")
    client_id: string
    client_host: string
    rebalance_timeout_ms: int32 = -1
    topology_epoch: int32
    process_id: string
    user_endpoint: Endpoint | None = field(nullable="0+", default=None)
    client_tags: list[KeyValue]


@record("coordinator-key", api_key=20, versions="0", flexible="none")
class StreamsGroupTargetAssignmentMetadataKey:
    """The target assignment of a streams group."""

    group_id: string


@record("coordinator-value", api_key=20, versions="0", flexible="0+")
class StreamsGroupTargetAssignmentMetadataValue:
    """The group epoch that the target assignment was computed for."""

    assignment_epoch: int32
    assignment_timestamp: int64 = field(tag=0, default=0)


@record("coordinator-key", api_key=21, versions="0", flexible="none")
class StreamsGroupTargetAssignmentMemberKey:
    """The target assignment of one member."""

    group_id: string
    member_id: string


@struct
class StreamsGroupTargetAssignmentMemberTaskIds:
    subtopology_id: string
    partitions: list[int32]


@record("coordinator-value", api_key=21, versions="0", flexible="0+")
class StreamsGroupTargetAssignmentMemberValue:
    """The tasks that the member is to have in the end."""

    active_tasks: list[StreamsGroupTargetAssignmentMemberTaskIds]
    standby_tasks: list[StreamsGroupTargetAssignmentMemberTaskIds]
    warmup_tasks: list[StreamsGroupTargetAssignmentMemberTaskIds]


@record("coordinator-key", api_key=22, versions="0", flexible="none")
class StreamsGroupCurrentMemberAssignmentKey:
    """The current assignment of one member."""

    group_id: string
    member_id: string


@struct
class StreamsGroupCurrentMemberAssignmentTaskIds:
    subtopology_id: string
    partitions: list[int32]
    # Absent is an empty list, as Kafka's own default is; null is written out.
    assignment_epochs: list[int32] | None = field(nullable="0+", tag=0, default_factory=list)


@record("coordinator-value", api_key=22, versions="0", flexible="0+")
class StreamsGroupCurrentMemberAssignmentValue:
    """The tasks that the member has, and those it has still to give back."""

    member_epoch: int32
    previous_member_epoch: int32
    state: int8
    active_tasks: list[StreamsGroupCurrentMemberAssignmentTaskIds]
    standby_tasks: list[StreamsGroupCurrentMemberAssignmentTaskIds]
    warmup_tasks: list[StreamsGroupCurrentMemberAssignmentTaskIds]
    active_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentTaskIds]
    standby_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentTaskIds]
    warmup_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentTaskIds]


@record("coordinator-key", api_key=23, versions="0", flexible="none")
class StreamsGroupTopologyKey:
    """The topology of a streams group."""

    group_id: string


@struct
class TopicConfig:
    key: string
    value: string


@struct
class TopicInfo:
    name: string
    partitions: int32
    replication_factor: int16
    topic_configs: list[TopicConfig]


@struct
class CopartitionGroup:
    source_topics: list[int16]
    source_topic_regex: list[int16]
    repartition_source_topics: list[int16]


@struct
class Subtopology:
    subtopology_id: string
    source_topics: list[string]
    source_topic_regex: list[string]
    state_changelog_topics: list[TopicInfo]
    repartition_sink_topics: list[string]
    repartition_source_topics: list[TopicInfo]
    copartition_groups: list[CopartitionGroup]


@record("coordinator-value", api_key=23, versions="0", flexible="0+")
class StreamsGroupTopologyValue:
    """The subtopologies, with the topics that they read and the internal ones that they need."""

    epoch: int32
    subtopologies: list[Subtopology]
