"""WriteTxnMarkers, as other brokers and operators send it, and TxnOffsetCommit, whose offsets a marker decides."""

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from tests.support.serving import batch_of, create, produced
from tests.support.transactional import (
    SimProducer,
    committed_offset,
    committed_values,
    fetch_request,
    transactional_world,
)

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from tidelog.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tidelog.server.cluster.internal_topics import CONSUMER_OFFSETS
from tidelog.sim.node_world import NodeWorld, SimClient

_names = count()


@pytest.fixture(scope="module")
def shared() -> NodeWorld:
    return transactional_world(24)


@pytest.fixture
def world(shared: NodeWorld) -> Iterator[NodeWorld]:
    before = shared.running.broker.dispatch.bugs
    yield shared
    assert shared.running.broker.dispatch.bugs == before


@pytest.fixture
def client(world: NodeWorld) -> SimClient:
    return world.client()


@pytest.fixture
def topic(client: SimClient) -> str:
    name = f"m{next(_names)}"
    create(client, name, partitions=2)
    return name


def producer(world: NodeWorld, *, is_v2: bool = True) -> SimProducer:
    return SimProducer(world, f"mid{next(_names)}", is_v2=is_v2).init()


def marker(
    one: SimProducer,
    *topic_partitions: tuple[str, int],
    commit: bool = False,
    epoch: int | None = None,
    coordinator_epoch: int = 0,
) -> WritableTxnMarker:
    return WritableTxnMarker(
        producer_id=one.producer_id,
        producer_epoch=one.producer_epoch if epoch is None else epoch,
        transaction_result=commit,
        topics=[WritableTxnMarkerTopic(name=topic, partition_indexes=[index]) for topic, index in topic_partitions],
        coordinator_epoch=coordinator_epoch,
    )


def codes(response: Any) -> list[list[ErrorCode]]:
    return [
        [ErrorCode(each.error_code) for topic in result.topics for each in topic.partitions]
        for result in response.markers
    ]


def write(client: SimClient, *markers: WritableTxnMarker, version: int = 1) -> list[list[ErrorCode]]:
    return codes(client.ask(WriteTxnMarkersRequest(markers=list(markers)), version))


def end_offset(client: SimClient, topic_partition: tuple[str, int]) -> int:
    return int(client.ask(fetch_request(topic_partition), 12).responses[0].partitions[0].high_watermark)


def described(client: SimClient, topic_partition: tuple[str, int]) -> Any:
    request = DescribeProducersRequest(
        topics=[TopicRequest(name=topic_partition[0], partition_indexes=[topic_partition[1]])]
    )
    (found,) = client.ask(request, 0).topics[0].partitions[0].active_producers
    return found


@pytest.mark.parametrize("version", [1, 2])
def test_an_operator_aborts_what_hangs(world: NodeWorld, client: SimClient, topic: str, version: int) -> None:
    """The request has the epoch of the open transaction, and the coordinator epoch that DescribeProducers gave (-1:
    none)."""
    one = producer(world, is_v2=False)
    one.write((topic, 0))
    found = described(client, (topic, 0))
    assert (found.producer_id, found.current_txn_start_offset, found.coordinator_epoch) == (one.producer_id, 0, -1)
    abort = marker(one, (topic, 0), coordinator_epoch=-1)
    assert write(client, abort, version=version) == [[ErrorCode.NONE]]
    assert committed_values(client, (topic, 0)) == []
    found = described(client, (topic, 0))
    assert (found.current_txn_start_offset, found.coordinator_epoch) == (-1, -1)


def test_every_marker_and_partition_gets_its_answer(world: NodeWorld, client: SimClient, topic: str) -> None:
    one, other = producer(world, is_v2=False), producer(world, is_v2=False)
    one.write((topic, 0), (topic, 1))
    other.write((topic, 0), value=b"other")
    answer = write(
        client,
        marker(one, (topic, 0), (topic, 1), (topic, 9), ("absent", 0), commit=True),
        marker(other, (topic, 0), commit=True),
        marker(other, (topic, 1), commit=True),  # the same producer again: one answer for both
    )
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert answer[0] == [ErrorCode.NONE, ErrorCode.NONE, unknown, unknown]
    assert answer[1] == [ErrorCode.NONE, ErrorCode.NONE]
    assert committed_values(client, (topic, 0)) == [b"x", b"other"]


def test_nothing_to_write(client: SimClient) -> None:
    assert client.ask(WriteTxnMarkersRequest(markers=[]), 2).markers == []


def test_no_producer(world: NodeWorld, client: SimClient, topic: str) -> None:
    nobody = SimProducer(world, "nobody")
    assert write(client, marker(nobody, (topic, 0))) == [[ErrorCode.INVALID_REQUEST]]


