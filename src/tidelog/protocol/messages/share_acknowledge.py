"""ShareAcknowledge: accept, release or reject acquired records without fetching more.

2 can renew the lock. Version 0 was early access and is gone.
"""

from tidelog.protocol.schema import boolean, field, int8, int16, int32, int64, request, response, string, struct, uuid


@struct
class AcknowledgementBatch:
    first_offset: int64
    last_offset: int64
    acknowledge_types: list[int8]


@struct
class AcknowledgePartition:
    partition_index: int32
    acknowledgement_batches: list[AcknowledgementBatch]


@struct
class AcknowledgeTopic:
    topic_id: uuid
    partitions: list[AcknowledgePartition]


@request(api_key=79, versions="1-2", flexible="0+")
class ShareAcknowledgeRequest:
    group_id: string | None = field(nullable="0+", default=None)
    member_id: string | None = field(nullable="0+")
    share_session_epoch: int32
    is_renew_ack: boolean = field("2+", default=False)
    topics: list[AcknowledgeTopic]


@struct
class LeaderIdAndEpoch:
    leader_id: int32
    leader_epoch: int32


@struct
class PartitionData:
    partition_index: int32
    error_code: int16
    error_message: string | None = field(nullable="0+", default=None)
    current_leader: LeaderIdAndEpoch


@struct
class ShareAcknowledgeTopicResponse:
    topic_id: uuid
    partitions: list[PartitionData]


@struct
class NodeEndpoint:
    node_id: int32
    host: string
    port: int32
    rack: string | None = field(nullable="0+", default=None)


@response(api_key=79, versions="1-2", flexible="0+")
class ShareAcknowledgeResponse:
    throttle_time_ms: int32
    error_code: int16
    error_message: string | None = field(nullable="0+", default=None)
    acquisition_lock_timeout_ms: int32 = field("2+", default=0, ignorable=True)
    responses: list[ShareAcknowledgeTopicResponse]
    node_endpoints: list[NodeEndpoint]
