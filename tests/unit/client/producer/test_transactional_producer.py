"""Transactions against a node in the simulator: all or nothing, whatever happens to the node in between."""

import contextlib
from typing import Any

import pytest
from tests.unit.client.simulated import COORDINATING, Outages, client_of, world_of

from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.cluster import SAFE_DOWNGRADE
from tidelog.client.admin.group_offsets import CommittedOffset
from tidelog.client.admin.topics import NewTopic
from tidelog.client.client import Client
from tidelog.client.errors import ClientError, DeliveryFailed, TransactionFailed
from tidelog.client.fetch.consumer import Consumer
from tidelog.client.producer.transaction_calls import GroupMetadata
from tidelog.client.producer.transactional_producer import TransactionalProducer
from tidelog.client.record import EARLIEST
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.sim.node_world import NodeWorld

PROTOCOLS = (1, 2)


def new_world(protocol: int = 2) -> NodeWorld:
    world = NodeWorld(seed=51, overrides=COORDINATING)
    if protocol == 1:
        Admin(client_of(world)).update_features({"transaction.version": 1}, change=SAFE_DOWNGRADE)
    return world


@pytest.fixture(scope="module", params=PROTOCOLS, ids=["protocol 1", "protocol 2"])
def nodes(request: pytest.FixtureRequest) -> NodeWorld:
    return new_world(request.param)


@pytest.fixture
def client(nodes: NodeWorld) -> Client:
    return client_of(nodes)


@pytest.fixture
def topic(client: Client, request: pytest.FixtureRequest) -> str:
    name = request.node.originalname.replace("test_", "")
    Admin(client).create_topic(NewTopic(name, 2))
    return str(name)


def began(client: Client, name: str, **options: Any) -> TransactionalProducer:
    producer = TransactionalProducer(client, name, **options)
    producer.init_transactions()
    return producer


def visible(client: Client, topic: str) -> list[bytes | None]:
    consumer = Consumer(client, isolation="read_committed")
    consumer.assign(dict.fromkeys(consumer.partitions(topic), EARLIEST))
    return sorted((record.value for record in consumer.read_to_end()), key=str)


def test_committed_is_seen_and_aborted_is_not(client: Client, topic: str) -> None:
    producer = began(client, topic)
    with producer.transaction():
        producer.send(topic, b"a", partition=0)
        producer.send(topic, b"b", partition=1)
    producer.begin_transaction()
    producer.send(topic, b"never", partition=0)
    producer.flush()
    producer.send(topic, b"not even sent", partition=1)
    producer.abort_transaction()
    with producer.transaction():
        producer.send(topic, b"c", partition=1)
    assert visible(client, topic) == [b"a", b"b", b"c"]
    assert not producer.in_transaction


def test_what_is_open_is_not_seen_and_ends_with_an_exception(client: Client, topic: str) -> None:
    producer = began(client, topic)
    with contextlib.suppress(RuntimeError), producer.transaction():
        producer.send(topic, b"x", partition=0)
        producer.flush()
        assert producer.in_transaction
        (found,) = [each for each in Admin(client).list_transactions() if each.transactional_id == topic]
        assert (found.state, found.producer_id) == ("Ongoing", producer.transaction_state.producer_id)
        raise RuntimeError
    assert visible(client, topic) == []
    described = Admin(client).describe_transactions([topic])[topic]
    assert not isinstance(described, ClientError)
    assert described.partitions == []


def test_offsets_are_committed_with_it_or_not_at_all(client: Client, topic: str) -> None:
    producer, admin, topic_partition = began(client, topic), Admin(client), TopicPartition(topic, 0)
    producer.begin_transaction()
    producer.send_offsets_to_transaction({topic_partition: 7}, GroupMetadata(topic))
    producer.abort_transaction()
    assert admin.list_group_offsets(topic) == {}
    with producer.transaction():
        producer.send(topic, b"x", partition=1)
        producer.send_offsets_to_transaction({topic_partition: CommittedOffset(8, metadata="m")}, GroupMetadata(topic))
        assert admin.list_group_offsets(topic) == {}
    assert admin.list_group_offsets(topic, require_stable=True) == {topic_partition: CommittedOffset(8, metadata="m")}


def test_the_next_of_the_same_id_fences_and_ends_what_is_open(client: Client, topic: str) -> None:
    former = began(client, topic)
    former.begin_transaction()
    former.send(topic, b"old", partition=0)
    former.flush()
    latter = began(client, topic)
    with latter.transaction():
        latter.send(topic, b"new", partition=0)
    with pytest.raises(ClientError) as caught:
        former.commit_transaction()
    assert caught.value.code in (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)
    with pytest.raises(TransactionFailed, match="close this producer"):
        former.begin_transaction()
    assert visible(client, topic) == [b"new"]


def test_it_can_be_ended_by_whoever_knows_it(client: Client, nodes: NodeWorld, topic: str) -> None:
    producer = began(client, topic)
    states = []
    for index in range(3):
        producer.begin_transaction()
        producer.send(topic, b"%d" % index, partition=index % 2)
        states.append(producer.hand_over_transaction())
        other = Admin(client_of(nodes, seed=9))  # another process
        former = other.end_transaction(*states[-1], commit=index != 1)
        assert former.producer_id == states[-1].producer_id
        producer.init_transactions()
    assert visible(client, topic) == [b"0", b"2"]
    with pytest.raises(ClientError) as caught:
        Admin(client).end_transaction(*states[0], commit=True)
    assert caught.value.code in (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)


