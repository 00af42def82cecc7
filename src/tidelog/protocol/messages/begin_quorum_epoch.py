"""BeginQuorumEpoch: a new leader of the metadata quorum announces itself to the voters.

1 addresses a voter with its directory and carries the leader's endpoints.
"""

from tidelog.model.ids import ZERO_UUID
from tidelog.protocol.schema import field, int16, int32, request, response, string, struct, uint16, uuid


@struct
class BeginQuorumEpochRequestPartitionData:
    partition_index: int32
    voter_directory_id: uuid = field("1+", default=ZERO_UUID, ignorable=True)
    leader_id: int32
    leader_epoch: int32


@struct
class BeginQuorumEpochRequestTopicData:
    topic_name: string
    partitions: list[BeginQuorumEpochRequestPartitionData]


@struct
class LeaderEndpoint:
    name: string
    host: string
    port: uint16


@request(api_key=53, versions="0-1", flexible="1+")
class BeginQuorumEpochRequest:
    cluster_id: string | None = field(nullable="0+", default=None)
    voter_id: int32 = field("1+", default=-1, ignorable=True)
    topics: list[BeginQuorumEpochRequestTopicData]
    leader_endpoints: list[LeaderEndpoint] = field("1+", default_factory=list, ignorable=True)


@struct
class BeginQuorumEpochResponsePartitionData:
    partition_index: int32
    error_code: int16
    leader_id: int32
    leader_epoch: int32


@struct
class BeginQuorumEpochResponseTopicData:
    topic_name: string
    partitions: list[BeginQuorumEpochResponsePartitionData]


@struct
class NodeEndpoint:
    node_id: int32
    host: string
    port: uint16


@response(api_key=53, versions="0-1", flexible="1+")
class BeginQuorumEpochResponse:
    error_code: int16
    topics: list[BeginQuorumEpochResponseTopicData]
    node_endpoints: list[NodeEndpoint] = field("1+", tag=0, default_factory=list)
