"""The requests of producers, transactions and their observers, as short as a scenario wants them.

Every scenario has a topic of its own with two partitions (`Asking.topic`), and transactional ids that begin with its
name. Versions are the last before transaction version 2, or the first with it: `V1` and `V2`.
"""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from tests.interop.apache.transactions.script import Script

from tidelog.model.ids import ZERO_UUID, Uuid
from tidelog.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from tidelog.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from tidelog.protocol.messages.delete_topics import DeleteTopicsRequest
from tidelog.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from tidelog.protocol.messages.describe_transactions import DescribeTransactionsRequest
from tidelog.protocol.messages.end_txn import EndTxnRequest
from tidelog.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tidelog.protocol.messages.init_producer_id import InitProducerIdRequest
from tidelog.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tidelog.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tidelog.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tidelog.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tidelog.records.builder import BatchBuilder, BatchOptions

FIRST_BY_ID = 13  # the first version of Produce with topic ids
UNKNOWN_TOPIC_ID = Uuid(b"nobody has it...")
READ_COMMITTED = 1
LATEST = -1
SETTLE_SECONDS_MAX = 60
LONG_MS = 600_000  # longer than all scenarios together take, on whatever machine
# Recent, so that a marker, which has the present time, does not roll the segment: brokers may roll at different times.
FIRST_TIMESTAMP = int(time.time() * 1_000) - 60_000


class Versions(NamedTuple):
    init: int
    produce: int
    add_partitions: int
    add_offsets: int
    commit_offsets: int
    end: int

    @property
    def is_v2(self) -> bool:
        return self.end >= 5


V1 = Versions(init=4, produce=11, add_partitions=3, add_offsets=3, commit_offsets=4, end=4)
V2 = Versions(init=5, produce=12, add_partitions=3, add_offsets=4, commit_offsets=5, end=5)


class Producer(NamedTuple):
    """The identity that a producer claims in its requests."""

    transactional_id: str | None
    producer_id: int
    epoch: int

    def at(self, epoch: int) -> "Producer":
        return self._replace(epoch=epoch)


def batch(producer: Producer, sequence: int, count: int = 1, *, is_transactional: bool | None = None) -> bytes:
    """Build a batch whose values name epoch and sequence, so that a fetch shows which records were kept."""
    wanted = producer.transactional_id is not None if is_transactional is None else is_transactional
    options = BatchOptions(
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        base_sequence=sequence,
        is_transactional=wanted,
    )
    builder = BatchBuilder(options=options)
    for index in range(count):
        builder.append(FIRST_TIMESTAMP + index, None, b"%d/%d" % (producer.epoch, sequence + index))
    return bytes(builder.build())


