"""Produce: append record batches to partitions.

3 carries the transactional id and record format v2, 7 allows zstd, 8 names the offending records of a refused batch,
10 tells a misdirected producer who leads now, 12 lets a producer enter its transaction implicitly (KIP-890), and 13
addresses topics by id. Versions 0-2 are gone but have to be advertised, see the server's ApiVersions.
"""

from tidelog.model.ids import ZERO_UUID
from tidelog.protocol.schema import field, int16, int32, int64, request, response, string, struct, uuid
from tidelog.protocol.schema import records as record_batches


@struct
class PartitionProduceData:
    index: int32
    records: record_batches | None = field(nullable="0+")


@struct
class TopicProduceData:
    name: string = field("0-12", default="", ignorable=True)
    topic_id: uuid = field("13+", default=ZERO_UUID, ignorable=True)
    partition_data: list[PartitionProduceData]


@request(api_key=0, versions="3-13", flexible="9+")
class ProduceRequest:
    transactional_id: string | None = field(nullable="0+", default=None)
    acks: int16
    timeout_ms: int32
    topic_data: list[TopicProduceData]


@struct
class BatchIndexAndErrorMessage:
    batch_index: int32
    batch_index_error_message: string | None = field(nullable="0+", default=None)


@struct
class LeaderIdAndEpoch:
    leader_id: int32 = -1
    leader_epoch: int32 = -1


@struct
class PartitionProduceResponse:
    index: int32
    error_code: int16
    base_offset: int64
    log_append_time_ms: int64 = -1
    log_start_offset: int64 = field("5+", default=-1, ignorable=True)
    record_errors: list[BatchIndexAndErrorMessage] = field("8+", default_factory=list, ignorable=True)
    error_message: string | None = field("8+", nullable="8+", default=None, ignorable=True)
    current_leader: LeaderIdAndEpoch = field("10+", tag=0, default_factory=LeaderIdAndEpoch)


@struct
class TopicProduceResponse:
    name: string = field("0-12", default="", ignorable=True)
    topic_id: uuid = field("13+", default=ZERO_UUID, ignorable=True)
    partition_responses: list[PartitionProduceResponse]


@struct
class NodeEndpoint:
    node_id: int32
    host: string
    port: int32
    rack: string | None = field(nullable="0+", default=None)


@response(api_key=0, versions="3-13", flexible="9+")
class ProduceResponse:
    responses: list[TopicProduceResponse]
    throttle_time_ms: int32 = 0
    node_endpoints: list[NodeEndpoint] = field("10+", tag=0, default_factory=list)
