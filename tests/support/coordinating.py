"""A client of group coordinators over the simulated wire, and a node whose coordinators are active."""

from typing import Any

from tests.support.serving import create

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.find_coordinator import FindCoordinatorRequest
from tidelog.protocol.messages.heartbeat import HeartbeatRequest
from tidelog.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from tidelog.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from tidelog.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from tidelog.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tidelog.server.hosting.partition import Partition
from tidelog.sim.node_world import NodeWorld, SimClient

ONE_NODE = {
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "2",
    "group.initial.rebalance.delay.ms": "0",
}


def group_world(seed: int, overrides: dict[str, str] | None = None, **more: Any) -> NodeWorld:
    """Return a world with a topic `t` of two partitions and loaded group coordinators."""
    world = NodeWorld(seed, {**ONE_NODE, **(overrides or {})}, **more)
    client = world.client()
    create(client, "t", partitions=2)
    client.ask(FindCoordinatorRequest(key="any"), 3)
    until_loaded(world)
    return world


def until_loaded(world: NodeWorld) -> None:
    """Wait until all group coordinators are loaded and active."""
    family = world.running.broker.coordinators.groups
    world.wait_for(lambda: len(family.machines()) == family.partition_count or None)


def partition_of(world: NodeWorld, group: str) -> Partition:
    partition = world.running.broker.coordinators.groups.partition_of(group)
    assert partition is not None
    return partition


def commit(client: SimClient, group: str, offset: int, topic: str = "t", metadata: str = "") -> ErrorCode:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata=metadata)
    topics = [OffsetCommitRequestTopic(name=topic, partitions=[partition])]
    response = client.ask(OffsetCommitRequest(group_id=group, member_id="", topics=topics), 8)
    return ErrorCode(response.topics[0].partitions[0].error_code)


def fetched(client: SimClient, group: str, topic: str = "t") -> int | ErrorCode:
    """Return the committed offset, -1 for none; or the error."""
    topics = [OffsetFetchRequestTopic(name=topic, partition_indexes=[0])]
    response = client.ask(OffsetFetchRequest(group_id=group, topics=topics), 7)
    if response.error_code:
        return ErrorCode(response.error_code)
    return int(response.topics[0].partitions[0].committed_offset)


def join(group: str, member_id: str = "") -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=group,
        session_timeout_ms=6_000,
        rebalance_timeout_ms=6_000,
        member_id=member_id,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )


def sync(group: str, member_id: str, generation: int, **assigned: bytes) -> SyncGroupRequest:
    return SyncGroupRequest(
        group_id=group,
        generation_id=generation,
        member_id=member_id,
        protocol_type="consumer",
        protocol_name="range",
        assignments=[
            SyncGroupRequestAssignment(member_id=each, assignment=assignment) for each, assignment in assigned.items()
        ],
    )


def heartbeat(group: str, member_id: str, generation: int) -> HeartbeatRequest:
    return HeartbeatRequest(group_id=group, generation_id=generation, member_id=member_id)


def leave(group: str, member_id: str) -> LeaveGroupRequest:
    return LeaveGroupRequest(group_id=group, members=[MemberIdentity(member_id=member_id)])