class Asking:
    def __init__(self, script: Script, versions: Versions = V2) -> None:
        self.script = script
        self.versions = versions
        self.topic = script.name
        self.id = f"{script.name}-id"

    # Producers

    def init(
        self,
        transactional_id: str | None,
        as_: Producer | None = None,
        *,
        timeout_ms: int = LONG_MS,
        version: int | None = None,
        why: str = "",
    ) -> Producer:
        request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=timeout_ms)
        if as_ is not None:
            request.producer_id, request.producer_epoch = as_.producer_id, as_.epoch
        answer = self.script.ask(request, self.versions.init if version is None else version, why)
        return Producer(transactional_id, answer.producer_id, answer.producer_epoch)

    def produce(
        self,
        producer: Producer,
        sequence: int,
        count: int = 1,
        *,
        partition: int = 0,
        topic: str | None = None,
        names_id: bool = True,
        is_transactional: bool | None = None,
        version: int | None = None,
        why: str = "",
    ) -> Any:
        records = batch(producer, sequence, count, is_transactional=is_transactional)
        transactional_id = producer.transactional_id if names_id else None
        return self.produce_raw(transactional_id, [(topic, partition, records)], version=version, why=why)

    def produce_raw(
        self,
        transactional_id: str | None,
        contents: Sequence[tuple[str | None, int, bytes | None]],
        *,
        version: int | None = None,
        why: str = "",
    ) -> Any:
        """Produce the given bytes. Each content is topic (None: the scenario's), partition and records."""
        wanted = self.versions.produce if version is None else version
        topics = []
        for topic, index, records in contents:
            name, data = self.topic if topic is None else topic, [PartitionProduceData(index=index, records=records)]
            topics.append(TopicProduceData(name=name, topic_id=self._topic_id(name, wanted), partition_data=data))
        request = ProduceRequest(transactional_id=transactional_id, acks=-1, timeout_ms=10_000, topic_data=topics)
        return self.script.ask(request, wanted, why)

    def _topic_id(self, name: str, produce_version: int) -> Uuid:
        if produce_version < FIRST_BY_ID:
            return ZERO_UUID
        request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
        found = Uuid(bytes(self.script.ask_unrecorded(request, 12).topics[0].topic_id))
        return UNKNOWN_TOPIC_ID if found == ZERO_UUID else found

    # Transactions

    def add(
        self,
        producer: Producer,
        partitions: Sequence[int] = (0,),
        *,
        others: Sequence[tuple[str, Sequence[int]]] = (),
        version: int | None = None,
        why: str = "",
    ) -> Any:
        topics = [
            AddPartitionsToTxnTopic(name=name, partitions=list(indexes))
            for name, indexes in ((self.topic, partitions), *others)
        ]
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=producer.transactional_id or "",
            v3_and_below_producer_id=producer.producer_id,
            v3_and_below_producer_epoch=producer.epoch,
            v3_and_below_topics=topics,
        )
        return self.script.ask(request, self.versions.add_partitions if version is None else version, why)

    def add_batched(
        self, *several: tuple[Producer, Sequence[tuple[str, Sequence[int]]], bool], version: int = 5, why: str = ""
    ) -> Any:
        """Send AddPartitionsToTxn as a broker does. Each element is a producer, topics with their partitions, and
        whether to verify only."""
        transactions = [
            AddPartitionsToTxnTransaction(
                transactional_id=producer.transactional_id or "",
                producer_id=producer.producer_id,
                producer_epoch=producer.epoch,
                verify_only=verify_only,
                topics=[AddPartitionsToTxnTopic(name=name, partitions=list(indexes)) for name, indexes in topics],
            )
            for producer, topics, verify_only in several
        ]
        return self.script.ask(AddPartitionsToTxnRequest(transactions=transactions), version, why)

    def add_offsets(self, producer: Producer, group_id: str, *, version: int | None = None, why: str = "") -> Any:
        request = AddOffsetsToTxnRequest(
            transactional_id=producer.transactional_id or "",
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            group_id=group_id,
        )
        return self.script.ask(request, self.versions.add_offsets if version is None else version, why)

    def commit_offsets(
        self,
        producer: Producer,
        group_id: str,
        offset: int = 7,
        *,
        partitions: Sequence[int] = (0,),
        topic: str | None = None,
        metadata: str | None = "",
        member: tuple[str, int] = ("", -1),
        instance_id: str | None = None,
        version: int | None = None,
        why: str = "",
    ) -> Any:
        wanted = [
            TxnOffsetCommitRequestPartition(
                partition_index=index, committed_offset=offset, committed_metadata=metadata, committed_leader_epoch=0
            )
            for index in partitions
        ]
        request = TxnOffsetCommitRequest(
            transactional_id=producer.transactional_id or "",
            group_id=group_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            member_id=member[0],
            generation_id=member[1],
            group_instance_id=instance_id,
            topics=[TxnOffsetCommitRequestTopic(name=self.topic if topic is None else topic, partitions=wanted)],
        )
        return self.script.ask(request, self.versions.commit_offsets if version is None else version, why)

    def end(
        self, producer: Producer, *, commit: bool = True, version: int | None = None, settle: bool = True, why: str = ""
    ) -> Producer:
        """End the transaction; return the producer's identity afterwards, which before version 5 is the same."""
        request = EndTxnRequest(
            transactional_id=producer.transactional_id or "",
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            committed=commit,
        )
        answer = self.script.ask(request, self.versions.end if version is None else version, why)
        if settle:
            self.settle(producer.transactional_id or "")
        if answer.producer_epoch < 0:
            return producer
        return Producer(producer.transactional_id, answer.producer_id, answer.producer_epoch)

    def write_markers(
        self,
        producer: Producer,
        *,
        commit: bool = False,
        coordinator_epoch: int = 0,
        partitions: Sequence[int] = (0,),
        topic: str | None = None,
        transaction_version: int = 2,
        version: int = 2,
        why: str = "",
    ) -> Any:
        name = self.topic if topic is None else topic
        marker = WritableTxnMarker(
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            transaction_result=commit,
            topics=[WritableTxnMarkerTopic(name=name, partition_indexes=list(partitions))],
            coordinator_epoch=coordinator_epoch,
            transaction_version=transaction_version,
        )
        return self.script.ask(WriteTxnMarkersRequest(markers=[marker]), version, why)

    def open(self, producer: Producer, sequence: int = 0, partition: int = 0) -> None:
        """Begin a transaction with one record in one partition, by the protocol of these versions."""
        if not self.versions.is_v2:
            self.add(producer, [partition])
        self.produce(producer, sequence, partition=partition)

    def settle(self, transactional_id: str) -> None:
        """Wait until the markers of a decided transaction are written, which a broker does in its own time."""
        deadline = time.monotonic() + SETTLE_SECONDS_MAX
        while self._state(transactional_id).startswith("Prepare"):
            assert time.monotonic() < deadline, f"{transactional_id} stays prepared"
            time.sleep(0.01)

    def await_abort(self, transactional_id: str) -> None:
        """Wait until the transaction is aborted by its timeout."""
        deadline = time.monotonic() + SETTLE_SECONDS_MAX
        while self._state(transactional_id) != "CompleteAbort":
            assert time.monotonic() < deadline, f"{transactional_id} does not time out"
            time.sleep(0.02)

    def _state(self, transactional_id: str) -> str:
        request = DescribeTransactionsRequest(transactional_ids=[transactional_id])
        return str(self.script.ask_unrecorded(request, 0).transaction_states[0].transaction_state)

    def delete_topic(self) -> None:
        """Delete the topic, and wait until nobody sees it any more."""
        request = DeleteTopicsRequest(topic_names=[self.topic], timeout_ms=10_000)
        self.script.ask(request, 5)
        deadline = time.monotonic() + SETTLE_SECONDS_MAX
        while self._topic_id(self.topic, FIRST_BY_ID) != UNKNOWN_TOPIC_ID:
            assert time.monotonic() < deadline
            time.sleep(0.01)

    # Observers

    def describe(self, *transactional_ids: str, why: str = "") -> Any:
        request = DescribeTransactionsRequest(transactional_ids=list(transactional_ids))
        return self.script.ask(request, 0, why)

    def producers(self, *partitions: int, topic: str | None = None, why: str = "") -> Any:
        wanted = TopicRequest(name=self.topic if topic is None else topic, partition_indexes=list(partitions))
        return self.script.ask(DescribeProducersRequest(topics=[wanted]), 0, why)

    def fetch(self, offset: int = 0, *, partition: int = 0, isolation: int = READ_COMMITTED, version: int = 12) -> Any:
        wanted = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=1 << 20)
        topics = [FetchTopic(topic=self.topic, partitions=[wanted])]
        request = FetchRequest(max_wait_ms=0, min_bytes=0, isolation_level=isolation, topics=topics)
        return self.script.ask(request, version, "read_committed" if isolation else "read_uncommitted")

    def offset(
        self, timestamp: int = LATEST, *, partition: int = 0, isolation: int = READ_COMMITTED, version: int = 7
    ) -> Any:
        wanted = ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
        topics = [ListOffsetsTopic(name=self.topic, partitions=[wanted])]
        request = ListOffsetsRequest(replica_id=-1, isolation_level=isolation, topics=topics)
        return self.script.ask(request, version, f"timestamp {timestamp}, isolation {isolation}")

    def look(self, *transactional_ids: str) -> None:
        """Ask for everything that shows the state of this scenario."""
        self.describe(*transactional_ids)
        self.producers(0, 1)
        for partition in (0, 1):
            self.fetch(partition=partition)
