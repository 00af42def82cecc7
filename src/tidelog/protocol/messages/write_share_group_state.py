"""WriteShareGroupState: a share partition's leader stores what changed. 1 counts completed deliveries."""

from tidelog.protocol.schema import field, int8, int16, int32, int64, request, response, string, struct, uuid


@struct
class StateBatch:
    first_offset: int64
    last_offset: int64
    delivery_state: int8
    delivery_count: int16


@struct
class PartitionData:
    partition: int32
    state_epoch: int32
    leader_epoch: int32
    start_offset: int64
    delivery_complete_count: int32 = field("1+", default=-1, ignorable=True)
    state_batches: list[StateBatch]


@struct
class WriteStateData:
    topic_id: uuid
    partitions: list[PartitionData]


@request(api_key=85, versions="0-1", flexible="0+")
class WriteShareGroupStateRequest:
    group_id: string
    topics: list[WriteStateData]


@struct
class PartitionResult:
    partition: int32
    error_code: int16
    error_message: string | None = field(nullable="0+", default=None)


@struct
class WriteStateResult:
    topic_id: uuid
    partitions: list[PartitionResult]


@response(api_key=85, versions="0-1", flexible="0+")
class WriteShareGroupStateResponse:
    results: list[WriteStateResult]
