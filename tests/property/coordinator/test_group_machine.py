"""The group coordinator under clients of both protocols that come, go, repeat themselves, come late and time out, while
the coordinator fails over: no request is a bug, a partition has one owner, and the log agrees with the machine."""

from collections import Counter
from random import Random
from typing import Any

import pytest
from tests.golden.world import World

from tidelog.coordinator.requests import CoordinatorRequest, TransactionMarker
from tidelog.metadata.records.topics import PartitionRecord, RemoveTopicRecord, TopicRecord
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import Uuid, parse_uuid
from tidelog.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from tidelog.protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from tidelog.protocol.messages.heartbeat import HeartbeatRequest
from tidelog.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from tidelog.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from tidelog.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tidelog.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tidelog.protocol.stored import encode_prefixed

STEPS = 150
CALM_SECONDS = 75
GROUPS = ["g", "h"]
NAMES = ["orders", "payments", "audit"]
SETTINGS = {
    "group.initial.rebalance.delay.ms": "1000",
    "group.consumer.assignment.interval.ms": "0",
    "offsets.retention.minutes": "2",
    "offsets.retention.check.interval.ms": "30000",
}
CLASSIC: dict[str, Any] = {"session_timeout_ms": 10_000, "rebalance_timeout_ms": 15_000, "protocol_type": "consumer"}


# A client that is answered with one of these has to join as a new member.
FORGOTTEN = (
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.FENCED_INSTANCE_ID,
    ErrorCode.GROUP_ID_NOT_FOUND,
)


class Client:
    """The beliefs of one client: the ids, the epoch and the assignment that its last answers gave it."""

    def __init__(self, number: int, random: Random) -> None:
        self.name = f"client-{number}"
        self.random = random
        self.group_id = random.choice(GROUPS)
        self.is_classic = random.random() < 0.5
        self.instance_id = f"i{number % 3}" if random.random() < 0.3 else None
        self.is_calm = False  # it follows its answers, and neither leaves nor changes its subscription
        self.forget()

    def forget(self) -> None:
        self.member_id = ""
        self.epoch = 0  # the member epoch, or the generation
        self.members: list[str] = []  # the members it assigns to as a classic leader
        self.owned: dict[Uuid, list[int]] = {}
        self.is_to_join = self.is_to_sync = False

    def next_request(self) -> tuple[Any, int]:
        if not self.is_calm and self.random.random() < 0.03:  # a rolling upgrade, or downgrade
            self.is_classic = not self.is_classic
            self.forget()
        return self._classic() if self.is_classic else self._consumer()

    def hear(self, message: Any, response: Any) -> None:
        code = getattr(response, "error_code", None)
        if isinstance(message, JoinGroupRequest):
            if response.member_id:
                self.member_id = response.member_id
            if not code:
                self.epoch = response.generation_id
                self.members = [each.member_id for each in response.members]
                self.is_to_join, self.is_to_sync = False, True
        elif isinstance(message, SyncGroupRequest) and not code:
            self.is_to_sync = False
        elif isinstance(message, ConsumerGroupHeartbeatRequest) and not code and response.member_epoch >= 0:
            self.epoch = response.member_epoch
            if response.assignment is not None:
                owned = response.assignment.topic_partitions
                self.owned = {each.topic_id: list(each.partitions) for each in owned}
        if code in (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION):
            self.is_to_join = True
        if code in FORGOTTEN:
            self.forget()

    def _topics(self) -> list[str]:
        return NAMES[:2] if self.is_calm else self.random.sample(NAMES, self.random.randint(1, 3))

    def _classic(self) -> tuple[Any, int]:
        who: dict[str, Any] = {"group_id": self.group_id, "member_id": self.member_id}
        roll = self._roll_as_told() if self.is_calm else self.random.random()
        if self.epoch == 0 or roll < 0.3:
            metadata = encode_prefixed(ConsumerProtocolSubscription(topics=self._topics()), 1)
            protocols = [JoinGroupRequestProtocol(name="range", metadata=metadata)]
            join = JoinGroupRequest(**who, **CLASSIC, protocols=protocols, group_instance_id=self.instance_id)
            return join, self.random.choice([3, 9]) if self.instance_id is None else 9
        who["generation_id"] = self.epoch
        if roll < 0.7:
            given = [SyncGroupRequestAssignment(member_id=each, assignment=b"") for each in self.members]
            return SyncGroupRequest(**who, assignments=given, group_instance_id=self.instance_id), 3
        if roll < 0.93:
            return HeartbeatRequest(**who, group_instance_id=self.instance_id), 3
        leaver = MemberIdentity(member_id=self.member_id, group_instance_id=self.instance_id)
        return LeaveGroupRequest(group_id=self.group_id, members=[leaver]), 4

    def _roll_as_told(self) -> float:
        return 0.0 if self.is_to_join else 0.5 if self.is_to_sync else 0.8

    def _consumer(self) -> tuple[Any, int]:
        self.member_id = self.member_id or f"{self.name}-{self.random.randrange(1000)}"
        who: dict[str, Any] = {"group_id": self.group_id, "member_id": self.member_id, "instance_id": self.instance_id}
        roll = 0.9 if self.is_calm else self.random.random()
        if self.epoch == 0:
            regex = self.random.choice(["o.*", ".*"]) if roll < 0.2 else None
            names = None if regex else self._topics()
            join = ConsumerGroupHeartbeatRequest(
                **who,
                member_epoch=0,
                rebalance_timeout_ms=15_000,
                subscribed_topic_names=names,
                subscribed_topic_regex=regex,
                topic_partitions=[],
            )
            return join, 1
        if roll < 0.1:
            epoch = -2 if self.instance_id and roll < 0.05 else -1
            self.epoch = 0
            return ConsumerGroupHeartbeatRequest(**who, member_epoch=epoch), 1
        owned = [TopicPartitions(topic_id=each, partitions=partitions) for each, partitions in self.owned.items()]
        says = None if roll < 0.5 else owned
        names = self._topics() if roll > 0.95 else None
        return (
            ConsumerGroupHeartbeatRequest(
                **who, member_epoch=self.epoch, topic_partitions=says, subscribed_topic_names=names
            ),
            1,
        )


