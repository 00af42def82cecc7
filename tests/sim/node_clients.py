"""Clients of a simulated node that never block: each sends one request at a time, takes the answer whenever it comes,
and connects anew when its connection ends. Every answer goes into the ledger."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.sim.node_ledger import Ledger

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from tidelog.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from tidelog.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tidelog.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tidelog.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tidelog.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tidelog.protocol.messages.init_producer_id import InitProducerIdRequest
from tidelog.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tidelog.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.records.batch import batches
from tidelog.records.builder import BatchBuilder, BatchOptions
from tidelog.sim.node_world import NodeWorld, SimClient

PATIENCE_MS = 3_000  # after this the connection is given up
TOPIC = 2  # a config resource's type
SET = 0
NOT_SET = ""
EARLIEST = -2
HEAVY_BYTES = 10_000
Heard = Callable[[Any], None]


@dataclass
class Scene:
    """The state that the clients share."""

    world: NodeWorld
    ledger: Ledger
    random: random.Random
    directories: tuple[str, ...]
    heavy_chance: float = 0.0  # the chance of a batch that takes longer than a turn, where the topics are compressed

    def key(self) -> bytes | None:
        return bytes(HEAVY_BYTES) if self.heavy_chance and self.random.random() < self.heavy_chance else None

    def topics(self) -> list[tuple[str, Uuid]]:
        return list(self.ledger.topics.items())


class Client:
    def __init__(self, scene: Scene, number: int) -> None:
        self.scene = scene
        self.number = number
        self.heard = 0  # answers
        self._client: SimClient | None = None
        self._on_answer: Heard | None = None
        self._asked_ms = 0

    def step(self) -> None:
        client = self._client
        if client is None or client.is_closed:
            self._client = self._on_answer = None
            if self.scene.random.random() < 0.2:
                self._client = self.scene.world.client()
        elif self._on_answer is not None:
            self._listen(client, self._on_answer)
        elif self.scene.random.random() < 0.5:
            self.act()

    def _listen(self, client: SimClient, on_answer: Heard) -> None:
        answer = client.poll()
        if answer is not None:
            self._on_answer = None
            self.heard += 1
            on_answer(answer)
        elif self.scene.world.clock.monotonic_ms() > self._asked_ms + PATIENCE_MS:
            client.close()
            self._client = self._on_answer = None

    def ask(self, request: object, version: int, on_answer: Heard) -> None:
        assert self._client is not None
        self._asked_ms = self.scene.world.clock.monotonic_ms()
        self._client.send(request, version)
        self._on_answer = on_answer

    def tell(self, request: object, version: int) -> None:
        assert self._client is not None
        self._client.send(request, version, expect_response=False)

    def act(self) -> None:
        raise NotImplementedError


class Producer(Client):
    """A producer without a producer id: a batch that is not answered may be there or not, and is not sent again."""

    sent = 0

    def values(self) -> list[bytes]:
        count = self.scene.random.randint(1, 3)
        self.sent += count
        return [b"%d.%d" % (self.number, n) for n in range(self.sent - count, self.sent)]

    def act(self) -> None:
        topics = self.scene.topics()
        if topics:
            topic, topic_id = self.scene.random.choice(topics)
            self._produce(topic, topic_id, self.values(), self.scene.random.choice([0, 1, 1, -1, -1]))

    def _produce(self, topic: str, topic_id: Uuid, values: list[bytes], acks: int) -> None:
        ledger = self.scene.ledger.of(topic_id, 0)
        ledger.sent.update(dict.fromkeys(values, self.number))
        request = produce_request(topic, topic_id, batch(values, key=self.scene.key()), acks)
        if acks:
            self.ask(request, 13, lambda answer: self._answered(ledger, values, answer))
        else:
            self.tell(request, 13)

    def _answered(self, ledger: Any, values: list[bytes], answer: Any) -> None:
        outcome = answer.responses[0].partition_responses[0]
        if outcome.error_code == ErrorCode.NONE:
            ledger.acknowledge(outcome.base_offset, values)


class IdempotentProducer(Client):
    """A producer that writes to one topic, and sends each batch until it is acknowledged before it begins the next."""

    def __init__(self, scene: Scene, number: int) -> None:
        super().__init__(scene, number)
        self._target: tuple[str, Uuid] | None = None
        self._producer_id = -1
        self._sequence = 0
        self._pending: list[bytes] = []
        self._count = 0

    def act(self) -> None:
        if self._target is None or self._target not in self.scene.topics():
            self._begin()
        elif self._producer_id < 0:
            request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
            self.ask(request, 4, self._named)
        else:
            self._send(*self._target)

    def _begin(self) -> None:
        topics = self.scene.topics()
        self._target = self.scene.random.choice(topics) if topics else None
        self._producer_id, self._sequence, self._pending = -1, 0, []

    def _named(self, answer: Any) -> None:
        if answer.error_code == ErrorCode.NONE:
            self._producer_id = answer.producer_id

    def _send(self, topic: str, topic_id: Uuid) -> None:
        ledger = self.scene.ledger.of(topic_id, 0)
        if not self._pending:
            self._pending = [b"%d:%d" % (self.number, self._count + n) for n in range(self.scene.random.randint(1, 3))]
            self._count += len(self._pending)
            ledger.sent.update(dict.fromkeys(self._pending, self.number))
        options = BatchOptions(producer_id=self._producer_id, producer_epoch=0, base_sequence=self._sequence)
        records = batch(self._pending, options, self.scene.key())
        acks = self.scene.random.choice([1, -1])
        self.ask(produce_request(topic, topic_id, records, acks), 13, lambda answer: self._answered(ledger, answer))

    def _answered(self, ledger: Any, answer: Any) -> None:
        outcome = answer.responses[0].partition_responses[0]
        code = outcome.error_code
        assert code not in (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.INVALID_PRODUCER_EPOCH), code
        if code == ErrorCode.NONE:
            ledger.acknowledge(outcome.base_offset, self._pending)
            self._sequence += len(self._pending)
            self._pending = []


class Consumer(Client):
    """A consumer that reads a topic from beginning to end, and then another."""

    def __init__(self, scene: Scene, number: int) -> None:
        super().__init__(scene, number)
        self._target: Uuid | None = None
        self._topic = ""
        self._offset = 0
        self._is_lost = False

    def act(self) -> None:
        topics = self.scene.topics()
        if self._target is None and topics:
            self._topic, self._target = self.scene.random.choice(topics)
            self._offset, self._is_lost = 0, False
        if self._is_lost:
            self.ask(earliest_request(self._topic), 7, self._found)
        elif self._target is not None:
            wait_ms = self.scene.random.choice([0, 0, 20, 500])
            least = self.scene.ledger.of(self._target, 0).high_watermark
            request = fetch_request(self._target, self._offset, wait_ms)
            self.ask(request, 13, lambda answer: self._answered(answer, least))

    def _found(self, answer: Any) -> None:
        """Go on at the log start offset, which has moved past the consumer's offset, or had before the node died."""
        self._is_lost = False
        data = answer.topics[0].partitions[0]
        if data.error_code != ErrorCode.NONE or self.scene.ledger.topics.get(self._topic) != self._target:
            self._target = None
            return
        self._offset = max(self._offset, data.offset)

    def _answered(self, answer: Any, least: int) -> None:
        assert self._target is not None
        ledger = self.scene.ledger.of(self._target, 0)
        data = answer.responses[0].partitions[0]
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            self._is_lost = True
        elif data.error_code != ErrorCode.NONE:
            self._target = None
        else:
            ledger.see_high_watermark(data.high_watermark, least)
            found = records_of(data)
            for offset, value in found.items():
                if offset >= self._offset:
                    ledger.see(offset, value)
            self._offset = max([self._offset, *(offset + 1 for offset in found)])
            if not found:
                self._target = None


