"""Short ways to build the requests about groups."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from tidelog.model.ids import ZERO_UUID, Uuid
from tidelog.protocol.codec import encode
from tidelog.protocol.messages import consumer_group_heartbeat
from tidelog.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tidelog.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartition,
)
from tidelog.protocol.messages.heartbeat import HeartbeatRequest
from tidelog.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from tidelog.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from tidelog.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tidelog.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from tidelog.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

SESSION_MS = 30_000
FETCHES_BY_GROUP = 8
BY_TOPIC_ID = 10
LEAVES_IN_BATCHES = 3
STATIC_JOINS = 5
# A topic is named, or given by its id where the version wants that: `str` or `Uuid`.
Offsets: TypeAlias = Mapping[tuple[Any, int], int]  # by topic and partition
Topics: TypeAlias = Mapping[Any, Sequence[int]] | None


def commit(group: str, offsets: Offsets, **of: Any) -> OffsetCommitRequest:
    """Build an OffsetCommit. `of` may have `metadata`, `leader_epoch` and fields of the request."""
    metadata, leader_epoch = of.pop("metadata", "meta"), of.pop("leader_epoch", -1)
    topics: dict[Any, OffsetCommitRequestTopic] = {}
    for (topic, partition), offset in offsets.items():
        made = OffsetCommitRequestTopic(
            name=topic if isinstance(topic, str) else "",
            topic_id=ZERO_UUID if isinstance(topic, str) else topic,
            partitions=[],
        )
        topics.setdefault(topic, made).partitions.append(
            OffsetCommitRequestPartition(
                partition_index=partition,
                committed_offset=offset,
                committed_leader_epoch=leader_epoch,
                committed_metadata=metadata,
            )
        )
    return OffsetCommitRequest(group_id=group, **{"member_id": "", **of}, topics=list(topics.values()))


def fetch_group(group: str, topics: Topics = None, **of: Any) -> OffsetFetchRequestGroup:
    if topics is None:
        return OffsetFetchRequestGroup(group_id=group, topics=None, **of)
    named = [
        OffsetFetchRequestTopics(
            name=topic if isinstance(topic, str) else "",
            topic_id=ZERO_UUID if isinstance(topic, str) else topic,
            partition_indexes=list(partitions),
        )
        for topic, partitions in topics.items()
    ]
    return OffsetFetchRequestGroup(group_id=group, topics=named, **of)


def fetch(group: str, topics: Topics, version: int, *, stable: bool = False, **of: Any) -> OffsetFetchRequest:
    """Build an OffsetFetch in the form that the version takes: by group, or for one group."""
    if version >= FETCHES_BY_GROUP:
        return OffsetFetchRequest(groups=[fetch_group(group, topics, **of)], require_stable=stable)
    if topics is None:
        return OffsetFetchRequest(group_id=group, topics=None, require_stable=stable)
    named = [OffsetFetchRequestTopic(name=str(topic), partition_indexes=list(each)) for topic, each in topics.items()]
    return OffsetFetchRequest(group_id=group, topics=named, require_stable=stable)


def delete_offsets(group: str, topics: Mapping[str, Sequence[int]]) -> OffsetDeleteRequest:
    named = [
        OffsetDeleteRequestTopic(
            name=topic, partitions=[OffsetDeleteRequestPartition(partition_index=each) for each in partitions]
        )
        for topic, partitions in topics.items()
    ]
    return OffsetDeleteRequest(group_id=group, topics=named)


def subscription(*topics: str, owned: Mapping[str, Sequence[int]] | None = None) -> bytes:
    """Return the subscription that a Java consumer sends in JoinGroup, in version 1."""
    partitions = [TopicPartition(topic=topic, partitions=list(each)) for topic, each in (owned or {}).items()]
    message = ConsumerProtocolSubscription(topics=list(topics), user_data=None, owned_partitions=partitions)
    return b"\x00\x01" + encode(message, 1)


def join(group: str, member_id: str = "", **of: Any) -> JoinGroupRequest:
    """Build a JoinGroup. `of` may have `protocols`, as pairs of name and metadata, and fields of the request."""
    protocols = of.pop("protocols", [("range", subscription("orders"))])
    given = {
        "session_timeout_ms": SESSION_MS,
        "rebalance_timeout_ms": SESSION_MS,
        "protocol_type": "consumer",
        **of,
    }
    offered = [JoinGroupRequestProtocol(name=name, metadata=metadata) for name, metadata in protocols]
    return JoinGroupRequest(group_id=group, member_id=member_id, protocols=offered, **given)


def sync(
    group: str, member_id: str, generation: int, assignments: Mapping[str, bytes] | None = None, **of: Any
) -> SyncGroupRequest:
    """Build a SyncGroup that names the protocol of `join`, unless `of` says otherwise."""
    given = {"protocol_type": "consumer", "protocol_name": "range", **of}
    assigned = [
        SyncGroupRequestAssignment(member_id=each, assignment=assignment)
        for each, assignment in (assignments or {}).items()
    ]
    return SyncGroupRequest(
        group_id=group, generation_id=generation, member_id=member_id, assignments=assigned, **given
    )


def beat(group: str, member_id: str, generation: int, instance: str | None = None) -> HeartbeatRequest:
    return HeartbeatRequest(group_id=group, generation_id=generation, member_id=member_id, group_instance_id=instance)


def leave(group: str, version: int, *members: str | tuple[str, str | None]) -> LeaveGroupRequest:
    """Build a LeaveGroup of members that are given by id, or by id and instance id."""
    pairs = [each if isinstance(each, tuple) else (each, None) for each in members]
    if version < LEAVES_IN_BATCHES:
        return LeaveGroupRequest(group_id=group, member_id=pairs[0][0])
    named = [MemberIdentity(member_id=member_id, group_instance_id=instance) for member_id, instance in pairs]
    return LeaveGroupRequest(group_id=group, members=named)


def hello(group: str, member_id: str = "", **of: Any) -> ConsumerGroupHeartbeatRequest:
    """Build the full ConsumerGroupHeartbeat with which a member joins."""
    given = {
        "member_epoch": 0,
        "rebalance_timeout_ms": SESSION_MS,
        "subscribed_topic_names": [],
        "topic_partitions": [],
        **of,
    }
    return ConsumerGroupHeartbeatRequest(group_id=group, member_id=member_id, **given)


def heartbeat(group: str, member_id: str, epoch: int, **of: Any) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(group_id=group, member_id=member_id, member_epoch=epoch, **of)


def owning(topics: Mapping[Uuid, Sequence[int]]) -> list[consumer_group_heartbeat.TopicPartitions]:
    return [
        consumer_group_heartbeat.TopicPartitions(topic_id=topic_id, partitions=list(partitions))
        for topic_id, partitions in topics.items()
    ]


def assignment(topics: Mapping[str, Sequence[int]]) -> bytes:
    assigned = [TopicPartition(topic=topic, partitions=list(each)) for topic, each in topics.items()]
    message = ConsumerProtocolAssignment(assigned_partitions=assigned, user_data=None)
    return b"\x00\x01" + encode(message, 1)