def test_to_end_it_twice_alike_is_no_harm(client: Client, topic: str) -> None:
    producer = began(client, topic)
    producer.begin_transaction()
    producer.send(topic, b"x", partition=0)
    state, admin = producer.hand_over_transaction(), Admin(client)
    assert admin.end_transaction(*state, commit=True) == admin.end_transaction(*state, commit=True)
    with pytest.raises(ClientError):
        admin.end_transaction(*state, commit=False)
    assert visible(client, topic) == [b"x"]


def test_what_was_given_up_can_only_be_aborted(client: Client, topic: str) -> None:
    Admin(client).create_topic(NewTopic(f"{topic}-small", 1, configs={"max.message.bytes": "200"}))
    producer = began(client, topic)
    producer.begin_transaction()
    producer.send(topic, b"part", partition=0)
    producer.send(f"{topic}-small", bytes(500))
    with pytest.raises(DeliveryFailed, match="MESSAGE_TOO_LARGE"):
        producer.flush()
    with pytest.raises(TransactionFailed, match=r"failed: .*MESSAGE_TOO_LARGE.*abort_transaction, then begin again"):
        producer.commit_transaction()
    with pytest.raises(TransactionFailed):
        producer.send(topic, b"more")
    producer.abort_transaction()
    with producer.transaction():
        producer.send(f"{topic}-small", b"fits")
        producer.send(topic, b"whole", partition=0)
    assert visible(client, topic) == [b"whole"]
    assert visible(client, f"{topic}-small") == [b"fits"]


def test_one_that_takes_too_long_is_aborted_by_the_coordinator(client: Client, topic: str) -> None:
    producer = began(client, topic, transaction_timeout_ms=1_000)
    producer.begin_transaction()
    producer.send(topic, b"late", partition=0)
    producer.flush()
    world_of(client).clock.advance(30_000)
    client.pause(12_000)
    with pytest.raises(ClientError) as caught:
        producer.commit_transaction()
    fenced = (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)
    assert caught.value.code in (*fenced, ErrorCode.INVALID_TXN_STATE)  # INVALID_TXN_STATE is protocol 2's answer
    assert visible(client, topic) == []


def test_one_with_nothing_in_it_is_ended_without_a_word(client: Client, topic: str) -> None:
    producer = began(client, topic)
    before = producer.transaction_state
    with producer.transaction():
        producer.send_offsets_to_transaction({}, GroupMetadata(topic))
    producer.begin_transaction()
    producer.abort_transaction()
    assert producer.transaction_state == before


def test_close_aborts_what_is_open(client: Client, topic: str) -> None:
    with began(client, topic) as producer:
        producer.begin_transaction()
        producer.send(topic, b"x", partition=0)
    assert visible(client, topic) == []
    assert [each.state for each in Admin(client).list_transactions() if each.transactional_id == topic] != ["Ongoing"]


def test_a_fenced_producer_is_told_by_an_operator(client: Client, topic: str) -> None:
    producer = began(client, topic)
    producer.begin_transaction()
    producer.send(topic, b"x", partition=0)
    producer.flush()
    Admin(client).fence_producer(topic)
    with pytest.raises(ClientError):
        producer.commit_transaction()
    assert visible(client, topic) == []


@pytest.mark.parametrize("step", ["begin_transaction", "commit_transaction", "abort_transaction"])
def test_steps_out_of_order_say_which_comes_first(client: Client, step: str) -> None:
    producer = TransactionalProducer(client, "order")
    with pytest.raises(TransactionFailed, match="the transaction is not initialized"):
        getattr(producer, step)()


def test_nothing_is_sent_outside_of_a_transaction(client: Client, topic: str) -> None:
    producer = began(client, topic)
    with pytest.raises(TransactionFailed, match="begin_transaction first"):
        producer.send(topic, b"x")
    with pytest.raises(TransactionFailed, match="it is initialized once"):
        producer.init_transactions()


def test_wrong_options(client: Client) -> None:
    with pytest.raises(ValueError, match="at least one character"):
        TransactionalProducer(client, "")
    with pytest.raises(ValueError, match="a transactional producer is idempotent"):
        TransactionalProducer(client, "x", acks=1)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_exactly_once_while_the_node_dies_again_and_again(protocol: int) -> None:
    """Every transaction whose `commit_transaction` returned is seen once and whole, although the node dies in
    between."""
    nodes = new_world(protocol)
    client = client_of(nodes)
    Admin(client).create_topic(NewTopic("eos", 2))
    producer = began(client, "eos")
    outages = Outages(world_of(client), kills=4, life_ms=400)
    for index in range(40):
        with producer.transaction():
            for part in range(2):
                producer.send("eos", b"%d-%d" % (index, part), partition=part)
            client.pause(50)
    outages.end()
    assert visible(client, "eos") == sorted((b"%d-%d" % (i, p) for i in range(40) for p in range(2)), key=str)
