"""A transactional producer over the simulated wire, in the two protocols that clients speak.

v1: AddPartitionsToTxn, then Produce 11; AddOffsetsToTxn, then TxnOffsetCommit 4; EndTxn 4
v2: Produce 12 and TxnOffsetCommit 5 are all it takes; EndTxn 5 gives the next epoch (KIP-890)
"""

from typing import Any

from tests.support.serving import batch_of

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from tidelog.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from tidelog.protocol.messages.describe_transactions import DescribeTransactionsRequest
from tidelog.protocol.messages.end_txn import EndTxnRequest
from tidelog.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tidelog.protocol.messages.init_producer_id import InitProducerIdRequest
from tidelog.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from tidelog.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tidelog.records.aborted import AbortedFilter, AbortedTransaction
from tidelog.records.batch import batches
from tidelog.server.cluster.internal_topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from tidelog.sim.node_world import NodeWorld, SimClient

READ_COMMITTED = 1
SMALL = {
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "2",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "2",
}


def transactional_world(seed: int = 1, **overrides: str) -> NodeWorld:
    """Return a node whose coordinators are active."""
    named = {name.replace("_", "."): value for name, value in overrides.items()}
    world = NodeWorld(seed, {**SMALL, **named})
    with_coordinators(world)
    return world


def with_coordinators(world: NodeWorld) -> None:
    broker = world.running.broker
    for topic, family in (
        (CONSUMER_OFFSETS, broker.coordinators.groups),
        (TRANSACTION_STATE, broker.coordinators.transactions),
    ):
        if topic not in broker.image.topics.by_name:
            broker.internal_topics.create(topic)
        world.wait_for(lambda family=family: len(family.machines()) == family.partition_count or None)


class SimProducer:
    """A producer with one connection and one transactional id. Methods that return an answer do not fail on its
    errors."""

    def __init__(self, world: NodeWorld, transactional_id: str, *, is_v2: bool = True) -> None:
        self.world = world
        self.client: SimClient = world.client()
        self.transactional_id = transactional_id
        self.is_v2 = is_v2
        self.producer_id = self.producer_epoch = -1
        self.sequences: dict[tuple[str, int], int] = {}

    def ask_init(self, timeout_ms: int = 60_000, version: int = 5) -> Any:
        return self.client.ask(
            InitProducerIdRequest(transactional_id=self.transactional_id, transaction_timeout_ms=timeout_ms), version
        )

    def init(self, timeout_ms: int = 60_000) -> "SimProducer":
        """Initialise the producer as clients do: ask again while the last transaction is being ended."""
        answer = self.ask_init(timeout_ms)
        while answer.error_code == ErrorCode.CONCURRENT_TRANSACTIONS:
            self.world.run(20)
            answer = self.ask_init(timeout_ms)
        assert answer.error_code == ErrorCode.NONE, answer
        self.producer_id, self.producer_epoch = answer.producer_id, answer.producer_epoch
        self.sequences.clear()
        return self

    # In a transaction

    def ask_add(self, *topic_partitions: tuple[str, int], version: int = 3) -> Any:
        topics = [AddPartitionsToTxnTopic(name=topic, partitions=[index]) for topic, index in topic_partitions]
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.producer_epoch,
            v3_and_below_topics=topics,
        )
        return self.client.ask(request, version)

    def add(self, *topic_partitions: tuple[str, int]) -> None:
        answer = self.ask_add(*topic_partitions)
        while answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code == 51:
            self.world.run(20)
            answer = self.ask_add(*topic_partitions)
        results = answer.results_by_topic_v3_and_below
        assert not any(each.partition_error_code for topic in results for each in topic.results_by_partition), answer

    def batch(self, topic_partition: tuple[str, int], *values: bytes) -> memoryview:
        """Build the producer's next batch for this partition."""
        sequence = self.sequences.get(topic_partition, 0)
        self.sequences[topic_partition] = sequence + len(values)
        return batch_of(
            *values,
            first_timestamp=self.world.clock.wall_ms(),
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=sequence,
            is_transactional=True,
        )

    def request(self, *contents: tuple[tuple[str, int], memoryview]) -> ProduceRequest:
        topics = [
            TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=index, records=batch)])
            for (topic, index), batch in contents
        ]
        return ProduceRequest(transactional_id=self.transactional_id, acks=-1, timeout_ms=1_000, topic_data=topics)

    @property
    def produce_version(self) -> int:
        return 12 if self.is_v2 else 11

    def ask_produce(self, topic_partition: tuple[str, int], *values: bytes, version: int | None = None) -> Any:
        """Produce the values and return the partition's answer."""
        request = self.request((topic_partition, self.batch(topic_partition, *values)))
        response = self.client.ask(request, version or self.produce_version)
        return response.responses[0].partition_responses[0]

    def write(self, *topic_partitions: tuple[str, int], value: bytes = b"x") -> list[int]:
        """Write the same value to each partition, in one request; return the offsets."""
        if not self.is_v2:
            self.add(*topic_partitions)
        request = self.request(
            *((topic_partition, self.batch(topic_partition, value)) for topic_partition in topic_partitions)
        )
        response = self.client.ask(request, self.produce_version)
        answers = [each for topic in response.responses for each in topic.partition_responses]
        assert not any(each.error_code for each in answers), answers
        return [each.base_offset for each in answers]

    def ask_commit_offsets(
        self, group: str, offsets: dict[tuple[str, int], int], version: int | None = None
    ) -> list[ErrorCode]:
        topics = [
            TxnOffsetCommitRequestTopic(
                name=topic,
                partitions=[
                    TxnOffsetCommitRequestPartition(partition_index=index, committed_offset=at, committed_metadata="")
                ],
            )
            for (topic, index), at in offsets.items()
        ]
        request = TxnOffsetCommitRequest(
            transactional_id=self.transactional_id,
            group_id=group,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            topics=topics,
        )
        response = self.client.ask(request, version or (5 if self.is_v2 else 4))
        return [ErrorCode(each.error_code) for topic in response.topics for each in topic.partitions]

    def ask_add_offsets(self, group: str, version: int = 3) -> ErrorCode:
        request = AddOffsetsToTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            group_id=group,
        )
        return ErrorCode(self.client.ask(request, version).error_code)

    def commit_offsets(self, group: str, offsets: dict[tuple[str, int], int]) -> None:
        if not self.is_v2:
            assert self.ask_add_offsets(group) == ErrorCode.NONE
        assert not any(self.ask_commit_offsets(group, offsets))

    def end_request(self, *, commit: bool) -> EndTxnRequest:
        return EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            committed=commit,
        )

    @property
    def end_version(self) -> int:
        return 5 if self.is_v2 else 4

    def end(self, *, commit: bool = True) -> None:
        answer = self.client.ask(self.end_request(commit=commit), self.end_version)
        assert answer.error_code == ErrorCode.NONE, answer
        self.ended(answer)

    def ended(self, answer: Any) -> None:
        if self.is_v2:
            assert (answer.producer_id, answer.producer_epoch) != (self.producer_id, self.producer_epoch)
            self.producer_id, self.producer_epoch = answer.producer_id, answer.producer_epoch
            self.sequences.clear()

    def state(self) -> str:
        return state_of(self.client, self.transactional_id)


