"""Transactions over the wire, in both protocols: what becomes visible when, which producers are fenced, and
timeouts."""

from collections.abc import Iterator
from itertools import count

import pytest
from tests.support.serving import create, fetch_values, produce
from tests.support.transactional import (
    SimProducer,
    committed_offset,
    committed_values,
    fetch_request,
    state_of,
    transactional_world,
)

from tidelog.coordinator.transaction.requests import SendMarkers
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from tidelog.protocol.messages.delete_topics import DeleteTopicsRequest
from tidelog.protocol.messages.end_txn import EndTxnRequest
from tidelog.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tidelog.server.transactions.markers_to_send import MarkerSending
from tidelog.sim.node_world import NodeWorld, SimClient

_names = count()
PROTOCOLS = pytest.mark.parametrize("is_v2", [False, True], ids=["v1", "v2"])
LATEST = -1


@pytest.fixture(scope="module")
def shared() -> NodeWorld:
    return transactional_world(21)


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
    name = f"t{next(_names)}"
    create(client, name, partitions=2)
    return name


def producer(world: NodeWorld, *, is_v2: bool = True, timeout_ms: int = 60_000) -> SimProducer:
    return SimProducer(world, f"id{next(_names)}", is_v2=is_v2).init(timeout_ms)


def latest(client: SimClient, topic_partition: tuple[str, int], isolation: int) -> int:
    partition = ListOffsetsPartition(partition_index=topic_partition[1], timestamp=LATEST)
    request = ListOffsetsRequest(
        replica_id=-1,
        isolation_level=isolation,
        topics=[ListOffsetsTopic(name=topic_partition[0], partitions=[partition])],
    )
    return int(client.ask(request, 6).topics[0].partitions[0].offset)


@PROTOCOLS
def test_two_partitions_and_offsets_become_visible_together(
    world: NodeWorld, client: SimClient, topic: str, is_v2: bool
) -> None:
    topic_partitions, group = [(topic, 0), (topic, 1)], f"g-{topic}"
    one = producer(world, is_v2=is_v2)
    one.write(*topic_partitions, value=b"a")
    one.commit_offsets(group, {(topic, 1): 7})
    assert [committed_values(client, topic_partition) for topic_partition in topic_partitions] == [[], []]
    assert committed_offset(client, group, (topic, 1)) == -1
    assert committed_offset(client, group, (topic, 1), require_stable=True) == -2
    one.end()
    assert [committed_values(client, topic_partition) for topic_partition in topic_partitions] == [[b"a"], [b"a"]]
    assert committed_offset(client, group, (topic, 1), require_stable=True) == 7
    assert one.state() == "CompleteCommit"


@PROTOCOLS
def test_what_is_aborted_is_never_seen_and_the_next_transaction_is(
    world: NodeWorld, client: SimClient, topic: str, is_v2: bool
) -> None:
    group = f"g-{topic}"
    one = producer(world, is_v2=is_v2)
    one.write((topic, 0), value=b"never")
    one.commit_offsets(group, {(topic, 1): 3})
    one.end(commit=False)
    assert one.state() == "CompleteAbort"
    assert committed_offset(client, group, (topic, 1), require_stable=True) == -1
    one.write((topic, 0), value=b"seen")
    one.end()
    assert committed_values(client, (topic, 0)) == [b"seen"]
    assert fetch_values(client, topic)[0] == b"never", "who reads uncommitted sees it"


@PROTOCOLS
def test_everything_up_to_the_last_record_happens_in_one_turn(world: NodeWorld, topic: str, is_v2: bool) -> None:
    one = producer(world, is_v2=is_v2)
    one.write((topic, 0), (topic, 1))
    one.commit_offsets(f"g-{topic}", {(topic, 0): 1})
    one.client.send(one.end_request(commit=True), one.end_version)
    machines = world.running.broker.coordinators.transactions.machines()
    (found,) = [each for _index, each in machines if one.transactional_id in each.shard.transactions]
    states: list[str] = []

    def look() -> bool | None:
        states.append(found.durable()[one.transactional_id]["state"])
        return True if states[-1] != "Ongoing" else None

    world.wait_for(look)
    assert states[-1] == "CompleteCommit", "nobody has seen it prepared between two turns"
    assert one.client.receive().error_code == ErrorCode.NONE


