"""DescribeQuorum: who leads the metadata quorum, and how far each of its voters and observers has come."""

from typing import TYPE_CHECKING, Final

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import ZERO_UUID
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumResponse,
    DescribeQuorumResponsePartitionData,
    DescribeQuorumResponseTopicData,
    Listener,
    Node,
    ReplicaState,
)
from tidelog.raft.voters import VoterNode
from tidelog.server.metadata_log.log import METADATA_PARTITION
from tidelog.server.metadata_log.quorum import MetadataQuorum
from tidelog.server.requests.handler import Handler, RequestContext, Steps, whole

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker


FIRST_WITH_NODES: Final = 2


def steps(broker: "Broker", context: RequestContext, body: DescribeQuorumRequest) -> Steps[DescribeQuorumResponse]:
    quorum, has_nodes = broker.quorum, context.api_version >= FIRST_WITH_NODES
    topics: list[DescribeQuorumResponseTopicData] = []
    for topic in body.topics:
        answered = DescribeQuorumResponseTopicData(topic_name=topic.topic_name, partitions=[])
        topics.append(answered)
        yield
        for each in topic.partitions:
            answered.partitions.append(_partition(broker, quorum, topic.topic_name, each, has_nodes))
            yield
    nodes = [_node(voter) for voter in quorum.quorum.history.voters.nodes] if has_nodes else []
    return DescribeQuorumResponse(error_code=ErrorCode.NONE, error_message=None, topics=topics, nodes=nodes)


def _partition(
    broker: "Broker", quorum: MetadataQuorum, topic: str, asked: DescribeQuorumRequestPartitionData, has_nodes: bool
) -> DescribeQuorumResponsePartitionData:
    if (topic, asked.partition_index) != METADATA_PARTITION:
        return _nothing(asked.partition_index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if not quorum.is_leader:
        return _nothing(asked.partition_index, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    now_ms = broker.turn.wall_ms
    voters = [
        ReplicaState(
            replica_id=voter.key.id,
            replica_directory_id=(voter.key.directory_id if has_nodes else None) or ZERO_UUID,
            log_end_offset=quorum.end_offset,
            last_fetch_timestamp=now_ms,
            last_caught_up_timestamp=now_ms,
        )
        for voter in quorum.quorum.history.voters.nodes
    ]
    return DescribeQuorumResponsePartitionData(
        partition_index=asked.partition_index,
        error_code=ErrorCode.NONE,
        error_message=None,
        leader_id=quorum.leader_id if quorum.leader_id is not None else -1,
        leader_epoch=quorum.epoch,
        high_watermark=quorum.high_watermark,
        current_voters=voters,
        observers=[],
    )


def _node(voter: VoterNode) -> Node:
    listeners = [Listener(name=each.listener, host=each.host, port=each.port) for each in voter.endpoints]
    return Node(node_id=voter.key.id, listeners=listeners)


def _nothing(index: int, code: ErrorCode) -> DescribeQuorumResponsePartitionData:
    return DescribeQuorumResponsePartitionData(
        partition_index=index,
        error_code=code,
        error_message=None,
        leader_id=-1,
        leader_epoch=-1,
        high_watermark=-1,
        current_voters=[],
        observers=[],
    )


def refuse(_body: DescribeQuorumRequest, code: ErrorCode, message: str | None) -> DescribeQuorumResponse:
    return DescribeQuorumResponse(error_code=code, error_message=message, topics=[])


DESCRIBE_QUORUM = Handler(ApiKey.DESCRIBE_QUORUM, whole(steps), refuse, steps=steps)
