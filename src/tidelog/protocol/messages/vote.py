"""Vote: a voter of the metadata quorum asks for votes.

1 names replicas by id and directory, 2 brings the pre-vote that disturbs nobody.
"""

from tidelog.model.ids import ZERO_UUID
from tidelog.protocol.schema import boolean, field, int16, int32, int64, request, response, string, struct, uint16, uuid


@struct
class VoteRequestPartitionData:
    partition_index: int32
    replica_epoch: int32
    replica_id: int32
    replica_directory_id: uuid = field("1+", default=ZERO_UUID, ignorable=True)
    voter_directory_id: uuid = field("1+", default=ZERO_UUID, ignorable=True)
    last_offset_epoch: int32
    last_offset: int64
    pre_vote: boolean = field("2+", default=False)


@struct
class VoteRequestTopicData:
    topic_name: string
    partitions: list[VoteRequestPartitionData]


@request(api_key=52, versions="0-2", flexible="0+")
class VoteRequest:
    cluster_id: string | None = field(nullable="0+", default=None)
    voter_id: int32 = field("1+", default=-1, ignorable=True)
    topics: list[VoteRequestTopicData]


@struct
class VoteResponsePartitionData:
    partition_index: int32
    error_code: int16
    leader_id: int32
    leader_epoch: int32
    vote_granted: boolean


@struct
class VoteResponseTopicData:
    topic_name: string
    partitions: list[VoteResponsePartitionData]


@struct
class NodeEndpoint:
    node_id: int32
    host: string
    port: uint16


@response(api_key=52, versions="0-2", flexible="0+")
class VoteResponse:
    error_code: int16
    topics: list[VoteResponseTopicData]
    node_endpoints: list[NodeEndpoint] = field("1+", tag=0, default_factory=list)
