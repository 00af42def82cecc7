"""DeleteShareGroupState: the group coordinator has the state of share partitions removed."""

from tidelog.protocol.schema import field, int16, int32, request, response, string, struct, uuid


@struct
class PartitionData:
    partition: int32


@struct
class DeleteStateData:
    topic_id: uuid
    partitions: list[PartitionData]


@request(api_key=86, versions="0", flexible="0+")
class DeleteShareGroupStateRequest:
    group_id: string
    topics: list[DeleteStateData]


@struct
class PartitionResult:
    partition: int32
    error_code: int16
    error_message: string | None = field(nullable="0+", default=None)


@struct
class DeleteStateResult:
    topic_id: uuid
    partitions: list[PartitionResult]


@response(api_key=86, versions="0", flexible="0+")
class DeleteShareGroupStateResponse:
    results: list[DeleteStateResult]
