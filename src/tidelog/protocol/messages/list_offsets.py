"""ListOffsets: the offset that belongs to a timestamp, or to the start or end of a partition.

Each of the later versions admits one more special timestamp: 7 the maximal one (-3), 8 the local log start (-4), 9 the
last tiered offset (-5), 11 the earliest offset not yet uploaded (-6). 10 gives remote lookups a timeout.
"""

from tidelog.protocol.schema import field, int8, int16, int32, int64, request, response, string, struct


@struct
class ListOffsetsPartition:
    partition_index: int32
    current_leader_epoch: int32 = field("4+", default=-1, ignorable=True)
    timestamp: int64


@struct
class ListOffsetsTopic:
    name: string
    partitions: list[ListOffsetsPartition]


@request(api_key=2, versions="1-11", flexible="6+")
class ListOffsetsRequest:
    replica_id: int32
    isolation_level: int8 = field("2+", default=0)
    topics: list[ListOffsetsTopic]
    timeout_ms: int32 = field("10+", default=0, ignorable=True)


@struct
class ListOffsetsPartitionResponse:
    partition_index: int32
    error_code: int16
    timestamp: int64 = -1
    offset: int64 = -1
    leader_epoch: int32 = field("4+", default=-1)


@struct
class ListOffsetsTopicResponse:
    name: string
    partitions: list[ListOffsetsPartitionResponse]


@response(api_key=2, versions="1-11", flexible="6+")
class ListOffsetsResponse:
    throttle_time_ms: int32 = field("2+", default=0, ignorable=True)
    topics: list[ListOffsetsTopicResponse]