class Life:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.world = World("consumer", SETTINGS, 2, [])
        self.clients = [Client(number, self.random) for number in range(6)]
        self.topic_ids: dict[str, Uuid] = {}
        self.said: list[tuple[Client, Any, int]] = []
        self.waiting: list[tuple[Client, Any, list[Any]]] = []
        for name in NAMES:
            self.make_topic(name)

    def make_topic(self, name: str) -> None:
        self.topic_ids[name] = Uuid(self.random.randbytes(16))
        record = TopicRecord(name=name, topic_id=self.topic_ids[name])
        self.world.replay_metadata(record, *self._partitions(self.topic_ids[name], self.random.randint(1, 4)))

    def _partitions(self, topic_id: Uuid, count: int) -> list[PartitionRecord]:
        return [
            PartitionRecord(
                topic_id=topic_id,
                partition_id=partition,
                replicas=[1],
                isr=[1],
                removing_replicas=[],
                adding_replicas=[],
                leader=1,
                leader_epoch=0,
                partition_epoch=0,
                directories=[Uuid(b"d" * 16)],
            )
            for partition in range(count)
        ]

    def step(self) -> None:
        roll = self.random.random()
        if roll < 0.6:
            self._say(self.random.choice(self.clients))
        elif roll < 0.7 and self.said:
            client, message, version = self.random.choice(self.said)  # an earlier request, delivered late or twice
            self._send(client, message, version)
        elif roll < 0.8:
            self._commit(self.random.choice(self.clients))
        elif roll < 0.93:
            self._wait(self.random.choice([1, 500, 3_000, 8_000, 20_000]))
        elif roll < 0.95:
            self._change_topics()
        elif roll < 0.97:
            self.world.log.is_held = True
        else:
            self.world.log.is_held = False
            self.world.reload()
        self._listen()

    def _say(self, client: Client) -> None:
        if any(waiter is client for waiter, _message, _heard in self.waiting) and self.random.random() < 0.9:
            return
        message, version = client.next_request()
        self.said.append((client, message, version))
        self._send(client, message, version)

    def _send(self, client: Client, message: Any, version: int) -> None:
        heard: list[Any] = []
        request = CoordinatorRequest(message, version, self.world.wall_ms, client.name, "/127.0.0.1")
        self.waiting.append((client, message, heard))
        self.world.submit(request, heard)

    def _listen(self) -> None:
        for each in [each for each in self.waiting if each[2]]:
            self.waiting.remove(each)
            client, message, (response,) = each
            if not isinstance(response, (ErrorCode, ApiError)):
                client.hear(message, response)

    def _commit(self, client: Client) -> None:
        topic, offset = self.random.choice(NAMES), self.random.randrange(100)
        where: dict[str, Any] = {"partition_index": 0, "committed_offset": offset, "committed_metadata": None}
        producer = self.random.randrange(2)
        who: dict[str, Any] = {"group_id": client.group_id, "member_id": client.member_id}
        roll = self.random.random()
        if roll < 0.5:
            partitions = [OffsetCommitRequestPartition(**where)]
            topics = [OffsetCommitRequestTopic(name=topic, partitions=partitions)]
            generation = client.epoch if client.member_id else -1
            commit = OffsetCommitRequest(**who, generation_id_or_member_epoch=generation, topics=topics)
            self._send(client, commit, 9)
        elif roll < 0.8:
            staged = [TxnOffsetCommitRequestTopic(name=topic, partitions=[TxnOffsetCommitRequestPartition(**where)])]
            generation = client.epoch if client.member_id else -1
            self._send(
                client,
                TxnOffsetCommitRequest(
                    **who,
                    transactional_id="t",
                    producer_id=producer,
                    producer_epoch=0,
                    generation_id=generation,
                    topics=staged,
                ),
                4,
            )
        else:
            self._send(client, TransactionMarker(producer, 0, self.random.random() < 0.5, 0, 0), 0)

    def _wait(self, by_ms: int) -> None:
        until_ms = self.world.now_ms + by_ms
        while (deadline := self.world.next_deadline(until_ms)) is not None:
            self.world.now_ms = max(self.world.now_ms, deadline)
            self.world.turn()
            self._listen()
        self.world.now_ms = until_ms

    def _change_topics(self) -> None:
        name = self.random.choice(NAMES)
        if self.random.random() < 0.3:
            self.world.replay_metadata(RemoveTopicRecord(topic_id=self.topic_ids[name]))
            self.make_topic(name)
        else:
            count = len(self.world.image.topics.by_id[self.topic_ids[name]].partitions) + 1
            self.world.replay_metadata(*self._partitions(self.topic_ids[name], count)[-1:])

    def calm_down(self) -> None:
        """Keep one client for each instance id, and let those follow their answers until all others have timed out."""
        self.world.log.is_held = False
        self.world.reload()
        self._listen()
        topic_partitions = {(each.group_id, each.instance_id or each.name): each for each in self.clients}
        self.clients = list(topic_partitions.values())
        for client in self.clients:
            client.is_calm = True
        for _ in range(CALM_SECONDS):
            for client in self.clients:
                if all(waiter is not client for waiter, _message, _heard in self.waiting):
                    self._send(client, *client.next_request())
                self._listen()
            self._wait(1_000)

    # Invariants

    def check(self) -> None:
        printed = self.world.machine.printed()
        for group in printed["groups"].values():
            if group["type"] == "consumer":
                check_one_owner(group)
                check_subscriptions(group)
        log = self.world.log
        if log.high_watermark == log.end_offset:
            assert self.world.durable(self.world.replayed()) == self.world.durable(self.world.machine)

    def check_all_owned(self) -> None:
        """Check that every partition of the topics that a group reads has an owner, or a leader that was told of it."""
        by_name = self.world.image.topics.by_name
        for group_id, group in self.world.machine.printed()["groups"].items():
            if not any(each.group_id == group_id for each in self.clients):
                continue
            assert group["state"] == "Stable", group
            if group["type"] == "consumer":
                names = [*group["topics"], *group["topics_by_regex"]]
                wanted = {(name, partition) for name in names for partition in by_name[name].partitions}
                owned = {
                    (self.world.image.topics.by_id[parse_uuid(topic)].name, partition)
                    for member in group["members"].values()
                    for topic, partitions in member["assigned"].items()
                    for partition in partitions
                }
                assert owned == wanted


