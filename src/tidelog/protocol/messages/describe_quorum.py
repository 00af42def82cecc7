"""DescribeQuorum: leader, voters and observers of the metadata quorum, and how far each has come.

1 returns when a replica last fetched and was caught up, 2 directories and endpoints.
"""

from tidelog.model.ids import ZERO_UUID
from tidelog.protocol.schema import field, int16, int32, int64, request, response, string, struct, uint16, uuid


@struct
class DescribeQuorumRequestPartitionData:
    partition_index: int32


@struct
class DescribeQuorumRequestTopicData:
    topic_name: string
    partitions: list[DescribeQuorumRequestPartitionData]


@request(api_key=55, versions="0-2", flexible="0+")
class DescribeQuorumRequest:
    topics: list[DescribeQuorumRequestTopicData]


@struct
class ReplicaState:
    replica_id: int32
    replica_directory_id: uuid = field("2+", default=ZERO_UUID)
    log_end_offset: int64
    last_fetch_timestamp: int64 = field("1+", default=-1, ignorable=True)
    last_caught_up_timestamp: int64 = field("1+", default=-1, ignorable=True)


@struct
class DescribeQuorumResponsePartitionData:
    partition_index: int32
    error_code: int16
    error_message: string | None = field("2+", nullable="2+", default="", ignorable=True)
    leader_id: int32
    leader_epoch: int32
    high_watermark: int64
    current_voters: list[ReplicaState]
    observers: list[ReplicaState]


@struct
class DescribeQuorumResponseTopicData:
    topic_name: string
    partitions: list[DescribeQuorumResponsePartitionData]


@struct
class Listener:
    name: string
    host: string
    port: uint16


@struct
class Node:
    node_id: int32
    listeners: list[Listener]


@response(api_key=55, versions="0-2", flexible="0+")
class DescribeQuorumResponse:
    error_code: int16
    error_message: string | None = field("2+", nullable="2+", default="", ignorable=True)
    topics: list[DescribeQuorumResponseTopicData]
    nodes: list[Node] = field("2+", default_factory=list)