def test_a_lower_epoch_ends_nothing(world: NodeWorld, client: SimClient, topic: str) -> None:
    SimProducer(world, f"twice-{topic}").init()
    one = SimProducer(world, f"twice-{topic}").init()
    one.write((topic, 0))
    assert write(client, marker(one, (topic, 0), epoch=0), version=2) == [[ErrorCode.INVALID_PRODUCER_EPOCH]]
    assert end_offset(client, (topic, 0)) == 1


def test_a_coordinator_that_was_replaced_ends_nothing(world: NodeWorld, client: SimClient, topic: str) -> None:
    one = producer(world, is_v2=False)
    one.write((topic, 0))
    assert write(client, marker(one, (topic, 0), coordinator_epoch=5)) == [[ErrorCode.NONE]]
    stale = marker(one, (topic, 0), coordinator_epoch=4)
    assert write(client, stale) == [[ErrorCode.TRANSACTION_COORDINATOR_FENCED]]
    assert end_offset(client, (topic, 0)) == 2


def test_too_few_in_sync_replicas(world: NodeWorld, client: SimClient, topic: str) -> None:
    one = producer(world)
    one.write((topic, 0))
    partition = next(each for at, each in world.running.broker.hosted.by_topic_partition.items() if at == (topic, 0))
    partition.isr_size = 0
    assert write(client, marker(one, (topic, 0))) == [[ErrorCode.NOT_ENOUGH_REPLICAS]]
    one.end()
    assert one.state() == "PrepareCommit", "the coordinator waits, and tries again"
    partition.isr_size = 1
    world.wait_for(lambda: one.state() == "CompleteCommit" or None)
    assert committed_values(client, (topic, 0)) == [b"x"]


def test_markers_for_a_groups_offsets_go_through_its_coordinator(
    world: NodeWorld, client: SimClient, topic: str
) -> None:
    group = f"g-{topic}"
    index = world.running.broker.coordinators.groups.partition_for(group)
    one = producer(world, is_v2=False)
    one.commit_offsets(group, {(topic, 0): 11})
    assert write(client, marker(one, (CONSUMER_OFFSETS, index), commit=True)) == [[ErrorCode.NONE]]
    assert committed_offset(client, group, (topic, 0), require_stable=True) == 11
    stale = marker(one, (CONSUMER_OFFSETS, index), coordinator_epoch=-1)
    assert write(client, stale) == [[ErrorCode.TRANSACTION_COORDINATOR_FENCED]]
    assert write(client, marker(one, (CONSUMER_OFFSETS, 77))) == [[ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]]


@pytest.fixture(scope="module")
def synced() -> NodeWorld:
    """Return a node on which a write counts only once it is on the disk, a while later."""
    return transactional_world(29, log_flush_interval_messages="1")


def test_a_marker_is_acknowledged_when_it_can_not_be_lost(synced: NodeWorld) -> None:
    client, topic = synced.client(), f"s{next(_names)}"
    create(client, topic)
    one = producer(synced, is_v2=False)
    one.write((topic, 0))
    partition = synced.running.broker.hosted.by_topic_partition[TopicPartition(topic, 0)]
    client.send(WriteTxnMarkersRequest(markers=[marker(one, (topic, 0), commit=True)]), 1)
    written: list[bool] = []

    def look() -> Any:
        written.append(partition.log.log_end_offset > partition.log.high_watermark)
        return client.poll()

    assert codes(synced.wait_for(look)) == [[ErrorCode.NONE]]
    assert any(written), "there was a time when it was written and not acknowledged"
    assert partition.log.high_watermark == partition.log.log_end_offset


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("isr_size", ErrorCode.REQUEST_TIMED_OUT),
        ("leader_id", ErrorCode.NOT_LEADER_OR_FOLLOWER),
    ],
)
def test_a_marker_whose_partition_is_lost_meanwhile(synced: NodeWorld, name: str, code: ErrorCode) -> None:
    client, topic = synced.client(), f"s{next(_names)}"
    create(client, topic)
    one = producer(synced, is_v2=False)
    one.write((topic, 0))
    partition = synced.running.broker.hosted.by_topic_partition[TopicPartition(topic, 0)]
    before = getattr(partition, name)
    client.send(WriteTxnMarkersRequest(markers=[marker(one, (topic, 0), commit=True)]), 1)
    synced.wait_for(lambda: partition.log.log_end_offset > partition.log.high_watermark or None)
    setattr(partition, name, type(before)(0))
    assert codes(client.receive()) == [[code]]
    setattr(partition, name, before)
    partition.advance()


# TxnOffsetCommit


