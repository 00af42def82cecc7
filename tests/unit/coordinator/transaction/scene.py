"""A transaction coordinator on a log in memory, and short calls for everything that happens to it.

Every record is encoded and decoded, as in a real log; `check` compares the live state with a fresh replay.
"""

from collections.abc import Generator
from functools import cache
from typing import Any

from tidelog.config import BrokerConfig, format_properties, load_broker_config
from tidelog.coordinator.record_framing import decode_record, encode_key, encode_value
from tidelog.coordinator.requests import CoordinatorRequest, KeyValue
from tidelog.coordinator.transaction.coordinator import TransactionCoordinator
from tidelog.coordinator.transaction.metadata import TransactionMetadata, record_of
from tidelog.coordinator.transaction.records import TRANSACTION_RECORDS
from tidelog.coordinator.transaction.requests import MarkersWritten, SendMarkers
from tidelog.coordinator.transaction.states import TransactionState
from tidelog.model.decisions import Result
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from tidelog.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from tidelog.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from tidelog.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

ID = "orders"
START_MS = 1_000_000
TIMEOUT_MS = 60_000
Pair = tuple[int, int]


@cache
def config(*properties: tuple[str, str]) -> BrokerConfig:
    given = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": "1@node:9093",
        "controller.listener.names": "CONTROLLER",
        "listeners": "PLAINTEXT://0.0.0.0:9092,CONTROLLER://0.0.0.0:9093",
        **dict(properties),
    }
    return load_broker_config(format_properties(given), "a test").config


def tp(name: str) -> TopicPartition:
    topic, _, partition = name.rpartition("-")
    return TopicPartition(topic, int(partition))


def topics(*names: str) -> list[AddPartitionsToTxnTopic]:
    by_topic: dict[str, list[int]] = {}
    for each in map(tp, names):
        by_topic.setdefault(each.topic, []).append(each.partition)
    return [AddPartitionsToTxnTopic(name=topic, partitions=ids) for topic, ids in by_topic.items()]