class Admin(Client):
    """A client that creates, deletes, configures and moves topics; what was acknowledged to it has to stay so."""

    made = 0

    def act(self) -> None:
        choice, topics = self.scene.random.random(), self.scene.topics()
        if choice < 0.1 or not topics:
            self._create()
        elif choice < 0.13 and len(topics) > 1:
            self._delete(*self.scene.random.choice(topics))
        elif choice < 0.25:
            self._configure(*self.scene.random.choice(topics))
        elif choice < 0.3:
            self._delete_records(*self.scene.random.choice(topics))
        elif choice < 0.35 and len(self.scene.directories) > 1:
            self._move(self.scene.random.choice(topics)[0])

    def _create(self) -> None:
        """Create a topic under a name that earlier topics may have had."""
        ledger, name = self.scene.ledger, f"topic{self.made % 4}"
        self.made += 1
        if name in ledger.topics or name in ledger.unsure:
            return
        configs = [CreatableTopicConfig(name="internal.segment.bytes", value="600")]
        topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1, assignments=[], configs=configs)
        ledger.unsure[name] = None

        def answered(answer: Any) -> None:
            result = answer.topics[0]
            if result.error_code == ErrorCode.NONE:
                del ledger.unsure[name]
                ledger.topics[name] = Uuid(result.topic_id)

        self.ask(CreateTopicsRequest(topics=[topic], timeout_ms=1_000), 7, answered)

    def _delete(self, name: str, topic_id: Uuid) -> None:
        ledger = self.scene.ledger
        del ledger.topics[name]
        ledger.unsure[name] = None
        ledger.configs.pop(name, None)

        def answered(answer: Any) -> None:
            if answer.responses[0].error_code in (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_ID):
                del ledger.unsure[name]
                ledger.deleted[topic_id] = name

        self.ask(DeleteTopicsRequest(topics=[DeleteTopicState(topic_id=topic_id)], timeout_ms=1_000), 6, answered)

    def _configure(self, name: str, _topic_id: Uuid) -> None:
        value = str(self.scene.random.randint(1_000_000_000, 9_000_000_000))
        values = self.scene.ledger.configs.setdefault(name, [NOT_SET])
        values.append(value)
        config = AlterableConfig(name="retention.ms", config_operation=SET, value=value)
        resource = AlterConfigsResource(resource_type=TOPIC, resource_name=name, configs=[config])

        def answered(answer: Any) -> None:
            if answer.responses[0].error_code == ErrorCode.NONE:
                values.remove(value)
                values[0] = value  # a change that was not answered may yet be made

        self.ask(IncrementalAlterConfigsRequest(resources=[resource], validate_only=False), 1, answered)

    def _delete_records(self, name: str, topic_id: Uuid) -> None:
        ledger = self.scene.ledger.of(topic_id, 0)
        offset = self.scene.random.randint(0, ledger.high_watermark)
        ledger.deleted_to = max(ledger.deleted_to, offset)
        partition = DeleteRecordsPartition(partition_index=0, offset=offset)
        topic = DeleteRecordsTopic(name=name, partitions=[partition])
        self.ask(DeleteRecordsRequest(topics=[topic], timeout_ms=1_000), 2, lambda _answer: None)

    def _move(self, name: str) -> None:
        path = self.scene.random.choice(self.scene.directories)
        topics = [AlterReplicaLogDirTopic(name=name, partitions=[0])]
        directory = AlterReplicaLogDir(path=path, topics=topics)
        self.ask(AlterReplicaLogDirsRequest(dirs=[directory]), 2, lambda _answer: None)


