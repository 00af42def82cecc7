"""AlterShareGroupOffsets: move the start offsets of an empty share group."""

from tidelog.protocol.schema import field, int16, int32, int64, request, response, string, struct, uuid


@struct
class AlterShareGroupOffsetsRequestPartition:
    partition_index: int32
    start_offset: int64


@struct
class AlterShareGroupOffsetsRequestTopic:
    topic_name: string
    partitions: list[AlterShareGroupOffsetsRequestPartition]


@request(api_key=91, versions="0", flexible="0+")
class AlterShareGroupOffsetsRequest:
    group_id: string
    topics: list[AlterShareGroupOffsetsRequestTopic]


@struct
class AlterShareGroupOffsetsResponsePartition:
    partition_index: int32
    error_code: int16
    error_message: string | None = field(nullable="0+", default=None)


@struct
class AlterShareGroupOffsetsResponseTopic:
    topic_name: string
    topic_id: uuid
    partitions: list[AlterShareGroupOffsetsResponsePartition]


@response(api_key=91, versions="0", flexible="0+")
class AlterShareGroupOffsetsResponse:
    throttle_time_ms: int32
    error_code: int16
    error_message: string | None = field(nullable="0+", default=None)
    responses: list[AlterShareGroupOffsetsResponseTopic]
