"""InitializeShareGroupState: the group coordinator has the state of share partitions created."""

from tidelog.protocol.schema import field, int16, int32, int64, request, response, string, struct, uuid


@struct
class PartitionData:
    partition: int32
    state_epoch: int32
    start_offset: int64


@struct
class InitializeStateData:
    topic_id: uuid
    partitions: list[PartitionData]


@request(api_key=83, versions="0", flexible="0+")
class InitializeShareGroupStateRequest:
    group_id: string
    topics: list[InitializeStateData]


@struct
class PartitionResult:
    partition: int32
    error_code: int16
    error_message: string | None = field(nullable="0+", default=None)


@struct
class InitializeStateResult:
    topic_id: uuid
    partitions: list[PartitionResult]


@response(api_key=83, versions="0", flexible="0+")
class InitializeShareGroupStateResponse:
    results: list[InitializeStateResult]
