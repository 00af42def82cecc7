"""Clients of a node's coordinators that never block, and repeat a request until it is answered: what they share, and
those that commit offsets without a member or read committed records. Every answer goes into the ledger."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tests.sim.coordinator_ledger import Acknowledged, Committed, CoordinatorLedger, Place
from tests.support.transactional import fetch_request

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from tidelog.records.aborted import AbortedFilter, AbortedTransaction
from tidelog.records.batch import batches
from tidelog.sim.node_world import NodeWorld, SimClient

PATIENCE_MS = 2_000  # after this the connection is given up
Heard: TypeAlias = Callable[[Any], None]

# The same request may succeed later.
RETRIABLE = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNSTABLE_OFFSET_COMMIT,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NOT_ENOUGH_REPLICAS,
)


@dataclass
class CoordinatorScene:
    """The state that the clients share."""

    world: NodeWorld
    ledger: CoordinatorLedger
    random: random.Random
    topic_partitions: list[Place]
    owners: dict[tuple[str, Place], dict[Any, None]] = field(default_factory=dict)  # members that believe they own it
    is_calm: bool = False  # no client dies, leaves or sleeps any more
    commits: int = 0
    lost_ms: int = -1  # when a power loss last took what was not synced

    @property
    def now_ms(self) -> int:
        return self.world.clock.monotonic_ms()

    def group_machine(self, group: str) -> object | None:
        """Return the machine that coordinates a group at the moment; None while none is loaded."""
        node = self.world.node
        shard = None if node is None else node.broker.coordinators.groups.shard_of(group)
        return None if shard is None else shard.machine

    def chance(self, likelihood: float) -> bool:
        return self.random.random() < likelihood

    def next_commit(self, who: str) -> Committed:
        """Return an offset, leader epoch and metadata that no other commit has."""
        self.commits += 1
        return self.commits, self.commits % 7, f"{who}#{self.commits}"


class CoordinatorClient:
    """A client with one connection at a time, and one request on it."""

    def __init__(self, scene: CoordinatorScene, number: int) -> None:
        self.scene = scene
        self.number = number
        self.heard = 0  # answers
        self.wakes_ms = 0
        self._client: SimClient | None = None
        self._on_answer: Heard | None = None
        self._asked_ms = 0

    def step(self) -> None:
        client = self._client
        if client is None or client.is_closed:
            self._client = self._on_answer = None
            if self.scene.chance(0.2):
                self._client = self.scene.world.client()
        elif self._on_answer is not None:
            self._listen(client, self._on_answer)
        elif self.scene.now_ms >= self.wakes_ms and self.scene.chance(0.5):
            self.act()

    def _listen(self, client: SimClient, on_answer: Heard) -> None:
        answer = client.poll()
        if answer is not None:
            self._on_answer = None
            self.heard += 1
            on_answer(answer)
        elif self.scene.now_ms > self._asked_ms + PATIENCE_MS:
            self.hang_up()

    def hang_up(self) -> None:
        if self._client is not None:
            self._client.close()
        self._client = self._on_answer = None

    def ask(self, request: object, version: int, on_answer: Heard) -> None:
        assert self._client is not None
        self._asked_ms = self.scene.now_ms
        self._client.send(request, version)
        self._on_answer = on_answer

    def pause(self, at_most_ms: int) -> None:
        self.wakes_ms = self.scene.now_ms + self.scene.random.randint(0, at_most_ms)

    def act(self) -> None:
        raise NotImplementedError


class Committer(CoordinatorClient):
    """A client of a group without members: it commits offsets, and checks that they are there."""

    def __init__(self, scene: CoordinatorScene, number: int) -> None:
        super().__init__(scene, number)
        self.group = f"plain-{number}"

    def act(self) -> None:
        topic_partition = self.scene.random.choice(self.scene.topic_partitions)
        if self.scene.chance(0.3):
            self._look(topic_partition)
        else:
            self._commit(topic_partition)

    def _commit(self, topic_partition: Place) -> None:
        commits, value, sent_ms = (
            self.scene.ledger.of(self.group, topic_partition),
            self.scene.next_commit(self.group),
            self.scene.now_ms,
        )
        commits.send(value)

        def answered(answer: Any) -> None:
            code = ErrorCode(answer.topics[0].partitions[0].error_code)
            if code is ErrorCode.NONE:
                commits.acknowledge(Acknowledged(value, sent_ms, self.scene.now_ms, self.group, -1, -1))
            else:
                assert code in RETRIABLE, code
            self.pause(20)

        self.ask(commit_request(self.group, topic_partition, value), self.scene.random.choice([6, 7, 8, 9]), answered)

    def _look(self, topic_partition: Place) -> None:
        commits = self.scene.ledger.of(self.group, topic_partition)
        self.ask(
            offset_request(self.group, [topic_partition]),
            8,
            lambda answer: see_offsets(answer, {topic_partition: commits.see}),
        )


def see_offsets(answer: Any, see: dict[Place, Callable[[Committed | None], None]]) -> None:
    group = answer.groups[0]
    if group.error_code:
        assert group.error_code in RETRIABLE, ErrorCode(group.error_code)
        return
    for topic in group.topics:
        for found in topic.partitions:
            if found.error_code:
                assert found.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT, found
            else:
                see[topic.name, found.partition_index](committed_in(found))


def committed_in(found: Any) -> Committed | None:
    if found.committed_offset < 0:
        return None
    return found.committed_offset, found.committed_leader_epoch, found.metadata


def commit_request(
    group: str,
    topic_partition: Place,
    value: Committed,
    member_id: str = "",
    epoch: int = -1,
    instance_id: str | None = None,
) -> OffsetCommitRequest:
    offset, leader_epoch, metadata = value
    partition = OffsetCommitRequestPartition(
        partition_index=topic_partition[1],
        committed_offset=offset,
        committed_leader_epoch=leader_epoch,
        committed_metadata=metadata,
    )
    return OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=epoch,
        member_id=member_id,
        group_instance_id=instance_id,
        topics=[OffsetCommitRequestTopic(name=topic_partition[0], partitions=[partition])],
    )


def offset_request(group: str, topic_partitions: list[Place], *, require_stable: bool = False) -> OffsetFetchRequest:
    topics: dict[str, list[int]] = {}
    for topic, partition in topic_partitions:
        topics.setdefault(topic, []).append(partition)
    asked = [OffsetFetchRequestTopics(name=name, partition_indexes=indexes) for name, indexes in topics.items()]
    return OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(group_id=group, topics=asked)], require_stable=require_stable
    )


class Reader(CoordinatorClient):
    """A client that reads committed records, one partition after the other, from the beginning."""

    def __init__(self, scene: CoordinatorScene, number: int) -> None:
        super().__init__(scene, number)
        self._topic_partition = scene.topic_partitions[0]
        self._offset = 0

    def act(self) -> None:
        topic_partition = self._topic_partition
        least = self.scene.ledger.last_stable_offsets.get(topic_partition, 0)
        wait_ms = self.scene.random.choice([0, 0, 20, 300])
        request = fetch_request(topic_partition, self._offset, max_wait_ms=wait_ms)
        self.ask(request, 12, lambda answer: self._answered(topic_partition, answer, least))

    def _answered(self, topic_partition: Place, answer: Any, least: int) -> None:
        data = answer.responses[0].partitions[0]
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE and self.scene.ledger.is_forgiven:
            self._offset = 0
        elif data.error_code:
            assert data.error_code in RETRIABLE, ErrorCode(data.error_code)
        else:
            self._see(topic_partition, data, least)

    def _see(self, topic_partition: Place, data: Any, least: int) -> None:
        self.scene.ledger.see_last_stable(topic_partition, data.last_stable_offset, least)
        found, end_offset = committed_records(data)
        for offset, value in found.items():
            if offset >= self._offset:
                self.scene.ledger.see(topic_partition, offset, value)
        if end_offset is None:
            self._topic_partition, self._offset = self.scene.random.choice(self.scene.topic_partitions), 0
        else:
            self._offset = end_offset


def committed_records(data: Any) -> tuple[dict[int, bytes], int | None]:
    """Return the committed records of one partition in a Fetch response, by offset, and the offset to go on at; None if
    there was no batch."""
    aborted = [AbortedTransaction(each.producer_id, each.first_offset) for each in data.aborted_transactions or []]
    hidden = AbortedFilter(aborted)
    found: dict[int, bytes] = {}
    end_offset = None
    for batch in batches(bytes(data.records or b"")):
        batch.check_crc()
        if not hidden.hides(batch) and not batch.header.is_control:
            found |= {record.offset: record.value or b"" for record in batch.records()}
        end_offset = batch.header.last_offset + 1
    return found, end_offset
