"""StreamsGroupDescribe: topology, members and tasks of streams groups (KIP-1071)."""

from tidelog.protocol.schema import boolean, field, int16, int32, int64, request, response, string, struct, uint16


@request(api_key=89, versions="0", flexible="0+")
class StreamsGroupDescribeRequest:
    group_ids: list[string]
    include_authorized_operations: boolean


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
class Subtopology:
    subtopology_id: string
    source_topics: list[string]
    repartition_sink_topics: list[string]
    state_changelog_topics: list[TopicInfo]
    repartition_source_topics: list[TopicInfo]


@struct
class Topology:
    epoch: int32
    subtopologies: list[Subtopology] | None = field(nullable="0+", default=None)


@struct
class Endpoint:
    host: string
    port: uint16


@struct
class TaskOffset:
    subtopology_id: string
    partition: int32
    offset: int64


@struct
class TaskIds:
    subtopology_id: string
    partitions: list[int32]


@struct
class Assignment:
    active_tasks: list[TaskIds]
    standby_tasks: list[TaskIds]
    warmup_tasks: list[TaskIds]


@struct
class Member:
    member_id: string
    member_epoch: int32
    instance_id: string | None = field(nullable="0+", default=None)
    rack_id: string | None = field(nullable="0+", default=None)
    client_id: string
    client_host: string
    topology_epoch: int32
    process_id: string
    user_endpoint: Endpoint | None = field(nullable="0+", default=None)
    client_tags: list[KeyValue]
    task_offsets: list[TaskOffset]
    task_end_offsets: list[TaskOffset]
    assignment: Assignment
    target_assignment: Assignment
    is_classic: boolean


@struct
class DescribedGroup:
    error_code: int16
    error_message: string | None = field(nullable="0+", default=None)
    group_id: string
    group_state: string
    group_epoch: int32
    assignment_epoch: int32
    topology: Topology | None = field(nullable="0+", default=None)
    members: list[Member]
    authorized_operations: int32 = -2147483648


@response(api_key=89, versions="0", flexible="0+")
class StreamsGroupDescribeResponse:
    throttle_time_ms: int32
    groups: list[DescribedGroup]
