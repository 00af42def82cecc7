"""DescribeShareGroupOffsets: the start offsets of share groups. 1 returns the lag."""

from tidelog.protocol.schema import field, int16, int32, int64, request, response, string, struct, uuid


@struct
class DescribeShareGroupOffsetsRequestTopic:
    topic_name: string
    partitions: list[int32]


@struct
class DescribeShareGroupOffsetsRequestGroup:
    group_id: string
    topics: list[DescribeShareGroupOffsetsRequestTopic] | None = field(nullable="0+")


@request(api_key=90, versions="0-1", flexible="0+")
class DescribeShareGroupOffsetsRequest:
    groups: list[DescribeShareGroupOffsetsRequestGroup]


@struct
class DescribeShareGroupOffsetsResponsePartition:
    partition_index: int32
    start_offset: int64
    leader_epoch: int32
    lag: int64 = field("1+", default=-1, ignorable=True)
    error_code: int16
    error_message: string | None = field(nullable="0+", default=None)


@struct
class DescribeShareGroupOffsetsResponseTopic:
    topic_name: string
    topic_id: uuid
    partitions: list[DescribeShareGroupOffsetsResponsePartition]


@struct
class DescribeShareGroupOffsetsResponseGroup:
    group_id: string
    topics: list[DescribeShareGroupOffsetsResponseTopic]
    error_code: int16
    error_message: string | None = field(nullable="0+", default=None)


@response(api_key=90, versions="0-1", flexible="0+")
class DescribeShareGroupOffsetsResponse:
    throttle_time_ms: int32
    groups: list[DescribeShareGroupOffsetsResponseGroup]
