"""The first batch of a transaction in a partition: which coordinator verifies it, what is refused; and nothing
overtakes it."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from tests.support.serving import batch_of, create, fetch_values, produce, produced
from tests.support.transactional import SimProducer, committed_values, last_stable, transactional_world
from tests.unit.server.node.test_node_life import set_broker

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.sim.node_world import NodeWorld, SimClient

_names = count()


@pytest.fixture(scope="module")
def shared() -> NodeWorld:
    return transactional_world(22)


@pytest.fixture
def world(shared: NodeWorld) -> Iterator[NodeWorld]:
    broker = shared.running.broker
    before = broker.dispatch.bugs
    yield shared
    assert broker.dispatch.bugs == before
    assert broker.transactions.held == {}


@pytest.fixture
def client(world: NodeWorld) -> SimClient:
    return world.client()


@pytest.fixture
def topic(client: SimClient) -> str:
    name = f"v{next(_names)}"
    create(client, name, partitions=2)
    return name


def producer(world: NodeWorld, *, is_v2: bool = True) -> SimProducer:
    return SimProducer(world, f"vid{next(_names)}", is_v2=is_v2).init()


# Refused producers


@pytest.mark.parametrize(("version", "code"), [(9, ErrorCode.INVALID_TXN_STATE), (11, ErrorCode.TRANSACTION_ABORTABLE)])
def test_a_partition_that_was_not_added(
    world: NodeWorld, client: SimClient, topic: str, version: int, code: ErrorCode
) -> None:
    one = producer(world, is_v2=False)
    one.add((topic, 1))
    refused = one.ask_produce((topic, 0), b"x", version=version)
    assert (refused.error_code, refused.log_start_offset) == (code, -1), "it did not come as far as the log"
    assert last_stable(client, (topic, 0)) == (0, 0)
    assert one.ask_produce((topic, 1), b"x", version=version).error_code == ErrorCode.NONE


@pytest.mark.parametrize(("version", "code"), [(9, ErrorCode.INVALID_TXN_STATE), (11, ErrorCode.TRANSACTION_ABORTABLE)])
def test_a_batch_that_comes_after_the_end_opens_no_transaction(
    world: NodeWorld, client: SimClient, topic: str, version: int, code: ErrorCode
) -> None:
    """This is the reason for verification (KIP-890): nobody would ever end that transaction, and read_committed readers
    would stop there."""
    one = producer(world, is_v2=False)
    one.write((topic, 0))
    one.end()
    assert one.ask_produce((topic, 0), b"late", version=version).error_code == code
    assert last_stable(client, (topic, 0)) == (2, 2)


def test_a_late_batch_of_version_2_is_of_an_earlier_epoch(world: NodeWorld, client: SimClient, topic: str) -> None:
    one = producer(world)
    one.write((topic, 0))
    late = one.request(((topic, 0), one.batch((topic, 0), b"late")), ((topic, 1), one.batch((topic, 1), b"late")))
    one.end()
    answers = one.client.ask(late, 12).responses
    codes = [each.error_code for answer in answers for each in answer.partition_responses]
    assert codes == [ErrorCode.INVALID_PRODUCER_EPOCH] * 2
    assert (last_stable(client, (topic, 0)), last_stable(client, (topic, 1))) == ((2, 2), (0, 0))


def test_without_verification_the_same_batch_is_written(topic: str) -> None:
    world = transactional_world(23, transaction_partition_verification_enable="false")
    client = world.client()
    create(client, topic)
    one = producer(world, is_v2=False)
    assert one.ask_produce((topic, 0), b"x").error_code == ErrorCode.NONE
    assert last_stable(client, (topic, 0)) == (0, 1)
    set_broker(client, "transaction.partition.verification.enable", "true")
    other = producer(world, is_v2=False)
    assert other.ask_produce((topic, 0), b"x").error_code == ErrorCode.TRANSACTION_ABORTABLE


def test_batches_of_two_producers_are_refused_together(world: NodeWorld, client: SimClient, topic: str) -> None:
    one, other = producer(world), producer(world)
    contents = ((topic, 0), one.batch((topic, 0), b"x")), ((topic, 1), other.batch((topic, 1), b"x"))
    (answer,) = client.ask(one.request(*contents), 12).responses  # each topic comes once in a response
    codes = [(each.index, each.error_code) for each in answer.partition_responses]
    assert codes == [(0, ErrorCode.INVALID_PRODUCER_ID_MAPPING), (1, ErrorCode.INVALID_PRODUCER_ID_MAPPING)]


@pytest.mark.parametrize("version", [9, 11, 12])
def test_transactional_batches_need_a_transactional_id(client: SimClient, topic: str, version: int) -> None:
    batch = batch_of(b"x", producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=True)
    answer = produced(client, topic, batch, version=version)
    assert answer.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert fetch_values(client, topic) == []


def test_one_request_is_of_one_producer(world: NodeWorld, client: SimClient, topic: str) -> None:
    one, other = producer(world), producer(world)
    mixed = one.request(((topic, 0), one.batch((topic, 0), b"x")), ((topic, 1), other.batch((topic, 1), b"y")))
    answers = client.ask(mixed, 12).responses
    codes = [each.error_code for answer in answers for each in answer.partition_responses]
    assert codes == [ErrorCode.INVALID_PRODUCER_ID_MAPPING] * 2


def test_an_id_that_nobody_knows_and_anothers_producer_id(world: NodeWorld, topic: str) -> None:
    stranger, one = SimProducer(world, "stranger"), producer(world)
    stranger.producer_id, stranger.producer_epoch = one.producer_id + 1_000, 0
    assert stranger.ask_produce((topic, 0), b"x").error_code == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    stranger.transactional_id = one.transactional_id
    assert stranger.ask_produce((topic, 0), b"x").error_code == ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_under_version_2_a_transaction_begins_with_sequence_0(world: NodeWorld, topic: str) -> None:
    one = producer(world)
    one.sequences[topic, 0] = 3
    assert one.ask_produce((topic, 0), b"x").error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    one.sequences[topic, 0] = 0
    assert one.ask_produce((topic, 0), b"x").error_code == ErrorCode.NONE


def test_plain_batches_under_a_transactional_id_are_just_that(world: NodeWorld, client: SimClient, topic: str) -> None:
    one = producer(world)
    request = one.request(((topic, 0), batch_of(b"plain")))
    assert one.client.ask(request, 12).responses[0].partition_responses[0].error_code == ErrorCode.NONE
    assert last_stable(client, (topic, 0)) == (1, 1)


def test_a_plain_batch_inside_a_transaction(world: NodeWorld, client: SimClient, topic: str) -> None:
    one = producer(world)
    one.write((topic, 0))
    plain = batch_of(b"p", producer_id=one.producer_id, producer_epoch=one.producer_epoch, base_sequence=1)
    assert produced(client, topic, plain).error_code == ErrorCode.INVALID_TXN_STATE


# The coordinator can not tell, or not yet


def refuse_with(code: ErrorCode, world: NodeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    def submit(_key: str, _request: Any, reply: Callable[[Any], None]) -> None:
        reply(code)

    monkeypatch.setattr(world.running.broker.coordinators.transactions, "submit", submit)


@pytest.mark.parametrize(
    "code",
    [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE],
)
@pytest.mark.parametrize("version", [9, 11, 12])
def test_what_passes_is_said_as_older_producers_understand_it(
    world: NodeWorld, topic: str, code: ErrorCode, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = producer(world)
    with monkeypatch.context() as patch:
        refuse_with(code, world, patch)
        answer = one.ask_produce((topic, 0), b"x", version=version)
    assert answer.error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert code.name in answer.error_message
    one.sequences.clear()
    assert one.ask_produce((topic, 0), b"x").error_code == ErrorCode.NONE


def held_up_end(world: NodeWorld, one: SimProducer, topic_partition: tuple[str, int]) -> Callable[[], None]:
    """Decide the transaction, and hold its markers back until the returned function is called."""
    family = world.running.broker.coordinators.transactions
    send = family.on_effect
    effects: list[Any] = []
    family.on_effect = effects.append
    one.write(topic_partition)
    one.end()

    def go_on() -> None:
        family.on_effect = send
        for effect in effects:
            send(effect)

    return go_on


def test_the_next_transaction_waits_for_the_markers_of_the_last(
    world: NodeWorld, client: SimClient, topic: str
) -> None:
    one = producer(world)
    go_on = held_up_end(world, one, (topic, 0))
    one.client.send(one.request(((topic, 1), one.batch((topic, 1), b"next"))), 12)
    world.run(60)
    assert one.client.poll() is None
    go_on()
    assert one.client.receive().responses[0].partition_responses[0].error_code == ErrorCode.NONE
    one.end()
    assert committed_values(client, (topic, 1)) == [b"next"]


def test_and_is_told_so_after_a_while(world: NodeWorld, topic: str) -> None:
    one = producer(world)
    go_on = held_up_end(world, one, (topic, 0))
    began_ms = world.clock.monotonic_ms()
    assert one.ask_produce((topic, 1), b"next").error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    assert world.clock.monotonic_ms() - began_ms >= 100
    go_on()


def test_producers_of_version_1_are_told_to_come_again(world: NodeWorld, topic: str) -> None:
    one = producer(world, is_v2=False)
    go_on = held_up_end(world, one, (topic, 0))
    assert one.ask_produce((topic, 1), b"next", version=9).error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    go_on()


# Order


def test_nothing_overtakes_a_batch_that_is_being_verified(world: NodeWorld, client: SimClient, topic: str) -> None:
    """Neither the producer's next batches nor others on the connection overtake it, by either path."""
    one = producer(world)
    produce(one.client, topic, b"quick")  # the connection learns the quick path to this partition
    go_on = held_up_end(world, one, (topic, 1))
    topic_partition = (topic, 0)
    one.client.send(one.request((topic_partition, one.batch(topic_partition, b"1"))), 12)
    one.client.send(one.request((topic_partition, one.batch(topic_partition, b"2"))), 12)
    plain = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=batch_of(b"3"))])
    one.client.send(ProduceRequest(acks=-1, timeout_ms=1_000, topic_data=[plain]), 9)
    one.client.send(one.request((topic_partition, one.batch(topic_partition, b"4"))), 12)
    world.run(40)
    assert fetch_values(client, topic) == [b"quick"]
    go_on()
    answers = [one.client.receive().responses[0].partition_responses[0] for _ in range(4)]
    assert [(each.error_code, each.base_offset) for each in answers] == [(0, 1), (0, 2), (0, 3), (0, 4)]
    assert fetch_values(client, topic) == [b"quick", b"1", b"2", b"3", b"4"]
    one.end()


