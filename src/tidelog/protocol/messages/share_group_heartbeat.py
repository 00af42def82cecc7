"""ShareGroupHeartbeat: the one request by which a member of a share group joins, stays and leaves.

A field that has not changed since the last heartbeat is null. Version 0 was early access and is gone.
"""

from tidelog.protocol.schema import field, int16, int32, request, response, string, struct, uuid


@request(api_key=76, versions="1", flexible="0+")
class ShareGroupHeartbeatRequest:
    group_id: string
    member_id: string
    member_epoch: int32
    rack_id: string | None = field(nullable="0+", default=None)
    subscribed_topic_names: list[string] | None = field(nullable="0+", default=None)


@struct
class TopicPartitions:
    topic_id: uuid
    partitions: list[int32]


@struct
class Assignment:
    topic_partitions: list[TopicPartitions]


@response(api_key=76, versions="1", flexible="0+")
class ShareGroupHeartbeatResponse:
    throttle_time_ms: int32
    error_code: int16
    error_message: string | None = field(nullable="0+", default=None)
    member_id: string | None = field(nullable="0+", default=None)
    member_epoch: int32
    heartbeat_interval_ms: int32
    assignment: Assignment | None = field(nullable="0+", default=None)
