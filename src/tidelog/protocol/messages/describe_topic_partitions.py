"""DescribeTopicPartitions: topics and partitions page by page, with eligible leader replicas (KIP-966)."""

from tidelog.protocol.schema import boolean, field, int16, int32, request, response, string, struct, uuid


@struct
class TopicRequest:
    name: string


@struct
class Cursor:
    topic_name: string
    partition_index: int32


@request(api_key=75, versions="0", flexible="0+")
class DescribeTopicPartitionsRequest:
    topics: list[TopicRequest]
    response_partition_limit: int32 = 2000
    cursor: Cursor | None = field(nullable="0+", default=None)


@struct
class DescribeTopicPartitionsResponsePartition:
    error_code: int16
    partition_index: int32
    leader_id: int32
    leader_epoch: int32 = -1
    replica_nodes: list[int32]
    isr_nodes: list[int32]
    eligible_leader_replicas: list[int32] | None = field(nullable="0+", default=None)
    last_known_elr: list[int32] | None = field(nullable="0+", default=None)
    offline_replicas: list[int32]


@struct
class DescribeTopicPartitionsResponseTopic:
    error_code: int16
    name: string | None = field(nullable="0+")
    topic_id: uuid
    is_internal: boolean = False
    partitions: list[DescribeTopicPartitionsResponsePartition]
    topic_authorized_operations: int32 = -2147483648


@response(api_key=75, versions="0", flexible="0+")
class DescribeTopicPartitionsResponse:
    throttle_time_ms: int32
    topics: list[DescribeTopicPartitionsResponseTopic]
    next_cursor: Cursor | None = field(nullable="0+", default=None)
