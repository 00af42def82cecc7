"""ReadShareGroupState: a share partition's leader loads its state from the share coordinator."""

from tidelog.protocol.schema import field, int8, int16, int32, int64, request, response, string, struct, uuid


@struct
class PartitionData:
    partition: int32
    leader_epoch: int32


@struct
class ReadStateData:
    topic_id: uuid
    partitions: list[PartitionData]


@request(api_key=84, versions="0", flexible="0+")
class ReadShareGroupStateRequest:
    group_id: string
    topics: list[ReadStateData]


@struct
class StateBatch:
    first_offset: int64
    last_offset: int64
    delivery_state: int8
    delivery_count: int16


@struct
class PartitionResult:
    partition: int32
    error_code: int16
    error_message: string | None = field(nullable="0+", default=None)
    state_epoch: int32
    start_offset: int64
    state_batches: list[StateBatch]


@struct
class ReadStateResult:
    topic_id: uuid
    partitions: list[PartitionResult]


@response(api_key=84, versions="0", flexible="0+")
class ReadShareGroupStateResponse:
    results: list[ReadStateResult]
