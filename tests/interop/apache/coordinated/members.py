"""Members of groups that survive the broker: their requests and answers show what the broker has in its records."""

import time
from typing import Any

from tests.support.blocking_connection import BlockingConnection

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import Uuid
from tidelog.protocol.messages import consumer_group_heartbeat, consumer_protocol
from tidelog.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tidelog.protocol.messages.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from tidelog.protocol.messages.heartbeat import HeartbeatRequest
from tidelog.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from tidelog.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tidelog.protocol.stored import encode_prefixed

SESSION_MS = 600_000
RECONCILED_SECONDS_MAX = 60


def commit(
    wire: BlockingConnection, group: str, topic: str, offsets: dict[int, int], member: str = "", epoch: int = -1
) -> None:
    wanted = [
        OffsetCommitRequestPartition(
            partition_index=index, committed_offset=offset, committed_leader_epoch=0, committed_metadata=f"at {offset}"
        )
        for index, offset in offsets.items()
    ]
    request = OffsetCommitRequest(
        group_id=group,
        member_id=member,
        generation_id_or_member_epoch=epoch,
        topics=[OffsetCommitRequestTopic(name=topic, partitions=wanted)],
    )
    answer = wire.ask(request, 9)
    assert not any(each.error_code for each in answer.topics[0].partitions), answer


class ClassicMember:
    """The only member of a classic group."""

    def __init__(self, wire: BlockingConnection, group: str, topic: str, instance_id: str | None = None) -> None:
        self.group = group
        self.instance_id = instance_id
        self.member_id = ""
        joined = self._join(wire, topic)
        self.member_id, self.generation = joined.member_id, joined.generation_id
        self._sync(wire, topic)

    def _join(self, wire: BlockingConnection, topic: str) -> Any:
        subscription = encode_prefixed(ConsumerProtocolSubscription(topics=[topic]), 1)
        request = JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=SESSION_MS,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=subscription)],
        )
        answer = wire.ask(request, 7)
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
            return self._join(wire, topic)
        assert answer.error_code == ErrorCode.NONE, answer
        return answer

    def _sync(self, wire: BlockingConnection, topic: str) -> None:
        mine = [consumer_protocol.TopicPartition(topic=topic, partitions=[0, 1])]
        assignment = encode_prefixed(ConsumerProtocolAssignment(assigned_partitions=mine), 1)
        request = SyncGroupRequest(
            group_id=self.group,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type="consumer",
            protocol_name="range",
            assignments=[SyncGroupRequestAssignment(member_id=self.member_id, assignment=assignment)],
        )
        answer = wire.ask(request, 5)
        assert (answer.error_code, bytes(answer.assignment)) == (ErrorCode.NONE, assignment), answer

    def beat(self, wire: BlockingConnection) -> ErrorCode:
        request = HeartbeatRequest(
            group_id=self.group,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
        )
        return ErrorCode(wire.ask(request, 4).error_code)

    def commit(self, wire: BlockingConnection, topic: str, offsets: dict[int, int]) -> None:
        commit(wire, self.group, topic, offsets, self.member_id, self.generation)


class ConsumerMember:
    """A member of a KIP-848 group that takes and gives up the partitions that it is told to."""

    def __init__(self, group: str, member_id: str, topics: list[str], regex: str | None = None) -> None:
        self.group = group
        self.member_id = member_id
        self.epoch = 0
        self.owned: dict[Uuid, list[int]] = {}
        self._joining = {
            "subscribed_topic_names": topics,
            "subscribed_topic_regex": regex,
            "rebalance_timeout_ms": 60_000,
        }

    def beat(self, wire: BlockingConnection) -> ErrorCode:
        """Send a heartbeat. Partitions that the answer assigns count as owned from then on, and the next heartbeat says
        so."""
        owned = [
            consumer_group_heartbeat.TopicPartitions(topic_id=topic_id, partitions=indexes)
            for topic_id, indexes in self.owned.items()
        ]
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group, member_id=self.member_id, member_epoch=self.epoch, topic_partitions=owned
        )
        if not self.epoch:
            for name, value in self._joining.items():
                setattr(request, name, value)
        answer = wire.ask(request, 1)
        if answer.error_code == ErrorCode.NONE:
            self.epoch = answer.member_epoch
            if answer.assignment is not None:
                given = answer.assignment.topic_partitions
                self.owned = {Uuid(bytes(each.topic_id)): list(each.partitions) for each in given}
        return ErrorCode(answer.error_code)

    def commit(self, wire: BlockingConnection, topic: str, offsets: dict[int, int]) -> None:
        commit(wire, self.group, topic, offsets, self.member_id, self.epoch)


def reconcile(wire: BlockingConnection, members: list[ConsumerMember]) -> None:
    """Send heartbeats until every member has its partitions, all in one epoch. It takes several, because a regular
    expression is resolved in the background."""
    deadline = time.monotonic() + RECONCILED_SECONDS_MAX
    while True:
        before = [(each.epoch, each.owned) for each in members]
        assert not any(each.beat(wire) for each in members)
        is_at_rest = before == [(each.epoch, each.owned) for each in members]
        if is_at_rest and len({each.epoch for each in members}) == 1 and all(each.owned for each in members):
            return
        assert time.monotonic() < deadline, f"it does not come to rest: {before}"
        time.sleep(0.05)
