"""The client's calls for a two-phase commit that is decided outside of it, against a node in the simulator."""

import pytest
from tests.unit.client.simulated import COORDINATING, client_of

from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.topics import NewTopic
from tidelog.client.admin.transactions import TransactionDescription
from tidelog.client.client import Client
from tidelog.client.errors import ClientError
from tidelog.client.fetch.consumer import Consumer
from tidelog.client.producer.transaction_calls import end_together, offers_transactions
from tidelog.client.producer.transactional_producer import TransactionalProducer
from tidelog.client.producer_id_and_epoch import ProducerIdAndEpoch
from tidelog.client.record import EARLIEST
from tidelog.coordinator.transaction.metadata import NO_TIMEOUT_MS
from tidelog.model.errors import ErrorCode
from tidelog.sim.node_world import NodeWorld

ALLOWED = {**COORDINATING, "transaction.two.phase.commit.enable": "true"}


@pytest.fixture(scope="module")
def nodes() -> NodeWorld:
    return NodeWorld(seed=7, overrides=ALLOWED)


@pytest.fixture
def client(nodes: NodeWorld) -> Client:
    return client_of(nodes)


def opened(client: Client, topic: str, name: str) -> TransactionalProducer:
    producer = TransactionalProducer(client, name, transaction_timeout_ms=5_000, two_phase=True)
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(topic, b"x", partition=0)
    producer.flush()
    return producer


def test_where_it_is_allowed_transactions_never_time_out(client: Client) -> None:
    Admin(client).create_topic(NewTopic("allowed", 1))
    producer = opened(client, "allowed", "allowed")
    assert producer.is_two_phase
    found = Admin(client).describe_transactions(["allowed"])["allowed"]
    assert isinstance(found, TransactionDescription)
    assert (found.state, found.timeout_ms) == ("Ongoing", NO_TIMEOUT_MS)
    producer.commit_transaction()


def test_where_it_is_not_they_do() -> None:
    client = client_of(NodeWorld(seed=7, overrides=COORDINATING))
    Admin(client).create_topic(NewTopic("t", 1))
    producer = opened(client, "t", "refused")
    assert not producer.is_two_phase
    found = Admin(client).describe_transactions(["refused"])["refused"]
    assert isinstance(found, TransactionDescription)
    assert found.timeout_ms == 5_000


def test_many_are_described_at_once_each_with_its_outcome(client: Client) -> None:
    Admin(client).create_topic(NewTopic("many", 1))
    producers = [opened(client, "many", f"many-{number}") for number in range(3)]
    names = ["many-2", "unknown", "many-0", "many-1"]
    found = Admin(client).describe_transactions(names)
    assert list(found) == names
    for number, producer in enumerate(producers):
        each = found[f"many-{number}"]
        assert isinstance(each, TransactionDescription)
        assert (each.transactional_id, each.producer_id, each.producer_epoch) == producer.transaction_state
        producer.abort_transaction()
    unknown = found["unknown"]
    assert isinstance(unknown, ClientError)
    assert unknown.code is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


def test_a_read_to_the_end_does_not_wait_behind_the_last_marker(client: Client) -> None:
    Admin(client).create_topic(NewTopic("marked", 1))
    opened(client, "marked", "marked").commit_transaction()
    consumer = Consumer(client, isolation="read_committed", max_wait_ms=0)
    consumer.assign(dict.fromkeys(consumer.partitions("marked"), EARLIEST))
    before_ms = client.now_ms()
    assert [record.value for record in consumer.read_to_end()] == [b"x"]
    assert client.now_ms() - before_ms < 400  # in the simulator's time


def test_which_topics_and_requests_there_are(client: Client) -> None:
    assert not client.has_topic("made later")
    Admin(client).create_topic(NewTopic("known", 1))
    assert client.has_topic("known")
    assert offers_transactions(client)


def test_many_are_ended_at_once_and_what_was_not_is_left_out(client: Client) -> None:
    Admin(client).create_topic(NewTopic("ended", 1))
    handles = [opened(client, "ended", f"ended-{number}").hand_over_transaction() for number in range(3)]
    identities = {each.transactional_id: ProducerIdAndEpoch(each.producer_id, each.producer_epoch) for each in handles}
    identities["ended-1"] = ProducerIdAndEpoch(handles[1].producer_id, handles[1].producer_epoch + 7)
    admin = Admin(client)
    assert sorted(end_together(client, admin.transactions, identities, commit=True)) == ["ended-0", "ended-2"]
    found = admin.describe_transactions(identities)
    assert [getattr(found[name], "state", None) for name in sorted(identities)] == [
        "CompleteCommit",
        "Ongoing",
        "CompleteCommit",
    ]