class Scene:
    def __init__(
        self, *properties: tuple[str, str], transaction_version: int = 2, max_record_bytes: int = 1 << 20
    ) -> None:
        self.config = config(*properties)
        self.transaction_version = transaction_version
        self.max_record_bytes = max_record_bytes
        self.coordinator_epoch = 0
        self.next_producer_id = 7
        self.has_producer_ids = True
        self.log: list[tuple[bytes, bytes | None]] = []
        self.versions: list[int] = []  # the versions in which the values were written
        self.effects: list[SendMarkers] = []
        self.now_ms = 0
        self.set_back_ms = 0  # by how much the wall clock was set back
        self.machine = self.load()

    # The machine and its log

    def load(self) -> TransactionCoordinator:
        """Return a coordinator that is replayed from the log, as the next one will be."""
        machine = TransactionCoordinator(
            self.config,
            0,
            self.coordinator_epoch,
            self.allocate_producer_id,
            lambda: self.transaction_version,
            lambda group: len(group),
            self.max_record_bytes,
        )
        for key, value in self.log:
            decoded = decode_record(TRANSACTION_RECORDS, key, value)
            machine.replay(KeyValue(decoded.key, decoded.value))
        return machine

    def reload(self) -> Result:
        self.coordinator_epoch += 1
        self.machine = self.load()
        return self.carry_out(self.machine.activate(self.now_ms))

    def allocate_producer_id(self) -> int | None:
        if not self.has_producer_ids:
            return None
        self.next_producer_id += 1
        return self.next_producer_id - 1

    def carry_out(self, work: Any) -> Result:
        result = _finish(work)
        for message, version in result.records:
            self.log.append((encode_key(message.key), encode_value(message.value, version)))
            self.versions.append(version)
            self.machine.replay(message)
        self.effects += result.effects
        self.check()
        return result

    def check(self) -> None:
        assert self.machine.durable() == self.load().durable()

    @property
    def wall_ms(self) -> int:
        return START_MS + self.now_ms - self.set_back_ms

    def ask(self, message: Any, api_version: int = 0) -> Any:
        request = CoordinatorRequest(message, api_version, self.wall_ms, "someone", "/10.0.0.1")
        return self.carry_out(self.machine.handle(self.now_ms, request)).response

    def advance(self, ms: int) -> None:
        self.now_ms += ms
        while self.machine.deadline is not None and self.machine.deadline <= self.now_ms:
            self.carry_out(self.machine.step(self.now_ms, self.wall_ms))

    def of(self, transactional_id: str = ID) -> TransactionMetadata:
        return self.machine.shard.transactions[transactional_id]

    def state(self) -> TransactionState:
        return self.of().state

    def topic_partition(
        self, state: TransactionState, producer: Pair, *names: str, version: int = 2, **fields: Any
    ) -> None:
        """Write a transaction in this state into the log, and load the coordinator from it."""
        metadata = TransactionMetadata(ID, *producer, TIMEOUT_MS, self.wall_ms, state)
        metadata.partitions = {tp(name): None for name in names}
        metadata.previous_producer_id = producer[0]
        metadata.client_transaction_version = version
        metadata.start_ms = self.wall_ms if names else -1
        for name, value in fields.items():
            setattr(metadata, name, value)
        message, value_version = record_of(metadata, 2)
        self.log.append((encode_key(message.key), encode_value(message.value, value_version)))
        self.machine = self.load()

    # Requests of clients

    def init(self, expected: Pair = (-1, -1), version: int = 5, *, id: str = ID, **fields: Any) -> Any:  # noqa: A002
        given: dict[str, Any] = {"transaction_timeout_ms": TIMEOUT_MS, **fields}
        request = InitProducerIdRequest(
            transactional_id=id, producer_id=expected[0], producer_epoch=expected[1], **given
        )
        response: InitProducerIdResponse = self.ask(request, version)
        if response.error_code:
            assert (response.producer_id, response.producer_epoch) == (-1, -1)
            return ErrorCode(response.error_code)
        return response.producer_id, response.producer_epoch

    def add_v3(self, producer: Pair, *names: str, version: int = 3, id: str = ID) -> ErrorCode:  # noqa: A002
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=id,
            v3_and_below_producer_id=producer[0],
            v3_and_below_producer_epoch=producer[1],
            v3_and_below_topics=topics(*names),
        )
        return _one_code(self.ask(request, version).results_by_topic_v3_and_below)

    def add(self, producer: Pair, *names: str, id: str = ID) -> ErrorCode:  # noqa: A002
        """Add partitions as a broker does for a client of version 2."""
        response = self.ask(AddPartitionsToTxnRequest(transactions=[_transaction(id, producer, names)]), 5)
        return _one_code(response.results_by_transaction[0].topic_results)

    def verify(self, producer: Pair, *names: str, id: str = ID) -> dict[str, ErrorCode]:  # noqa: A002
        transaction = _transaction(id, producer, names)
        transaction.verify_only = True
        response = self.ask(AddPartitionsToTxnRequest(transactions=[transaction]), 5)
        return _codes(response.results_by_transaction[0].topic_results)

    def add_offsets(self, producer: Pair, group: str, version: int = 4, *, id: str = ID) -> ErrorCode:  # noqa: A002
        request = AddOffsetsToTxnRequest(
            transactional_id=id, producer_id=producer[0], producer_epoch=producer[1], group_id=group
        )
        return ErrorCode(self.ask(request, version).error_code)

    def end(self, producer: Pair, *, commit: bool, version: int = 5, id: str = ID) -> Any:  # noqa: A002
        request = EndTxnRequest(
            transactional_id=id, producer_id=producer[0], producer_epoch=producer[1], committed=commit
        )
        response: EndTxnResponse = self.ask(request, version)
        if response.error_code:
            assert (response.producer_id, response.producer_epoch) == (-1, -1)
            return ErrorCode(response.error_code)
        return response.producer_id, response.producer_epoch

    def written(self, effect: SendMarkers | None = None, code: ErrorCode = ErrorCode.NONE, *names: str) -> None:
        """Report that the markers of an effect (by default the last one) are in all its partitions, or in those
        named."""
        effect = effect or self.effects[-1]
        outcomes = dict.fromkeys(map(tp, names) if names else effect.partitions, code)
        self.ask(
            MarkersWritten(
                effect.transactional_id,
                effect.producer_id,
                effect.producer_epoch,
                effect.coordinator_epoch,
                outcomes,
                effect.decision,
            )
        )

    def epochs(self) -> Pair:
        return self.of().producer_id, self.of().producer_epoch


def _finish(work: Any) -> Result:
    if not isinstance(work, Generator):
        assert isinstance(work, Result)
        return work
    while True:
        try:
            next(work)
        except StopIteration as stop:
            result: Result = stop.value
            return result


def _transaction(transactional_id: str, producer: Pair, names: tuple[str, ...]) -> AddPartitionsToTxnTransaction:
    return AddPartitionsToTxnTransaction(
        transactional_id=transactional_id,
        producer_id=producer[0],
        producer_epoch=producer[1],
        topics=topics(*names),
    )


def _codes(results: list[Any]) -> dict[str, ErrorCode]:
    return {
        f"{topic.name}-{each.partition_index}": ErrorCode(each.partition_error_code)
        for topic in results
        for each in topic.results_by_partition
    }


def _one_code(results: list[Any]) -> ErrorCode:
    """Return the one error code that all results have."""
    (code,) = set(_codes(results).values())
    return code
