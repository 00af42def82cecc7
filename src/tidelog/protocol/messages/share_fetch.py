"""ShareFetch: acquire records for a member of a share group, acknowledging earlier ones on the way.

2 brings the acquire mode and acknowledgements that renew the lock. Version 0 was early access and is gone.
"""

from tidelog.protocol.schema import boolean, field, int8, int16, int32, int64, request, response, string, struct, uuid
from tidelog.protocol.schema import records as record_batches


@struct
class AcknowledgementBatch:
    first_offset: int64
    last_offset: int64
    acknowledge_types: list[int8]


@struct
class FetchPartition:
    partition_index: int32
    acknowledgement_batches: list[AcknowledgementBatch]


@struct
class FetchTopic:
    topic_id: uuid
    partitions: list[FetchPartition]


@struct
class ForgottenTopic:
    topic_id: uuid
    partitions: list[int32]


@request(api_key=78, versions="1-2", flexible="0+")
class ShareFetchRequest:
    group_id: string | None = field(nullable="0+", default=None)
    member_id: string | None = field(nullable="0+")
    share_session_epoch: int32
    max_wait_ms: int32
    min_bytes: int32
    max_bytes: int32 = 0x7FFFFFFF
    max_records: int32
    batch_size: int32
    share_acquire_mode: int8 = field("2+", default=0, ignorable=True)
    is_renew_ack: boolean = field("2+", default=False)
    topics: list[FetchTopic]
    forgotten_topics_data: list[ForgottenTopic]


@struct
class LeaderIdAndEpoch:
    leader_id: int32
    leader_epoch: int32


@struct
class AcquiredRecords:
    first_offset: int64
    last_offset: int64
    delivery_count: int16


@struct
class PartitionData:
    partition_index: int32
    error_code: int16
    error_message: string | None = field(nullable="0+", default=None)
    acknowledge_error_code: int16
    acknowledge_error_message: string | None = field(nullable="0+", default=None)
    current_leader: LeaderIdAndEpoch
    records: record_batches
    acquired_records: list[AcquiredRecords]


@struct
class ShareFetchableTopicResponse:
    topic_id: uuid
    partitions: list[PartitionData]


@struct
class NodeEndpoint:
    node_id: int32
    host: string
    port: int32
    rack: string | None = field(nullable="0+", default=None)


@response(api_key=78, versions="1-2", flexible="0+")
class ShareFetchResponse:
    throttle_time_ms: int32
    error_code: int16
    error_message: string | None = field(nullable="0+", default=None)
    acquisition_lock_timeout_ms: int32
    responses: list[ShareFetchableTopicResponse]
    node_endpoints: list[NodeEndpoint]