def test_the_last_stable_offset_bounds_fetch_and_list_offsets(world: NodeWorld, client: SimClient, topic: str) -> None:
    topic_partition = (topic, 0)
    produce(client, topic, b"before")
    one, other = producer(world), producer(world)
    one.write(topic_partition)
    other.write(topic_partition)
    other.end()
    produce(client, topic, b"after")
    assert (latest(client, topic_partition, 0), latest(client, topic_partition, 1)) == (5, 1)
    data = client.ask(fetch_request(topic_partition), 12).responses[0].partitions[0]
    assert (data.last_stable_offset, data.high_watermark, data.aborted_transactions) == (1, 5, [])
    one.end(commit=False)
    assert latest(client, topic_partition, 1) == 6
    data = client.ask(fetch_request(topic_partition), 12).responses[0].partitions[0]
    assert [(each.producer_id, each.first_offset) for each in data.aborted_transactions] == [(one.producer_id, 1)]
    assert committed_values(client, topic_partition) == [b"before", b"x", b"after"]


@pytest.mark.parametrize("commit", [True, False])
def test_the_end_of_a_transaction_wakes_a_long_poll(
    world: NodeWorld, client: SimClient, topic: str, commit: bool
) -> None:
    one = producer(world)
    one.write((topic, 0), value=b"w")
    began_ms = world.clock.monotonic_ms()
    client.send(fetch_request((topic, 0), max_wait_ms=30_000), 12)
    world.run(50)
    assert client.poll() is None
    one.end(commit=commit)
    assert client.receive().responses[0].partitions[0].last_stable_offset == 2
    assert world.clock.monotonic_ms() - began_ms < 1_000


@PROTOCOLS
def test_a_second_producer_of_the_id_fences_the_first(
    world: NodeWorld, client: SimClient, topic: str, is_v2: bool
) -> None:
    one = producer(world, is_v2=is_v2)
    one.write((topic, 0), value=b"zombie")
    two = SimProducer(world, one.transactional_id, is_v2=is_v2).init()
    assert (two.producer_id, two.producer_epoch > one.producer_epoch) == (one.producer_id, True)
    assert one.state() in ("CompleteAbort", "Empty"), "what was open was ended"
    assert one.ask_produce((topic, 0), b"late").error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    fenced = one.client.ask(one.end_request(commit=True), one.end_version).error_code
    assert fenced == ErrorCode.PRODUCER_FENCED
    assert one.client.ask(one.end_request(commit=True), 1).error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    two.write((topic, 0), value=b"heir")
    two.end()
    assert committed_values(client, (topic, 0)) == [b"heir"]


@PROTOCOLS
def test_a_transaction_that_takes_too_long_is_aborted_and_its_producer_fenced(
    world: NodeWorld, client: SimClient, topic: str, is_v2: bool
) -> None:
    one = producer(world, is_v2=is_v2, timeout_ms=1_000)
    one.write((topic, 0), value=b"late")
    world.run(12_000)  # expired transactions are looked for every ten seconds
    assert state_of(client, one.transactional_id) == "CompleteAbort"
    assert latest(client, (topic, 0), 1) == 2
    answer = one.client.ask(one.end_request(commit=True), one.end_version)
    assert answer.error_code in (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_TXN_STATE)
    assert one.ask_produce((topic, 0), b"later").error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    assert committed_values(client, (topic, 0)) == []


@PROTOCOLS
@pytest.mark.parametrize("commit", [True, False])
def test_a_transaction_over_a_deleted_topic_ends(
    world: NodeWorld, client: SimClient, topic: str, is_v2: bool, commit: bool
) -> None:
    gone = f"gone-{topic}"
    create(client, gone)
    one = producer(world, is_v2=is_v2)
    one.write((topic, 0), (gone, 0), value=b"kept")
    deleted = client.ask(DeleteTopicsRequest(topic_names=[gone], timeout_ms=1_000), 5)
    assert deleted.responses[0].error_code == ErrorCode.NONE
    world.wait_for(lambda: gone not in world.running.broker.image.topics.by_name or None)
    one.end(commit=commit)
    world.wait_for(lambda: one.state().startswith("Complete") or None)
    assert committed_values(client, (topic, 0)) == ([b"kept"] if commit else [])
    assert world.running.broker.transactions.sending == []


