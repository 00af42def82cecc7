"""Whether a transaction knows of a partition that is about to be written to: the question to its coordinator (KIP-890).

A batch that was delayed on the network could arrive after its transaction has ended, and open one in the log that
nobody will ever end. So the first batch of a transaction in a partition waits for the coordinator's word. Clients of
before transaction version 2 have named the partition to it beforehand, and it is only asked; for those of version 2
it is told: to write is to take part.

What the coordinator says is put into the codes that a producer of that time understands.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from tidelog.coordinator.requests import CoordinatorRequest
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

BETWEEN_BROKERS = 5  # the version of AddPartitionsToTxn in which brokers ask


class Asking(Enum):
    """What is asked of the coordinator, and which answers the client understands: both follow from its request's
    version."""

    VERIFY = "verify"
    VERIFY_ABORTABLE = "verify, and TRANSACTION_ABORTABLE is understood"
    ADD = "add"  # transaction version 2

    @property
    def adds(self) -> bool:
        return self is Asking.ADD


def asking_of_produce(version: int) -> Asking:
    if version >= 12:
        return Asking.ADD
    return Asking.VERIFY_ABORTABLE if version == 11 else Asking.VERIFY


def asking_of_txn_offset_commit(version: int) -> Asking:
    if version >= 5:
        return Asking.ADD
    return Asking.VERIFY_ABORTABLE if version == 4 else Asking.VERIFY


@dataclass(slots=True)
class Producer:
    """The producer whose transaction is verified."""

    transactional_id: str
    producer_id: int
    producer_epoch: int


Refusals = dict[TopicPartition, ErrorCode]


def ask_coordinator(
    broker: "Broker",
    producer: Producer,
    partitions: Iterable[TopicPartition],
    asking: Asking,
    answer: Callable[[Refusals], None],
) -> None:
    """Ask the coordinator of `producer`. `answer` is called once, with the partitions that must not be written to."""
    topic_partitions = list(partitions)

    def reply(said: Any) -> None:
        answer(_refusals(said, topic_partitions, asking))

    request = CoordinatorRequest(_question(producer, topic_partitions, asking), BETWEEN_BROKERS, broker.turn.wall_ms)
    broker.coordinators.transactions.submit(producer.transactional_id, request, reply)


def _question(producer: Producer, topic_partitions: list[TopicPartition], asking: Asking) -> AddPartitionsToTxnRequest:
    topics: dict[str, AddPartitionsToTxnTopic] = {}
    for topic_partition in topic_partitions:
        topic = topics.setdefault(
            topic_partition.topic, AddPartitionsToTxnTopic(name=topic_partition.topic, partitions=[])
        )
        topic.partitions.append(topic_partition.partition)
    transaction = AddPartitionsToTxnTransaction(
        transactional_id=producer.transactional_id,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        verify_only=not asking.adds,
        topics=list(topics.values()),
    )
    return AddPartitionsToTxnRequest(transactions=[transaction])


def _refusals(said: Any, topic_partitions: list[TopicPartition], asking: Asking) -> Refusals:
    if isinstance(said, AddPartitionsToTxnResponse) and not said.error_code:
        found = {
            TopicPartition(topic.name, each.partition_index): ErrorCode(each.partition_error_code)
            for result in said.results_by_transaction
            for topic in result.topic_results
            for each in topic.results_by_partition
        }
        return {topic_partition: _understood(code, asking) for topic_partition, code in found.items() if code}
    if isinstance(said, AddPartitionsToTxnResponse):
        code = ErrorCode(said.error_code)
    else:
        code = said.code if isinstance(said, ApiError) else said
    return dict.fromkeys(topic_partitions, _understood(code, asking))


def _understood(code: ErrorCode, asking: Asking) -> ErrorCode:
    """Translate an error of the coordinator into one that the producer knows."""
    if code is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if code is ErrorCode.TRANSACTION_ABORTABLE and asking is Asking.VERIFY:
        return ErrorCode.INVALID_TXN_STATE
    return code
