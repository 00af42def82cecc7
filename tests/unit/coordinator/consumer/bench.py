"""A bench for consumer groups: a minimal driver, which checks the group after every step.

Requests are handled at once; their records are encoded, decoded, logged and replayed.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.unit.config.files import config

from tidelog.coordinator.group.classic import handlers as classic
from tidelog.coordinator.group.classic.group import ClassicGroup
from tidelog.coordinator.group.consumer import handlers as consumer
from tidelog.coordinator.group.consumer.group import ConsumerGroup
from tidelog.coordinator.group.consumer.member import ConsumerMember
from tidelog.coordinator.group.records import GROUP_RECORDS
from tidelog.coordinator.group.shard import GroupShard
from tidelog.coordinator.record_framing import decode_record, encode_key, encode_value
from tidelog.coordinator.requests import CoordinatorRequest, KeyValue
from tidelog.metadata.draft import MetadataDraft
from tidelog.metadata.records.brokers import RegisterBrokerRecord
from tidelog.metadata.records.cluster import ConfigRecord
from tidelog.metadata.records.topics import PartitionRecord, RemoveTopicRecord, TopicRecord
from tidelog.model.decisions import PENDING, Result
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import Uuid
from tidelog.protocol.codec import encode
from tidelog.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest, DescribedGroup
from tidelog.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from tidelog.sim.entropy import SimEntropy

GROUP = "g"
WALL_MS = 1_700_000_000_000
SESSION_MS = 45_000
REBALANCE_MS = 30_000
# Every change of the group is assigned at once, unless a test is about the interval.
AT_ONCE = {"group.consumer.assignment.interval.ms": "0"}

_HANDLE: dict[type, Any] = {**classic.HANDLE, **consumer.HANDLE}
_REPLAY: dict[type, Any] = {**classic.REPLAY, **consumer.REPLAY}
_ON_TIMER: dict[str, Any] = {**classic.ON_TIMER, **consumer.ON_TIMER}

Plain = dict[str, list[int]]  # partitions by topic name


@dataclass(eq=False)
class Client:
    """A consumer like Apache's: it sends what changed, and the partitions that it owns when they changed."""

    bench: "Bench"
    member_id: str
    topics: tuple[str, ...] = ("t",)
    regex: str | None = None
    instance_id: str | None = None
    epoch: int = 0
    told: dict[Uuid, list[int]] = field(default_factory=dict)  # its assignment
    interval_ms: int = 0

    @property
    def assignment(self) -> Plain:
        """The client's assignment by topic name, without topics that do not exist any more."""
        return self.bench.plain(self.told)

    def join(self, **changes: Any) -> ErrorCode:
        return self.beat(**self.joining() | changes)

    def joining(self) -> dict[str, Any]:
        """Forget the epoch and the assignment; return the fields of a joining heartbeat."""
        self.epoch, self.told = 0, {}
        return {
            "rebalance_timeout_ms": REBALANCE_MS,
            "subscribed_topic_names": None if self.regex is not None else list(self.topics),
            "subscribed_topic_regex": self.regex,
            "topic_partitions": [],
        }

    def beat(self, **changes: Any) -> ErrorCode:
        response = self.bench.heartbeat(
            member_id=self.member_id, member_epoch=self.epoch, **{"instance_id": self.instance_id, **changes}
        )
        return self.hear(response)

    def hear(self, response: ConsumerGroupHeartbeatResponse) -> ErrorCode:
        if response.error_code:
            return ErrorCode(response.error_code)
        assert response.member_id is not None
        self.member_id, self.epoch, self.interval_ms = (
            response.member_id,
            response.member_epoch,
            response.heartbeat_interval_ms,
        )
        if response.assignment is not None:
            self.told = {topic.topic_id: topic.partitions for topic in response.assignment.topic_partitions}
        return ErrorCode.NONE

    def report(self, **changes: Any) -> ErrorCode:
        """Send a heartbeat that reports the assignment as owned."""
        return self.beat(topic_partitions=self.bench.wire(self.assignment), **changes)

    def leave(self, epoch: int = -1) -> ErrorCode:
        self.epoch = epoch
        return self.beat()

    @property
    def state(self) -> ConsumerMember:
        return self.bench.group.members[self.member_id]


