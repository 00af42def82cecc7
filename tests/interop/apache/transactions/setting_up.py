"""A broker made ready for the scenarios: a topic for each, coordinators loaded, and ids whose epochs are nearly used
up."""

import contextlib
import time

from tests.interop.apache.transactions.script import CLIENT_ID
from tests.support.blocking_connection import BlockingConnection

from tidelog.coordinator.record_framing import encode_key, encode_value
from tidelog.coordinator.transaction.records import TransactionLogKey, TransactionLogValue
from tidelog.coordinator.transaction.states import TransactionState
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tidelog.protocol.messages.describe_transactions import DescribeTransactionsRequest
from tidelog.protocol.messages.find_coordinator import FindCoordinatorRequest
from tidelog.protocol.messages.init_producer_id import InitProducerIdRequest
from tidelog.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tidelog.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from tidelog.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.records.builder import BatchBuilder

READY_SECONDS_MAX = 60
PARTITIONS = 2
ADMIN_CLIENT = "__admin_client"  # the name by which tools may write to internal topics
WORN_EPOCH = 32765  # after one more epoch the producer id is used up
GROUP, TRANSACTION = 0, 1


def prepare(bootstrap: str, topics: list[str]) -> None:
    with contextlib.closing(BlockingConnection(bootstrap, CLIENT_ID)) as wire:
        _create(wire, topics)
        await_coordinators(wire)


def leave_worn_ids(bootstrap: str, transactional_ids: dict[str, int]) -> None:
    """Write transactional ids, with their producer ids, that have almost no epochs left; the next start loads them."""
    with contextlib.closing(BlockingConnection(bootstrap, ADMIN_CLIENT)) as wire:
        await_coordinators(wire)
        builder = BatchBuilder()
        for transactional_id, producer_id in transactional_ids.items():
            value = TransactionLogValue(
                producer_id=producer_id,
                producer_epoch=WORN_EPOCH,
                transaction_timeout_ms=60_000,
                transaction_status=TransactionState.EMPTY,
                transaction_partitions=None,
                transaction_last_update_timestamp_ms=int(time.time() * 1_000),
                transaction_start_timestamp_ms=-1,
            )
            key = TransactionLogKey(transactional_id=transactional_id)
            builder.append(int(time.time() * 1_000), encode_key(key), encode_value(value, 1))
        data = [PartitionProduceData(index=0, records=builder.build())]
        topics = [TopicProduceData(name="__transaction_state", partition_data=data)]
        answer = wire.ask(ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=topics), 9)
        assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE, answer


def await_coordinators(wire: BlockingConnection) -> None:
    """Wait until the coordinators have loaded everything."""
    _await_coordinator(wire, GROUP)
    _await_coordinator(wire, TRANSACTION)
    _await_groups(wire)
    _await_transactions(wire)
    _await_producer_ids(wire)


def _create(wire: BlockingConnection, topics: list[str]) -> None:
    wanted = [
        CreatableTopic(name=name, num_partitions=PARTITIONS, replication_factor=1, assignments=[], configs=[])
        for name in topics
    ]
    answer = wire.ask(CreateTopicsRequest(topics=wanted), 7)
    assert {each.error_code for each in answer.topics} == {ErrorCode.NONE}, answer
    _await_leaders(wire, topics)


def _await_leaders(wire: BlockingConnection, topics: list[str]) -> None:
    """Wait until the partitions are led: a broker may know of a topic well before it leads them."""
    deadline = time.monotonic() + READY_SECONDS_MAX
    partitions = [ListOffsetsPartition(partition_index=index, timestamp=-1) for index in range(PARTITIONS)]
    wanted = [ListOffsetsTopic(name=name, partitions=partitions) for name in topics]
    request = ListOffsetsRequest(replica_id=-1, topics=wanted)
    while any(each.error_code for topic in wire.ask(request, 7).topics for each in topic.partitions):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def _await_coordinator(wire: BlockingConnection, key_type: int) -> None:
    """Wait until the coordinator is found; its topic is created when it is first asked for."""
    deadline = time.monotonic() + READY_SECONDS_MAX
    request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=["warm-up"])
    while wire.ask(request, 4).coordinators[0].error_code:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _await_groups(wire: BlockingConnection) -> None:
    deadline = time.monotonic() + READY_SECONDS_MAX
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="warm-up", topics=[])])
    while wire.ask(request, 8).groups[0].error_code:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _await_transactions(wire: BlockingConnection) -> None:
    deadline = time.monotonic() + READY_SECONDS_MAX
    request = DescribeTransactionsRequest(transactional_ids=["warm-up"])
    while wire.ask(request, 0).transaction_states[0].error_code != ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _await_producer_ids(wire: BlockingConnection) -> None:
    """Wait until the broker has producer ids to give, which it has to ask the controller for."""
    deadline = time.monotonic() + READY_SECONDS_MAX
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=10_000)
    while wire.ask(request, 4).error_code:
        assert time.monotonic() < deadline
        time.sleep(0.05)
