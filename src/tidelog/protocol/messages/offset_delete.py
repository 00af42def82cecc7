"""OffsetDelete: forget the stored position of a group for some partitions. Never flexible."""

from tidelog.protocol.schema import int16, int32, request, response, string, struct


@struct
class OffsetDeleteRequestPartition:
    partition_index: int32


@struct
class OffsetDeleteRequestTopic:
    name: string
    partitions: list[OffsetDeleteRequestPartition]


@request(api_key=47, versions="0", flexible="none")
class OffsetDeleteRequest:
    group_id: string
    topics: list[OffsetDeleteRequestTopic]


@struct
class OffsetDeleteResponsePartition:
    partition_index: int32
    error_code: int16


@struct
class OffsetDeleteResponseTopic:
    name: string
    partitions: list[OffsetDeleteResponsePartition]


@response(api_key=47, versions="0", flexible="none")
class OffsetDeleteResponse:
    error_code: int16
    throttle_time_ms: int32
    topics: list[OffsetDeleteResponseTopic]