@dataclass
class Bench:
    settings: dict[str, str] = field(default_factory=dict)
    now_ms: int = 1_000
    max_record_bytes: int = 1_000_000
    log: list[tuple[KeyValue, int]] = field(default_factory=list)
    answers: list[tuple[CoordinatorRequest, Any]] = field(default_factory=list)
    assigned_before: dict[str, int] = field(default_factory=dict)
    steps_taken: int = 0
    refuses_next: bool = False  # the log does not take the next records
    set_back_ms: int = 0  # by how much the wall clock was set back

    def __post_init__(self) -> None:
        self.draft = MetadataDraft(tracks_changes=True)
        self.offset = 0
        self.seed = 0
        self.shard = self._new_shard()

    def _new_shard(self) -> GroupShard:
        self.seed += 1
        image = self.draft.freeze(self.offset, 1, WALL_MS)
        return GroupShard(config(**AT_ONCE | self.settings), SimEntropy(self.seed), image, 0, self.max_record_bytes)

    @property
    def wall_ms(self) -> int:
        return WALL_MS + self.now_ms - self.set_back_ms

    # The cluster

    def topic(self, name: str, partitions: int, replicas: tuple[int, ...] = (1,)) -> Uuid:
        topic_id = Uuid(bytes(12) + (1_000 + self.offset).to_bytes(4, "big"))
        self._metadata(TopicRecord(name=name, topic_id=topic_id), *_partitions(topic_id, range(partitions), replicas))
        return topic_id

    def grow(self, name: str, partitions: int) -> None:
        topic = self.shard.image.topics.by_name[name]
        self._metadata(*_partitions(topic.id, range(len(topic.partitions), partitions), (1,)))

    def delete(self, name: str) -> None:
        self._metadata(RemoveTopicRecord(topic_id=self.shard.image.topics.by_name[name].id))

    def broker(self, broker_id: int, rack: str | None) -> None:
        record = RegisterBrokerRecord(
            broker_id=broker_id,
            incarnation_id=Uuid(bytes(15) + b"\x07"),
            broker_epoch=self.offset,
            end_points=[],
            features=[],
            rack=rack,
        )
        self._metadata(record)

    def configure(self, name: str, value: str) -> None:
        self._metadata(ConfigRecord(resource_type=32, resource_name=GROUP, name=name, value=value))

    def _metadata(self, *records: Any) -> None:
        for record in records:
            self.draft.replay(record)
        self.offset += 1
        self.shard.image = self.draft.freeze(self.offset, 1, WALL_MS)
        consumer.image_changed(self.shard, self.now_ms, self.draft.take_changes())

    def topic_id(self, name: str) -> Uuid:
        return self.shard.image.topics.by_name[name].id

    def plain(self, partitions: dict[Uuid, list[int]]) -> Plain:
        by_id = self.shard.image.topics.by_id
        named = {topic.name: sorted(ids) for topic_id, ids in partitions.items() if (topic := by_id.get(topic_id))}
        return dict(sorted(named.items()))

    def wire(self, partitions: Plain) -> list[TopicPartitions]:
        by_name = self.shard.image.topics.by_name
        known = [(topic.id, ids) for name, ids in partitions.items() if (topic := by_name.get(name))]
        return [TopicPartitions(topic_id=topic_id, partitions=ids) for topic_id, ids in known]

    # Requests and time

    def client(self, member_id: str, *topics: str, **fields: Any) -> Client:
        return Client(self, member_id, topics or ("t",), **fields)

    def joined(self, *member_ids: str, rounds: int = 4) -> list[Client]:
        """Return settled members of one group that all subscribe to `t`."""
        clients = [self.client(member_id) for member_id in member_ids]
        for client in clients:
            assert client.join() is ErrorCode.NONE
        self.settle(*clients, rounds=rounds)
        return clients

    def settle(self, *clients: Client, rounds: int = 4) -> None:
        for _ in range(rounds):
            for client in clients:
                assert client.report() is ErrorCode.NONE

    def heartbeat(self, version: int = 1, **fields: Any) -> ConsumerGroupHeartbeatResponse:
        response = self.send(ConsumerGroupHeartbeatRequest(**{"group_id": GROUP, **fields}), version)
        assert isinstance(response, ConsumerGroupHeartbeatResponse)
        return response

    def describe(self, group_id: str = GROUP) -> DescribedGroup:
        request = ConsumerGroupDescribeRequest(group_ids=[group_id], include_authorized_operations=False)
        described: DescribedGroup = self.send(request, 1).groups[0]
        return described

    def send(self, message: Any, version: int, client_id: str = "c", client_host: str = "/10.0.0.1") -> Any:
        """Send a request and return its response. None while it waits; its response will be among `answers`."""
        return self.ask(CoordinatorRequest(message, version, self.wall_ms, client_id, client_host))

    def ask(self, request: CoordinatorRequest) -> Any:
        result = self._run(_HANDLE[type(request.message)](self.shard, self.now_ms, request))
        if result.response is PENDING:
            return None
        encode(result.response, request.api_version)  # the answer has to encode in the version that was asked for
        return result.response

    def advance(self, by_ms: int) -> None:
        """Advance the clock; each timer that becomes due fires at its own time."""
        end_ms = self.now_ms + by_ms
        while self.shard.timers.deadline is not None and self.shard.timers.deadline <= end_ms:
            self.now_ms = max(self.now_ms, self.shard.timers.deadline)
            self.fire()
        self.now_ms = end_ms

    def fire(self) -> None:
        """Fire the next timer that is due."""
        key: Any = self.shard.timers.pop_due(self.now_ms)
        self._run(_ON_TIMER[key[0]](self.shard, self.now_ms, self.wall_ms, key))

    def tick(self) -> None:
        """Fire the timers that are due already, as the next turn of the loop does."""
        self.advance(0)

    def _run(self, work: Result | Generator[None, None, Result]) -> Result:
        while isinstance(work, Generator):
            try:
                next(work)
                self.steps_taken += 1
            except StopIteration as stop:
                work = stop.value
        self.answers += work.answers
        if self.refuses_next and work.records:
            self.refuses_next = False
            return work
        for (message, version), stored in zip(work.records, through_bytes(work.records), strict=True):
            self.log.append((message, version))
            replay(self.shard, stored)
        self.check()
        return work

    # Results

    @property
    def group(self) -> ConsumerGroup:
        group = self.shard.groups[GROUP]
        assert isinstance(group, ConsumerGroup)
        return group

    @property
    def classic_group(self) -> ClassicGroup:
        group = self.shard.groups[GROUP]
        assert isinstance(group, ClassicGroup)
        return group

    def assigned(self, member_id: str) -> Plain:
        return self.plain({topic_id: list(ids) for topic_id, ids in self.group.members[member_id].assigned.items()})

    def target(self, member_id: str) -> Plain:
        return self.plain({topic_id: list(ids) for topic_id, ids in self.group.target[member_id].items()})

    def taken(self, count: int) -> list[str]:
        """Return the last records by the names of their keys, with a - before tombstones."""
        return [("" if kv.value is not None else "-") + type(kv.key).__name__ for kv, _ in self.log[-count:]]

    def check(self) -> None:
        for group in self.shard.groups.values():
            if isinstance(group, ConsumerGroup):
                check_one_owner(group)
                assert group.epoch >= self.assigned_before.get(group.group_id, 0), "the group epoch went back"
                self.assigned_before[group.group_id] = group.epoch
            else:
                self.assigned_before.pop(group.group_id, None)

    def remove_group(self) -> None:
        """Remove the group, as an admin or the expiry of its offsets does."""
        self._run(Result(self.group.tombstones(), None))

    def validate_state(self) -> None:
        """Check that the durable state is what the log says."""
        twin = self.replayed()
        assert printed(twin) == printed(self.shard)

    def replayed(self) -> GroupShard:
        twin = self._new_shard()
        for message in through_bytes(self.log):
            replay(twin, message)
        return twin

    def reload(self) -> None:
        """Let another broker take the groups over."""
        self.shard = self.replayed()
        classic.activate(self.shard, self.now_ms)
        consumer.activate(self.shard, self.now_ms)