def test_the_same_end_twice_is_answered_twice_and_written_once(world: NodeWorld, client: SimClient, topic: str) -> None:
    """The first answer got lost. As each transaction has an epoch of its own, the second request is recognised as a
    retry."""
    one = producer(world)
    one.write((topic, 0))
    end = one.end_request(commit=True)
    first, second = one.client.ask(end, 5), one.client.ask(end, 5)
    assert (first.error_code, second.error_code) == (ErrorCode.NONE, ErrorCode.NONE)
    assert (first.producer_id, first.producer_epoch) == (second.producer_id, second.producer_epoch)
    assert latest(client, (topic, 0), 1) == 2, "one marker"


def test_a_delayed_end_of_an_earlier_transaction_does_not_end_a_later_one(
    world: NodeWorld, client: SimClient, topic: str
) -> None:
    one = producer(world)
    one.write((topic, 0), value=b"first")
    delayed = one.end_request(commit=False)
    one.end()
    one.write((topic, 0), value=b"second")
    assert one.client.ask(delayed, 5).error_code == ErrorCode.PRODUCER_FENCED
    one.end()
    assert committed_values(client, (topic, 0)) == [b"first", b"second"]


def test_a_client_adds_no_internal_topic_and_a_broker_does(world: NodeWorld, topic: str) -> None:
    one = producer(world)
    answer = one.ask_add((topic, 0), ("__consumer_offsets", 0), ("nowhere", 0))
    codes = [each.results_by_partition[0].partition_error_code for each in answer.results_by_topic_v3_and_below]
    assert codes == [
        ErrorCode.OPERATION_NOT_ATTEMPTED,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    offsets = [AddPartitionsToTxnTopic(name="__consumer_offsets", partitions=[0])]
    asked = AddPartitionsToTxnTransaction(
        transactional_id=one.transactional_id,
        producer_id=one.producer_id,
        producer_epoch=one.producer_epoch,
        topics=offsets,
    )
    added = one.client.ask(AddPartitionsToTxnRequest(transactions=[asked]), 5).results_by_transaction[0]
    assert added.topic_results[0].results_by_partition[0].partition_error_code == ErrorCode.NONE
    one.end()


def test_an_end_for_an_unknown_id_or_producer(world: NodeWorld, client: SimClient) -> None:
    one = producer(world)
    unknown = EndTxnRequest(transactional_id="nobody", producer_id=1, producer_epoch=0, committed=True)
    assert client.ask(unknown, 5).error_code == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    foreign = EndTxnRequest(
        transactional_id=one.transactional_id, producer_id=one.producer_id + 1_000, producer_epoch=0, committed=True
    )
    assert client.ask(foreign, 5).error_code == ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_a_report_says_which_decision_it_is_of(world: NodeWorld, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under the old protocol two transactions have one epoch: a late report of the first must not complete the second,
    whose markers are not written."""
    one = producer(world, is_v2=False)
    one.write((topic, 0))
    sent: list[SendMarkers] = []
    with monkeypatch.context() as patch:
        patch.setattr(MarkerSending, "write", lambda self, _partitions: sent.append(self.effect))
        one.end()
    first = MarkerSending(world.running.broker, sent[0])
    first._written({TopicPartition(topic, 0): ErrorCode.NONE})
    world.wait_for(lambda: one.state() == "CompleteCommit" or None)
    one.write((topic, 0))
    with monkeypatch.context() as patch:
        patch.setattr(MarkerSending, "write", lambda self, _partitions: sent.append(self.effect))
        one.end()
    assert (sent[0].producer_epoch, sent[0].decision) != (sent[1].producer_epoch, sent[1].decision)
    late = MarkerSending(world.running.broker, sent[0])
    late._written({TopicPartition(topic, 0): ErrorCode.NONE})
    world.run(200)
    assert one.state() == "PrepareCommit"
    MarkerSending(world.running.broker, sent[1]).write(sent[1].partitions)
    world.wait_for(lambda: one.state() == "CompleteCommit" or None)