def batch(values: list[bytes], options: BatchOptions | None = None, key: bytes | None = None) -> memoryview:
    builder = BatchBuilder(options=options) if options is not None else BatchBuilder()
    for value in values:
        builder.append(1_700_000_000_000, key, value)
    return memoryview(bytearray(builder.build()))


def produce_request(topic: str, topic_id: Uuid, records: memoryview, acks: int) -> ProduceRequest:
    data = PartitionProduceData(index=0, records=records)
    topics = [TopicProduceData(name=topic, topic_id=topic_id, partition_data=[data])]
    return ProduceRequest(acks=acks, timeout_ms=1_000, topic_data=topics)


def fetch_request(topic_id: Uuid, offset: int, wait_ms: int) -> FetchRequest:
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1_000)
    topics = [FetchTopic(topic_id=topic_id, partitions=[partition])]
    return FetchRequest(max_wait_ms=wait_ms, min_bytes=1, topics=topics)


def earliest_request(topic: str) -> ListOffsetsRequest:
    partition = ListOffsetsPartition(partition_index=0, timestamp=EARLIEST)
    return ListOffsetsRequest(
        replica_id=-1, isolation_level=0, topics=[ListOffsetsTopic(name=topic, partitions=[partition])]
    )


def records_of(data: Any) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    for each in batches(bytes(data.records or b"")):
        each.check_crc()
        found |= {record.offset: record.value or b"" for record in each.records()}
    return found
