"""ShareGroupDescribe: state, members and assignments of share groups. Version 0 was early access and is gone."""

from tidelog.protocol.schema import boolean, field, int16, int32, request, response, string, struct, uuid


@request(api_key=77, versions="1", flexible="0+")
class ShareGroupDescribeRequest:
    group_ids: list[string]
    include_authorized_operations: boolean


@struct
class TopicPartitions:
    topic_id: uuid
    topic_name: string
    partitions: list[int32]


@struct
class Assignment:
    topic_partitions: list[TopicPartitions]


@struct
class Member:
    member_id: string
    rack_id: string | None = field(nullable="0+", default=None)
    member_epoch: int32
    client_id: string
    client_host: string
    subscribed_topic_names: list[string]
    assignment: Assignment


@struct
class DescribedGroup:
    error_code: int16
    error_message: string | None = field(nullable="0+", default=None)
    group_id: string
    group_state: string
    group_epoch: int32
    assignment_epoch: int32
    assignor_name: string
    members: list[Member]
    authorized_operations: int32 = -2147483648


@response(api_key=77, versions="1", flexible="0+")
class ShareGroupDescribeResponse:
    throttle_time_ms: int32
    groups: list[DescribedGroup]
