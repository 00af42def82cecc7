"""Fetch: read record batches, for consumers, followers and the metadata quorum alike.

5 reports the log start offset, 7 brought fetch sessions, 9 fences by leader epoch, 11 reads from a nearby replica, 12
detects divergence by the last fetched epoch, 13 addresses topics by id, 15 moved the replica id into a tagged struct
beside its epoch, 16 names the new leader's endpoint, 17 the replica's directory, 18 its high watermark.
"""

from tidelog.model.ids import ZERO_UUID
from tidelog.protocol.schema import field, int8, int16, int32, int64, request, response, string, struct, uuid
from tidelog.protocol.schema import records as record_batches


@struct
class ReplicaState:
    replica_id: int32 = -1
    replica_epoch: int64 = -1


@struct
class FetchPartition:
    partition: int32
    current_leader_epoch: int32 = field("9+", default=-1, ignorable=True)
    fetch_offset: int64
    last_fetched_epoch: int32 = field("12+", default=-1)
    log_start_offset: int64 = field("5+", default=-1, ignorable=True)
    partition_max_bytes: int32
    replica_directory_id: uuid = field("17+", tag=0, default=ZERO_UUID, ignorable=True)
    # The default is a follower that does not say; -1 is one that does not know yet.
    high_watermark: int64 = field("18+", tag=1, default=9223372036854775807, ignorable=True)


@struct
class FetchTopic:
    topic: string = field("0-12", default="", ignorable=True)
    topic_id: uuid = field("13+", default=ZERO_UUID, ignorable=True)
    partitions: list[FetchPartition]


@struct
class ForgottenTopic:
    topic: string = field("7-12", default="", ignorable=True)
    topic_id: uuid = field("13+", default=ZERO_UUID, ignorable=True)
    partitions: list[int32]


@request(api_key=1, versions="4-18", flexible="12+")
class FetchRequest:
    cluster_id: string | None = field("12+", nullable="12+", tag=0, default=None, ignorable=True)
    replica_id: int32 = field("0-14", default=-1)
    replica_state: ReplicaState = field("15+", tag=1, default_factory=ReplicaState)
    max_wait_ms: int32
    min_bytes: int32
    max_bytes: int32 = 0x7FFFFFFF
    isolation_level: int8 = 0
    session_id: int32 = field("7+", default=0, ignorable=True)
    session_epoch: int32 = field("7+", default=-1, ignorable=True)
    topics: list[FetchTopic]
    forgotten_topics_data: list[ForgottenTopic] = field("7+", default_factory=list)
    rack_id: string = field("11+", default="", ignorable=True)


@struct
class EpochEndOffset:
    epoch: int32 = -1
    end_offset: int64 = -1


@struct
class LeaderIdAndEpoch:
    leader_id: int32 = -1
    leader_epoch: int32 = -1


@struct
class SnapshotId:
    end_offset: int64 = -1
    epoch: int32 = -1


@struct
class AbortedTransaction:
    producer_id: int64
    first_offset: int64


@struct
class PartitionData:
    partition_index: int32
    error_code: int16
    high_watermark: int64
    last_stable_offset: int64 = -1
    log_start_offset: int64 = field("5+", default=-1, ignorable=True)
    diverging_epoch: EpochEndOffset = field("12+", tag=0, default_factory=EpochEndOffset)
    current_leader: LeaderIdAndEpoch = field("12+", tag=1, default_factory=LeaderIdAndEpoch)
    snapshot_id: SnapshotId = field("12+", tag=2, default_factory=SnapshotId)
    aborted_transactions: list[AbortedTransaction] | None = field(nullable="0+")
    preferred_read_replica: int32 = field("11+", default=-1)
    records: record_batches | None = field(nullable="0+")


@struct
class FetchableTopicResponse:
    topic: string = field("0-12", default="", ignorable=True)
    topic_id: uuid = field("13+", default=ZERO_UUID, ignorable=True)
    partitions: list[PartitionData]


@struct
class NodeEndpoint:
    node_id: int32
    host: string
    port: int32
    rack: string | None = field(nullable="0+", default=None)


@response(api_key=1, versions="4-18", flexible="12+")
class FetchResponse:
    throttle_time_ms: int32
    error_code: int16 = field("7+", default=0, ignorable=True)
    session_id: int32 = field("7+", default=0)
    responses: list[FetchableTopicResponse]
    node_endpoints: list[NodeEndpoint] = field("16+", tag=0, default_factory=list)
