"""OffsetCommit: store the position of a group in `__consumer_offsets`.

5 dropped the retention time, 6 stores the leader epoch, 7 knows static members, 9 serves KIP-848 groups (the
generation is then the member epoch), 10 addresses topics by id.
"""

from tidelog.model.ids import ZERO_UUID
from tidelog.protocol.schema import field, int16, int32, int64, request, response, string, struct, uuid


@struct
class OffsetCommitRequestPartition:
    partition_index: int32
    committed_offset: int64
    committed_leader_epoch: int32 = field("6+", default=-1, ignorable=True)
    committed_metadata: string | None = field(nullable="0+")


@struct
class OffsetCommitRequestTopic:
    name: string = field("0-9", default="", ignorable=True)
    topic_id: uuid = field("10+", default=ZERO_UUID, ignorable=True)
    partitions: list[OffsetCommitRequestPartition]


@request(api_key=8, versions="2-10", flexible="8+")
class OffsetCommitRequest:
    group_id: string
    generation_id_or_member_epoch: int32 = -1
    member_id: string
    group_instance_id: string | None = field("7+", nullable="7+", default=None)
    retention_time_ms: int64 = field("2-4", default=-1, ignorable=True)
    topics: list[OffsetCommitRequestTopic]


@struct
class OffsetCommitResponsePartition:
    partition_index: int32
    error_code: int16


@struct
class OffsetCommitResponseTopic:
    name: string = field("0-9", default="", ignorable=True)
    topic_id: uuid = field("10+", default=ZERO_UUID, ignorable=True)
    partitions: list[OffsetCommitResponsePartition]


@response(api_key=8, versions="2-10", flexible="8+")
class OffsetCommitResponse:
    throttle_time_ms: int32 = field("3+", default=0, ignorable=True)
    topics: list[OffsetCommitResponseTopic]
