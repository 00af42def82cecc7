"""OffsetForLeaderEpoch: where a leader epoch ends, so that a follower or consumer can find its divergence.

3 carries the replica id; without it the asker counts as a debugger that may see past the high watermark.
"""

from tidelog.protocol.schema import field, int16, int32, int64, request, response, string, struct


@struct
class OffsetForLeaderPartition:
    partition: int32
    current_leader_epoch: int32 = -1
    leader_epoch: int32


@struct
class OffsetForLeaderTopic:
    topic: string
    partitions: list[OffsetForLeaderPartition]


@request(api_key=23, versions="2-4", flexible="4+")
class OffsetForLeaderEpochRequest:
    replica_id: int32 = field("3+", default=-2, ignorable=True)
    topics: list[OffsetForLeaderTopic]


@struct
class EpochEndOffset:
    error_code: int16
    partition: int32
    leader_epoch: int32 = -1
    end_offset: int64 = -1


@struct
class OffsetForLeaderTopicResult:
    topic: string
    partitions: list[EpochEndOffset]


@response(api_key=23, versions="2-4", flexible="4+")
class OffsetForLeaderEpochResponse:
    throttle_time_ms: int32
    topics: list[OffsetForLeaderTopicResult]
