"""ReadShareGroupStateSummary: only the start offset and epochs of share partitions, for who wants to know the lag.

1 counts completed deliveries.
"""

from tidelog.protocol.schema import field, int16, int32, int64, request, response, string, struct, uuid


@struct
class PartitionData:
    partition: int32
    leader_epoch: int32


@struct
class ReadStateSummaryData:
    topic_id: uuid
    partitions: list[PartitionData]


@request(api_key=87, versions="0-1", flexible="0+")
class ReadShareGroupStateSummaryRequest:
    group_id: string
    topics: list[ReadStateSummaryData]


@struct
class PartitionResult:
    partition: int32
    error_code: int16
    error_message: string | None = field(nullable="0+", default=None)
    state_epoch: int32
    leader_epoch: int32
    start_offset: int64
    delivery_complete_count: int32 = field("1+", default=-1, ignorable=True)


@struct
class ReadStateSummaryResult:
    topic_id: uuid
    partitions: list[PartitionResult]


@response(api_key=87, versions="0-1", flexible="0+")
class ReadShareGroupStateSummaryResponse:
    results: list[ReadStateSummaryResult]
