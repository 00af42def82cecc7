"""StreamsGroupHeartbeat: the one request by which a Kafka Streams member joins, stays, reports and leaves (KIP-1071).

A field that has not changed since the last heartbeat is null (or -1).
"""

from tidelog.protocol.schema import boolean, field, int8, int16, int32, int64, request, response, string, struct, uint16


@struct
class KeyValue:
    key: string
    value: string


@struct
class TopicInfo:
    name: string
    partitions: int32
    replication_factor: int16
    topic_configs: list[KeyValue]


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


@struct
class Topology:
    epoch: int32
    subtopologies: list[Subtopology]


@struct
class TaskIds:
    subtopology_id: string
    partitions: list[int32]


@struct
class Endpoint:
    host: string
    port: uint16


@struct
class TaskOffset:
    subtopology_id: string
    partition: int32
    offset: int64


@request(api_key=88, versions="0", flexible="0+")
class StreamsGroupHeartbeatRequest:
    group_id: string
    member_id: string
    member_epoch: int32
    endpoint_information_epoch: int32
    instance_id: string | None = field(nullable="0+", default=None)
    rack_id: string | None = field(nullable="0+", default=None)
    rebalance_timeout_ms: int32 = -1
    topology: Topology | None = field(nullable="0+", default=None)
    active_tasks: list[TaskIds] | None = field(nullable="0+", default=None)
    standby_tasks: list[TaskIds] | None = field(nullable="0+", default=None)
    warmup_tasks: list[TaskIds] | None = field(nullable="0+", default=None)
    process_id: string | None = field(nullable="0+", default=None)
    user_endpoint: Endpoint | None = field(nullable="0+", default=None)
    client_tags: list[KeyValue] | None = field(nullable="0+", default=None)
    task_offsets: list[TaskOffset] | None = field(nullable="0+", default=None)
    task_end_offsets: list[TaskOffset] | None = field(nullable="0+", default=None)
    shutdown_application: boolean = False


@struct
class Status:
    status_code: int8
    status_detail: string


@struct
class TopicPartition:
    topic: string
    partitions: list[int32]


@struct
class EndpointToPartitions:
    user_endpoint: Endpoint
    active_partitions: list[TopicPartition]
    standby_partitions: list[TopicPartition]


@response(api_key=88, versions="0", flexible="0+")
class StreamsGroupHeartbeatResponse:
    throttle_time_ms: int32
    error_code: int16
    error_message: string | None = field(nullable="0+", default=None)
    member_id: string
    member_epoch: int32
    heartbeat_interval_ms: int32
    acceptable_recovery_lag: int32
    task_offset_interval_ms: int32
    status: list[Status] | None = field(nullable="0+")
    active_tasks: list[TaskIds] | None = field(nullable="0+", default=None)
    standby_tasks: list[TaskIds] | None = field(nullable="0+", default=None)
    warmup_tasks: list[TaskIds] | None = field(nullable="0+", default=None)
    endpoint_information_epoch: int32
    partitions_by_user_endpoint: list[EndpointToPartitions] | None = field(nullable="0+", default=None)