def check_one_owner(group: ConsumerGroup) -> None:
    seen: dict[tuple[Uuid, int], str] = {}
    for member in group.members.values():
        for assigned in (member.assigned, member.pending_revocation):
            for topic_id, partitions in assigned.items():
                for partition in partitions:
                    other = seen.setdefault((topic_id, partition), member.member_id)
                    assert other == member.member_id, f"{partition} belongs to {other} and {member.member_id}"
    owners = {(topic_id, p): owner for topic_id, ps in group.owners.items() for p, owner in ps.items()}
    assert owners == seen


def through_bytes(records: list[Any]) -> Iterator[KeyValue]:
    for message, version in records:
        record = decode_record(GROUP_RECORDS, encode_key(message.key), encode_value(message.value, version))
        yield KeyValue(record.key, record.value)


def replay(shard: GroupShard, message: KeyValue) -> None:
    _REPLAY[type(message.key)](shard, message.key, message.value)


def printed(shard: GroupShard) -> dict[str, Any]:
    consumers = {group_id: group for group_id, group in shard.groups.items() if isinstance(group, ConsumerGroup)}
    return {
        "consumer": {g: consumers[g].printed() for g in sorted(consumers)},
        "classic": classic.printed_committed(shard),
    }


def _partitions(topic_id: Uuid, ids: range, replicas: tuple[int, ...]) -> list[PartitionRecord]:
    return [
        PartitionRecord(
            partition_id=partition,
            topic_id=topic_id,
            replicas=list(replicas),
            isr=list(replicas),
            removing_replicas=[],
            adding_replicas=[],
            leader=replicas[0],
            leader_epoch=0,
            partition_epoch=0,
        )
        for partition in ids
    ]
