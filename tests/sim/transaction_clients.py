"""Transactional producers of a simulated node, in the two protocols: one transaction after the other, each step
repeated until it is answered. Now and then one dies (the next producer with its id fences it, and its last requests
come late), or falls asleep past its timeout."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.sim.coordinator_clients import RETRIABLE, CoordinatorClient, CoordinatorScene
from tests.sim.coordinator_ledger import Place, Transaction, value_of
from tests.support.serving import batch_of

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from tidelog.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from tidelog.protocol.messages.end_txn import EndTxnRequest
from tidelog.protocol.messages.init_producer_id import InitProducerIdRequest
from tidelog.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

TIMEOUT_MS = 900
# The answers to a producer that is not the latest of its id, or whose transaction was aborted by its timeout.
FENCED = (
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.TRANSACTION_ABORTABLE,
)
# Further answers, after a power loss that took what was not synced.
LOST = (ErrorCode.INVALID_PRODUCER_ID_MAPPING, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID)


@dataclass(frozen=True)
class Identity:
    producer_id: int
    epoch: int


@dataclass
class Said:
    """A request that may be sent again, late."""

    identity: Identity
    number: int  # the transaction's number
    request: object
    version: int


class Transactor(CoordinatorClient):
    def __init__(self, scene: CoordinatorScene, number: int, *, is_v2: bool) -> None:
        super().__init__(scene, number)
        self.is_v2 = is_v2
        self.transactional_id = f"tx-{number}"
        self.group = f"group-of-{self.transactional_id}"
        self.identity: Identity | None = None
        self.transaction: Transaction | None = None
        self.count = 0
        self.said: list[Said] = []
        self.fenced = 0
        self.is_mocked = False  # a zombie has repeated batches of this epoch
        self._begun_ms = 0
        self._sequences: dict[Place, int] = {}
        self._unsent: dict[Place, list[bytes]] = {}
        self._steps: list[Callable[[], None]] = []

    # Its life

    def act(self) -> None:
        if self.identity is None:
            self._init()
        elif not self.scene.is_calm and self.scene.chance(0.01):
            self._die()
        elif not self.scene.is_calm and self.scene.chance(0.01):
            self.wakes_ms = self.scene.now_ms + self.scene.random.choice([100, TIMEOUT_MS + 300])
        elif not self._steps:
            self._begin()
        else:
            self._steps[0]()

    def _die(self) -> None:
        """Let another process take its place, which knows nothing."""
        self.hang_up()
        self._forget()
        self.pause(300)

    def _forget(self) -> None:
        self.identity = self.transaction = None
        self._steps, self._unsent = [], {}
        self.is_mocked = False

    def _init(self) -> None:
        request = InitProducerIdRequest(transactional_id=self.transactional_id, transaction_timeout_ms=TIMEOUT_MS)

        def answered(answer: Any) -> None:
            code = ErrorCode(answer.error_code)
            if code is ErrorCode.NONE:
                self._take(answer)
                self._sequences.clear()
            else:
                assert code in RETRIABLE, code
                self.pause(20)

        self.ask(request, self.scene.random.choice([4, 5]), answered)

    def _take(self, answer: Any) -> None:
        self.identity = Identity(answer.producer_id, answer.producer_epoch)

    # A transaction

    def _begin(self) -> None:
        self.count += 1
        self.transaction = self.scene.ledger.begin(self.transactional_id, self.count)
        self._begun_ms = self.scene.now_ms
        topic_partitions = self.scene.random.sample(self.scene.topic_partitions, self.scene.random.randint(1, 3))
        numbers = iter(range(100))
        for topic_partition in topic_partitions:
            count = self.scene.random.randint(1, 3)
            self._unsent[topic_partition] = [
                value_of(self.transactional_id, self.count, next(numbers)) for _ in range(count)
            ]
        self.transaction.values = dict(self._unsent)
        self._steps = [] if self.is_v2 else [lambda: self._add(topic_partitions)]
        self._steps.append(self._produce)
        if self.scene.chance(0.5):
            self._steps += [self._commit_offsets] if self.is_v2 else [self._add_offsets, self._commit_offsets]
        commit = self.scene.chance(0.7)
        self._steps.append(lambda: self._end(commit=commit))

    def say(self, request: object, version: int, heard: Callable[[Any], None]) -> None:
        assert self.identity is not None
        self.said = [*self.said[-20:], Said(self.identity, self.count, request, version)]
        self.ask(request, version, heard)

    def _add(self, topic_partitions: list[Place]) -> None:
        assert self.identity is not None
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.identity.producer_id,
            v3_and_below_producer_epoch=self.identity.epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=t, partitions=[p]) for t, p in topic_partitions],
        )

        def answered(answer: Any) -> None:
            topics = answer.results_by_topic_v3_and_below
            codes = [each.partition_error_code for topic in topics for each in topic.results_by_partition]
            self._done(codes)

        self.say(request, 3, answered)

    def _produce(self) -> None:
        contents = [
            TopicProduceData(
                name=topic,
                partition_data=[
                    PartitionProduceData(index=index, records=self._batch((topic, index), self._unsent[topic, index]))
                ],
            )
            for topic, index in self._unsent
        ]
        request = ProduceRequest(transactional_id=self.transactional_id, acks=-1, timeout_ms=1_000, topic_data=contents)
        self.say(request, 12 if self.is_v2 else 11, self._produced)

    def _batch(self, topic_partition: Place, values: list[bytes]) -> memoryview:
        assert self.identity is not None
        return batch_of(
            *values,
            first_timestamp=self.scene.world.clock.wall_ms(),
            producer_id=self.identity.producer_id,
            producer_epoch=self.identity.epoch,
            base_sequence=self._sequences.get(topic_partition, 0),
            is_transactional=True,
        )

    def _produced(self, answer: Any) -> None:
        refused = []
        for topic in answer.responses:
            for each in topic.partition_responses:
                topic_partition = (topic.name, each.index)
                if each.error_code == ErrorCode.NONE:
                    values = self._unsent.pop(topic_partition)
                    self._sequences[topic_partition] = self._sequences.get(topic_partition, 0) + len(values)
                else:
                    refused.append(each.error_code)
        self._done(refused or [ErrorCode.NONE])

    def _add_offsets(self) -> None:
        assert self.identity is not None
        request = AddOffsetsToTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.identity.producer_id,
            producer_epoch=self.identity.epoch,
            group_id=self.group,
        )
        self.say(request, 3, lambda answer: self._done([answer.error_code]))

    def _commit_offsets(self) -> None:
        assert self.identity is not None
        topic, index = self.scene.topic_partitions[0]
        partition = TxnOffsetCommitRequestPartition(
            partition_index=index, committed_offset=self.count, committed_metadata=self.transactional_id
        )
        request = TxnOffsetCommitRequest(
            transactional_id=self.transactional_id,
            group_id=self.group,
            producer_id=self.identity.producer_id,
            producer_epoch=self.identity.epoch,
            topics=[TxnOffsetCommitRequestTopic(name=topic, partitions=[partition])],
        )

        def answered(answer: Any) -> None:
            assert self.transaction is not None
            code = answer.topics[0].partitions[0].error_code
            self.transaction.offsets |= code == ErrorCode.NONE
            self._done([code])

        self.say(request, 5 if self.is_v2 else 4, answered)

    def _end(self, *, commit: bool) -> None:
        assert self.identity is not None
        assert self.transaction is not None
        transaction = self.transaction
        transaction.asked_to_commit |= commit
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.identity.producer_id,
            producer_epoch=self.identity.epoch,
            committed=commit,
        )

        def answered(answer: Any) -> None:
            if answer.error_code == ErrorCode.NONE:
                transaction.outcome = commit
                if self.is_v2:
                    self._take(answer)
                    self._sequences.clear()
            self._done([answer.error_code])

        self.say(request, 5 if self.is_v2 else 4, answered)

    def _done(self, codes: list[int]) -> None:
        """Go to the next step if there was no error; begin anew if the producer was fenced."""
        if not any(codes):
            self._steps.pop(0)
            self.pause(10)
        elif any(code in FENCED for code in codes):
            late_ms = self.scene.now_ms - self._begun_ms
            assert late_ms > TIMEOUT_MS or self.scene.ledger.is_forgiven, (
                f"{self.transactional_id} was fenced after {late_ms} ms: {codes}"
            )
            self.fenced += 1
            self._forget()
        elif self.is_mocked and ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER in codes:
            self._forget()  # while a late batch is verified, only its successor is accepted, as in Kafka
        elif self.scene.ledger.is_forgiven and any(code in LOST for code in codes):
            self._forget()
        else:
            assert all(code in (ErrorCode.NONE, *RETRIABLE) for code in codes), [ErrorCode(code) for code in codes]
            self.pause(20)


class Zombie(CoordinatorClient):
    """A client that repeats requests of producers, also of those that are dead.

    Under the old protocol an epoch may have several transactions, and nobody can tell a late request of one from that
    of the next, save batches by their sequence: requests that Kafka does not refuse there either are left out.
    """

    def __init__(self, scene: CoordinatorScene, number: int, victims: list[Transactor]) -> None:
        super().__init__(scene, number)
        self.victims = victims

    def act(self) -> None:
        victim = self.scene.random.choice(self.victims)
        if not victim.said:
            return
        said = self.scene.random.choice(victim.said)
        if victim.identity is None:
            return  # its last request may not be fenced yet, and would not be a repetition
        is_past = said.identity != victim.identity
        is_told_apart = isinstance(said.request, ProduceRequest) and said.number == victim.count
        if not (is_past or victim.is_v2 or is_told_apart):
            return
        victim.is_mocked |= not (is_past or victim.is_v2)
        is_fenced = is_past and not isinstance(said.request, EndTxnRequest)
        self.ask(said.request, said.version, lambda answer: self._answered(answer, is_fenced))
        self.pause(30)

    def _answered(self, answer: Any, is_fenced: bool) -> None:
        if is_fenced:
            codes = codes_of(answer)
            assert all(codes) or self.scene.ledger.is_forgiven, f"a fenced producer was let in: {answer}"


def codes_of(answer: Any) -> list[int]:
    if hasattr(answer, "responses"):
        return [each.error_code for topic in answer.responses for each in topic.partition_responses]
    if hasattr(answer, "results_by_topic_v3_and_below"):
        topics = answer.results_by_topic_v3_and_below
        return [each.partition_error_code for topic in topics for each in topic.results_by_partition]
    if hasattr(answer, "topics"):
        return [each.error_code for topic in answer.topics for each in topic.partitions]
    return [answer.error_code]
