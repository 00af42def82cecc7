"""OffsetFetch: the stored positions of one or more groups.

Null topics (2+) mean all of them. 7 can insist on stable offsets, 8 asks for several groups at once and moves
everything into `groups`, 9 carries a KIP-848 member, 10 addresses topics by id.
"""

from tidelog.model.ids import ZERO_UUID
from tidelog.protocol.schema import boolean, field, int16, int32, int64, request, response, string, struct, uuid


@struct
class OffsetFetchRequestTopic:
    name: string
    partition_indexes: list[int32]


@struct
class OffsetFetchRequestTopics:
    name: string = field("8-9", default="", ignorable=True)
    topic_id: uuid = field("10+", default=ZERO_UUID, ignorable=True)
    partition_indexes: list[int32]


@struct
class OffsetFetchRequestGroup:
    group_id: string
    member_id: string | None = field("9+", nullable="9+", default=None, ignorable=True)
    member_epoch: int32 = field("9+", default=-1, ignorable=True)
    topics: list[OffsetFetchRequestTopics] | None = field(nullable="0+")


@request(api_key=9, versions="1-10", flexible="6+")
class OffsetFetchRequest:
    group_id: string = field("0-7", default="")
    topics: list[OffsetFetchRequestTopic] | None = field("0-7", nullable="2-7", default_factory=list)
    groups: list[OffsetFetchRequestGroup] = field("8+", default_factory=list)
    require_stable: boolean = field("7+", default=False)


@struct
class OffsetFetchResponsePartition:
    partition_index: int32
    committed_offset: int64
    committed_leader_epoch: int32 = field("5-7", default=-1, ignorable=True)
    metadata: string | None = field(nullable="0+")
    error_code: int16


@struct
class OffsetFetchResponseTopic:
    name: string
    partitions: list[OffsetFetchResponsePartition]


@struct
class OffsetFetchResponsePartitions:
    partition_index: int32
    committed_offset: int64
    committed_leader_epoch: int32 = -1
    metadata: string | None = field(nullable="0+")
    error_code: int16


@struct
class OffsetFetchResponseTopics:
    name: string = field("8-9", default="", ignorable=True)
    topic_id: uuid = field("10+", default=ZERO_UUID, ignorable=True)
    partitions: list[OffsetFetchResponsePartitions]


@struct
class OffsetFetchResponseGroup:
    group_id: string
    topics: list[OffsetFetchResponseTopics]
    error_code: int16 = 0


@response(api_key=9, versions="1-10", flexible="6+")
class OffsetFetchResponse:
    throttle_time_ms: int32 = field("3+", default=0, ignorable=True)
    topics: list[OffsetFetchResponseTopic] = field("0-7", default_factory=list)
    error_code: int16 = field("2-7", default=0, ignorable=True)
    groups: list[OffsetFetchResponseGroup] = field("8+", default_factory=list)
