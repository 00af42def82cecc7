"""EndQuorumEpoch: a resigning leader of the metadata quorum says who should succeed it.

1 ranks candidates with their directories and carries the leader's endpoints.
"""

from tidelog.protocol.schema import field, int16, int32, request, response, string, struct, uint16, uuid


@struct
class ReplicaInfo:
    candidate_id: int32
    candidate_directory_id: uuid


@struct
class EndQuorumEpochRequestPartitionData:
    partition_index: int32
    leader_id: int32
    leader_epoch: int32
    preferred_successors: list[int32] = field("0", default_factory=list, ignorable=True)
    preferred_candidates: list[ReplicaInfo] = field("1+", default_factory=list, ignorable=True)


@struct
class EndQuorumEpochRequestTopicData:
    topic_name: string
    partitions: list[EndQuorumEpochRequestPartitionData]


@struct
class LeaderEndpoint:
    name: string
    host: string
    port: uint16


@request(api_key=54, versions="0-1", flexible="1+")
class EndQuorumEpochRequest:
    cluster_id: string | None = field(nullable="0+", default=None)
    topics: list[EndQuorumEpochRequestTopicData]
    leader_endpoints: list[LeaderEndpoint] = field("1+", default_factory=list, ignorable=True)


@struct
class EndQuorumEpochResponsePartitionData:
    partition_index: int32
    error_code: int16
    leader_id: int32
    leader_epoch: int32


@struct
class EndQuorumEpochResponseTopicData:
    topic_name: string
    partitions: list[EndQuorumEpochResponsePartitionData]


@struct
class NodeEndpoint:
    node_id: int32
    host: string
    port: uint16


@response(api_key=54, versions="0-1", flexible="1+")
class EndQuorumEpochResponse:
    error_code: int16
    topics: list[EndQuorumEpochResponseTopicData]
    node_endpoints: list[NodeEndpoint] = field("1+", tag=0, default_factory=list)