def check_one_owner(group: dict[str, Any]) -> None:
    owned: dict[tuple[str, int], str] = {}
    targeted: dict[tuple[str, int], str] = {}
    for member_id, member in group["members"].items():
        assert member["epoch"] <= group["epoch"]
        for held in (member["assigned"], member["pending_revocation"]):
            for topic, partitions in held.items():
                for partition in partitions:
                    assert (topic, partition) not in owned, f"{topic}-{partition} has two owners"
                    owned[topic, partition] = member_id
    for member_id, target in group["target"].items():
        assert member_id in group["members"]
        for topic, partitions in target.items():
            for partition in partitions:
                assert (topic, partition) not in targeted, f"{topic}-{partition} is assigned twice"
                targeted[topic, partition] = member_id


def check_subscriptions(group: dict[str, Any]) -> None:
    """Check that the counts which the group keeps as members come and go agree with its members."""
    members = group["members"].values()
    assert group["topics"] == dict(sorted(Counter(name for each in members for name in each["topics"]).items()))
    assert group["regexes"] == dict(sorted(Counter(each["regex"] for each in members if each["regex"]).items()))
    assert group["resolved"].keys() <= group["regexes"].keys()
    assert group["classic_members"] == sum(each["classic_protocols"] is not None for each in members)
    by_instance = {each["instance_id"]: name for name, each in group["members"].items() if each["instance_id"]}
    assert group["static_members"] == dict(sorted(by_instance.items()))


@pytest.mark.parametrize("seed", range(12))
def test_clients_that_come_and_go(seed: int) -> None:
    life = Life(seed)
    for step in range(STEPS):
        life.step()
        if step % 5 == 0:
            life.check()
    life.calm_down()
    life.check()
    life.check_all_owned()
