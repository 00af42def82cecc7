"""TxnOffsetCommit: store a group's position as part of a transaction.

3 carries the member, so that a zombie is fenced; 5 enters the transaction implicitly (KIP-890).
"""

from tidelog.protocol.schema import field, int16, int32, int64, request, response, string, struct


@struct
class TxnOffsetCommitRequestPartition:
    partition_index: int32
    committed_offset: int64
    committed_leader_epoch: int32 = field("2+", default=-1, ignorable=True)
    committed_metadata: string | None = field(nullable="0+")


@struct
class TxnOffsetCommitRequestTopic:
    name: string
    partitions: list[TxnOffsetCommitRequestPartition]


@request(api_key=28, versions="0-5", flexible="3+")
class TxnOffsetCommitRequest:
    transactional_id: string
    group_id: string
    producer_id: int64
    producer_epoch: int16
    generation_id: int32 = field("3+", default=-1)
    member_id: string = field("3+", default="")
    group_instance_id: string | None = field("3+", nullable="3+", default=None)
    topics: list[TxnOffsetCommitRequestTopic]


@struct
class TxnOffsetCommitResponsePartition:
    partition_index: int32
    error_code: int16


@struct
class TxnOffsetCommitResponseTopic:
    name: string
    partitions: list[TxnOffsetCommitResponsePartition]


@response(api_key=28, versions="0-5", flexible="3+")
class TxnOffsetCommitResponse:
    throttle_time_ms: int32
    topics: list[TxnOffsetCommitResponseTopic]
