"""ConsumerGroupHeartbeat: the one request by which a KIP-848 member joins, stays, reports and leaves.

A field that has not changed since the last heartbeat is null (or -1). 1 subscribes by regular expression, and the
member makes up its own id.
"""

from tidelog.protocol.schema import field, int16, int32, request, response, string, struct, uuid


@struct
class TopicPartitions:
    topic_id: uuid
    partitions: list[int32]


@request(api_key=68, versions="0-1", flexible="0+")
class ConsumerGroupHeartbeatRequest:
    group_id: string
    member_id: string
    member_epoch: int32
    instance_id: string | None = field(nullable="0+", default=None)
    rack_id: string | None = field(nullable="0+", default=None)
    rebalance_timeout_ms: int32 = -1
    subscribed_topic_names: list[string] | None = field(nullable="0+", default=None)
    subscribed_topic_regex: string | None = field("1+", nullable="1+", default=None)
    server_assignor: string | None = field(nullable="0+", default=None)
    topic_partitions: list[TopicPartitions] | None = field(nullable="0+", default=None)


@struct
class Assignment:
    topic_partitions: list[TopicPartitions]


@response(api_key=68, versions="0-1", flexible="0+")
class ConsumerGroupHeartbeatResponse:
    throttle_time_ms: int32
    error_code: int16
    error_message: string | None = field(nullable="0+", default=None)
    member_id: string | None = field(nullable="0+", default=None)
    member_epoch: int32
    heartbeat_interval_ms: int32
    assignment: Assignment | None = field(nullable="0+", default=None)