@pytest.mark.parametrize("version", range(6))
def test_offsets_of_every_version(world: NodeWorld, client: SimClient, topic: str, version: int) -> None:
    group = f"g-{topic}"
    one = producer(world, is_v2=version >= 5)
    if version < 5:
        assert one.ask_add_offsets(group) == ErrorCode.NONE
    found = one.ask_commit_offsets(group, {("absent", 0): 1, (topic, 0): 5, (topic, 4): 1}, version)
    assert sorted(found) == [ErrorCode.NONE, *[ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 2]
    one.end()
    assert committed_offset(client, group, (topic, 0)) == 5


@pytest.mark.parametrize(("version", "code"), [(3, ErrorCode.INVALID_TXN_STATE), (4, ErrorCode.TRANSACTION_ABORTABLE)])
def test_offsets_that_were_not_added(
    world: NodeWorld, client: SimClient, topic: str, version: int, code: ErrorCode
) -> None:
    one = producer(world, is_v2=False)
    one.write((topic, 0))
    assert one.ask_commit_offsets(f"g-{topic}", {(topic, 0): 5}, version) == [code]
    one.end()
    assert committed_offset(client, f"g-{topic}", (topic, 0), require_stable=True) == -1


def test_offsets_of_a_fenced_producer_and_of_no_group(world: NodeWorld, topic: str) -> None:
    one = producer(world)
    assert one.ask_commit_offsets("", {(topic, 0): 5}) == [ErrorCode.INVALID_GROUP_ID]
    assert one.ask_commit_offsets(f"g-{topic}", {("absent", 0): 5}) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    SimProducer(world, one.transactional_id).init()
    assert one.ask_commit_offsets(f"g-{topic}", {(topic, 0): 5}) == [ErrorCode.INVALID_PRODUCER_EPOCH]
    assert one.ask_add_offsets(f"g-{topic}") == ErrorCode.PRODUCER_FENCED
    assert one.ask_add_offsets(f"g-{topic}", version=1) == ErrorCode.INVALID_PRODUCER_EPOCH


# AddPartitionsToTxn


def results(answer: Any) -> dict[tuple[str, int], ErrorCode]:
    return {
        (topic.name, each.partition_index): ErrorCode(each.partition_error_code)
        for topic in answer.results_by_topic_v3_and_below
        for each in topic.results_by_partition
    }


@pytest.mark.parametrize("version", range(4))
def test_all_partitions_are_added_or_none(world: NodeWorld, topic: str, version: int) -> None:
    one = producer(world, is_v2=False)
    answer = one.ask_add((topic, 0), ("absent", 0), (topic, 1), version=version)
    assert results(answer) == {
        (topic, 0): ErrorCode.OPERATION_NOT_ATTEMPTED,
        ("absent", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        (topic, 1): ErrorCode.OPERATION_NOT_ATTEMPTED,
    }
    assert one.state() == "Empty"
    assert set(results(one.ask_add((topic, 0), (topic, 1), version=version)).values()) == {ErrorCode.NONE}
    SimProducer(world, one.transactional_id).init()
    fenced = ErrorCode.PRODUCER_FENCED if version >= 2 else ErrorCode.INVALID_PRODUCER_EPOCH
    assert results(one.ask_add((topic, 0), version=version)) == {(topic, 0): fenced}


def test_a_producer_that_wrote_before_its_transaction(world: NodeWorld, client: SimClient, topic: str) -> None:
    one = producer(world)
    produced(client, topic, batch_of(b"x"))
    assert described_count(client, topic) == 0
    one.write((topic, 0))
    assert described(client, (topic, 0)).current_txn_start_offset == 1
    one.end()
    found = described(client, (topic, 0))
    assert (found.current_txn_start_offset, found.coordinator_epoch, found.producer_epoch) == (
        -1,
        0,
        one.producer_epoch,
    )


def described_count(client: SimClient, topic: str) -> int:
    request = DescribeProducersRequest(topics=[TopicRequest(name=topic, partition_indexes=[0])])
    return len(client.ask(request, 0).topics[0].partitions[0].active_producers)


def test_a_group_coordinator_that_is_loading_holds_up_its_own_partition_alone() -> None:
    """It answers with an error at once, before the markers of the partitions behind its own are written."""
    world = transactional_world(25)
    client = world.client()
    create(client, "t", partitions=2)
    one = producer(world)
    one.write(("t", 0))
    groups = world.running.broker.coordinators.groups
    for index in groups.partitions():
        loading: Any = groups._shards[index]
        loading.drop()
        loading.replicated = loading._begin()
        loading.replicated._loading = iter(list[Any], None)  # a log that never ends
        loading._loading.is_waiting = True
    abort = marker(one, (CONSUMER_OFFSETS, 0), ("t", 0), ("t", 1))
    assert write(client, abort) == [[ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NONE, ErrorCode.NONE]]
    assert committed_values(client, ("t", 0)) == []
    assert world.running.broker.dispatch.bugs == 0
