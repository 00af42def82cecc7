"""A consumer of the classic protocol on the bench, whatever kind of group it finds."""

from dataclasses import dataclass, field
from typing import Any

from tests.unit.coordinator.consumer.bench import GROUP, REBALANCE_MS, Bench, Plain

from tidelog.coordinator.group.consumer.embedded import read_assignment
from tidelog.coordinator.requests import CoordinatorRequest
from tidelog.model.errors import ErrorCode
from tidelog.protocol.codec import encode
from tidelog.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartition,
)
from tidelog.protocol.messages.heartbeat import HeartbeatRequest
from tidelog.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from tidelog.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from tidelog.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

SESSION_MS = 10_000
VERSION = 3


def subscription(topics: tuple[str, ...], owned: Plain | None = None) -> bytes:
    partitions = [TopicPartition(topic=topic, partitions=ids) for topic, ids in (owned or {}).items()]
    message = ConsumerProtocolSubscription(topics=list(topics), owned_partitions=partitions)
    return VERSION.to_bytes(2, "big") + encode(message, VERSION)


def assignment(partitions: Plain, user_data: bytes | None = None) -> bytes:
    topics = [TopicPartition(topic=topic, partitions=ids) for topic, ids in partitions.items()]
    message = ConsumerProtocolAssignment(assigned_partitions=topics, user_data=user_data)
    return VERSION.to_bytes(2, "big") + encode(message, VERSION)


@dataclass(eq=False)
class ClassicClient:
    bench: Bench
    topics: tuple[str, ...] = ("t",)
    protocols: tuple[str, ...] = ("range", "cooperative-sticky")
    instance_id: str | None = None
    member_id: str = ""
    generation: int = -1
    owned: Plain = field(default_factory=dict)

    def join(self, version: int = 9, **fields: Any) -> ErrorCode:
        """Join, with the id that the answer gives if there is none yet."""
        response = self.ask_to_join(version, **fields)
        if response is not None and response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = response.member_id
            response = self.ask_to_join(version, **fields)
        assert response is not None, "it waits for others"
        return self.hear(response)

    def ask_to_join(self, version: int = 9, **fields: Any) -> JoinGroupResponse | None:
        metadata = subscription(self.topics, self.owned)
        message = JoinGroupRequest(
            **{
                "group_id": GROUP,
                "session_timeout_ms": SESSION_MS,
                "rebalance_timeout_ms": REBALANCE_MS,
                "member_id": self.member_id,
                "group_instance_id": self.instance_id,
                "protocol_type": "consumer",
                "protocols": [JoinGroupRequestProtocol(name=name, metadata=metadata) for name in self.protocols],
                **fields,
            }
        )
        response: JoinGroupResponse | None = self.bench.send(message, version)
        return response

    def hear(self, response: JoinGroupResponse) -> ErrorCode:
        if not response.error_code:
            self.member_id, self.generation = response.member_id, response.generation_id
        return ErrorCode(response.error_code)

    def sync(self, assignments: dict[str, Plain] | None = None, **fields: Any) -> ErrorCode:
        handed = [
            SyncGroupRequestAssignment(member_id=m, assignment=assignment(p)) for m, p in (assignments or {}).items()
        ]
        message = SyncGroupRequest(
            **{
                "group_id": GROUP,
                "generation_id": self.generation,
                "member_id": self.member_id,
                "group_instance_id": self.instance_id,
                "protocol_type": "consumer",
                "protocol_name": self.protocols[0],
                "assignments": handed,
                **fields,
            }
        )
        response = self.bench.send(message, 5)
        if not response.error_code:
            read = read_assignment(response.assignment) if response.assignment else None
            self.owned = {t.topic: t.partitions for t in read.assigned_partitions} if read else {}
        return ErrorCode(response.error_code)

    def beat(self) -> ErrorCode:
        message = HeartbeatRequest(
            group_id=GROUP,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
        )
        return ErrorCode(self.bench.send(message, 4).error_code)

    def leave(self) -> ErrorCode:
        identity = MemberIdentity(member_id=self.member_id, group_instance_id=self.instance_id)
        return ErrorCode(
            self.bench.send(LeaveGroupRequest(group_id=GROUP, members=[identity]), 5).members[0].error_code
        )

    def follow(self) -> None:
        """Run one round of a consumer's loop: a heartbeat, and a rejoin if it is told to."""
        if self.beat() is ErrorCode.REBALANCE_IN_PROGRESS:
            assert self.join() is ErrorCode.NONE
            self.sync()


def requests_of(answers: list[tuple[CoordinatorRequest, Any]]) -> list[tuple[str, ErrorCode]]:
    return [(type(request.message).__name__, ErrorCode(response.error_code)) for request, response in answers]
