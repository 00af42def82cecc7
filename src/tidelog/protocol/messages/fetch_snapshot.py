"""FetchSnapshot: read a piece of a snapshot of the metadata log. 1 names the replica's directory."""

from tidelog.model.ids import ZERO_UUID
from tidelog.protocol.schema import field, int16, int32, int64, records, request, response, string, struct, uint16, uuid


@struct
class SnapshotId:
    end_offset: int64
    epoch: int32


@struct
class FetchSnapshotRequestPartitionSnapshot:
    partition: int32
    current_leader_epoch: int32
    snapshot_id: SnapshotId
    position: int64
    replica_directory_id: uuid = field("1+", tag=0, default=ZERO_UUID, ignorable=True)


@struct
class FetchSnapshotRequestTopicSnapshot:
    name: string
    partitions: list[FetchSnapshotRequestPartitionSnapshot]


@request(api_key=59, versions="0-1", flexible="0+")
class FetchSnapshotRequest:
    cluster_id: string | None = field(nullable="0+", tag=0, default=None)
    replica_id: int32 = -1
    max_bytes: int32 = 0x7FFFFFFF
    topics: list[FetchSnapshotRequestTopicSnapshot]


@struct
class LeaderIdAndEpoch:
    leader_id: int32 = 0
    leader_epoch: int32 = 0


@struct
class FetchSnapshotResponsePartitionSnapshot:
    index: int32
    error_code: int16
    snapshot_id: SnapshotId
    current_leader: LeaderIdAndEpoch = field(tag=0, default_factory=LeaderIdAndEpoch)
    size: int64
    position: int64
    unaligned_records: records


@struct
class FetchSnapshotResponseTopicSnapshot:
    name: string
    partitions: list[FetchSnapshotResponsePartitionSnapshot]


@struct
class NodeEndpoint:
    node_id: int32
    host: string
    port: uint16


@response(api_key=59, versions="0-1", flexible="0+")
class FetchSnapshotResponse:
    throttle_time_ms: int32
    error_code: int16
    topics: list[FetchSnapshotResponseTopicSnapshot]
    node_endpoints: list[NodeEndpoint] = field("1+", tag=0, default_factory=list)