def state_of(client: SimClient, transactional_id: str) -> str:
    answer = client.ask(DescribeTransactionsRequest(transactional_ids=[transactional_id]), 0)
    described = answer.transaction_states[0]
    assert described.error_code == ErrorCode.NONE, described
    return str(described.transaction_state)


def fetch_request(
    topic_partition: tuple[str, int], offset: int = 0, *, isolation: int = READ_COMMITTED, max_wait_ms: int = 0
) -> FetchRequest:
    topic, index = topic_partition
    wanted = FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1 << 20)
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        isolation_level=isolation,
        topics=[FetchTopic(topic=topic, partitions=[wanted])],
    )


def last_stable(client: SimClient, topic_partition: tuple[str, int]) -> tuple[int, int]:
    """Return the last stable offset and the high watermark, as a client is told."""
    data = client.ask(fetch_request(topic_partition), 12).responses[0].partitions[0]
    return data.last_stable_offset, data.high_watermark


def committed_values(client: SimClient, topic_partition: tuple[str, int]) -> list[bytes]:
    """Return the values that a read_committed consumer gets from the whole partition."""
    found: list[bytes] = []
    offset = 0
    while True:
        data = client.ask(fetch_request(topic_partition, offset), 12).responses[0].partitions[0]
        assert data.error_code == ErrorCode.NONE, data
        aborted = [AbortedTransaction(each.producer_id, each.first_offset) for each in data.aborted_transactions]
        hidden = AbortedFilter(aborted)
        read = list(batches(bytes(data.records or b"")))
        for batch in read:
            is_seen = not hidden.hides(batch) and not batch.header.is_control
            found += [record.value or b"" for record in batch.records() if is_seen]
        if not read:
            assert offset == data.last_stable_offset
            return found
        offset = read[-1].header.last_offset + 1


def committed_offset(
    client: SimClient, group: str, topic_partition: tuple[str, int], *, require_stable: bool = False
) -> int:
    """Return the committed offset; -1 for none. -2 if there is one in a transaction that is not decided, which
    `require_stable` makes an error."""
    topic, index = topic_partition
    asked = OffsetFetchRequestGroup(
        group_id=group, topics=[OffsetFetchRequestTopics(name=topic, partition_indexes=[index])]
    )
    answer = client.ask(OffsetFetchRequest(groups=[asked], require_stable=require_stable), 8).groups[0]
    assert answer.error_code == ErrorCode.NONE, answer
    found = answer.topics[0].partitions[0]
    if found.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT:
        return -2
    assert found.error_code == ErrorCode.NONE, found
    return int(found.committed_offset)