def test_what_is_held_is_not_written_over_by_what_arrives(world: NodeWorld, client: SimClient, topic: str) -> None:
    one = producer(world)
    go_on = held_up_end(world, one, (topic, 1))
    values = [bytes([65 + index]) * 9_000 for index in range(8)]
    for value in values:
        one.client.send(one.request(((topic, 0), one.batch((topic, 0), value))), 12)
        world.run(5)
    go_on()
    for _ in values:
        assert one.client.receive().responses[0].partition_responses[0].error_code == ErrorCode.NONE
    one.end()
    assert committed_values(client, (topic, 0)) == values


def test_a_held_request_without_acks_holds_nobody_up(world: NodeWorld, client: SimClient, topic: str) -> None:
    one = producer(world)
    go_on = held_up_end(world, one, (topic, 1))
    big = 600_000  # two of these are more than a connection may have open
    for _ in range(4):
        request = one.request(((topic, 0), one.batch((topic, 0), b"x" * big)))
        request.acks = 0
        one.client.send(request, 12, expect_response=False)
    world.run(50)
    go_on()
    world.run(50)
    assert produce(one.client, topic, b"after", partition=1) == 2
    one.end()
    assert [len(value) for value in committed_values(client, (topic, 0))] == [big] * 4


def test_a_client_that_leaves_is_forgotten_with_what_it_held(world: NodeWorld, client: SimClient, topic: str) -> None:
    one = producer(world)
    go_on = held_up_end(world, one, (topic, 1))
    one.client.send(one.request(((topic, 0), one.batch((topic, 0), b"x"))), 12)
    world.run(5)
    one.client.close()
    world.run(5)
    go_on()
    world.run(100)
    assert fetch_values(client, topic) == [b"x"], "as if the connection had ended a moment later"


def test_only_the_first_batch_of_a_partition_is_asked_about(
    world: NodeWorld, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = producer(world)
    family = world.running.broker.coordinators.transactions
    asked: list[str] = []
    submit = family.submit

    def counted(key: str, request: Any, reply: Any) -> None:
        asked.append(type(request.message).__name__)
        submit(key, request, reply)

    monkeypatch.setattr(family, "submit", counted)
    for _ in range(3):
        one.write((topic, 0), (topic, 1))
    assert asked == ["AddPartitionsToTxnRequest"]
