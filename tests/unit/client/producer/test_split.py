"""Batches that are too large for their topic: split until they fit, and nothing is lost, doubled or out of order."""

from collections.abc import Callable

import pytest
from tests.unit.client.simulated import COORDINATING, client_of

from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.topics import NewTopic
from tidelog.client.client import Client
from tidelog.client.errors import ClientError, DeliveryFailed
from tidelog.client.fetch.consumer import Consumer, Isolation
from tidelog.client.producer.producer import Producer
from tidelog.client.producer.transactional_producer import TransactionalProducer
from tidelog.client.record import EARLIEST, ConsumerRecord
from tidelog.model.errors import ErrorCode
from tidelog.records.compression import CompressionType
from tidelog.records.record import Header
from tidelog.sim.node_world import NodeWorld

LIMIT_BYTES = 4_000
Told = dict[int, int | ClientError]


@pytest.fixture(scope="module")
def nodes() -> NodeWorld:
    return NodeWorld(seed=12, overrides=COORDINATING)


@pytest.fixture
def client(nodes: NodeWorld) -> Client:
    return client_of(nodes)


def create(client: Client, name: str) -> None:
    Admin(client).create_topic(NewTopic(name, 1, configs={"max.message.bytes": str(LIMIT_BYTES)}))


def read_all(client: Client, topic: str, isolation: Isolation = "read_uncommitted") -> list[ConsumerRecord]:
    consumer = Consumer(client, isolation=isolation)
    consumer.assign(dict.fromkeys(consumer.partitions(topic), EARLIEST))
    return list(consumer.read_to_end())


def values(count: int) -> list[bytes]:
    """Return values of different sizes that no codec makes smaller."""
    return [bytes((row * 37 + index * index * 11) % 251 for index in range(50 + row % 97)) for row in range(count)]


def teller(told: Told, row: int) -> Callable[[int | ClientError], None]:
    def tell(outcome: int | ClientError) -> None:
        assert row not in told, "told twice"
        told[row] = outcome

    return tell


@pytest.mark.parametrize("codec", [CompressionType.NONE, CompressionType.LZ4, CompressionType.ZSTD])
@pytest.mark.parametrize("is_idempotent", [True, False])
def test_many_batches_that_do_not_fit(client: Client, codec: CompressionType, is_idempotent: bool) -> None:
    """Several batches are in flight when the first is refused."""
    topic = f"split-{codec.name}-{is_idempotent}"
    create(client, topic)
    sent = values(1500)
    with Producer(client, batch_bytes=16_384, compression=codec, idempotent=is_idempotent) as producer:
        for value in sent:
            producer.send(topic, value)
    assert [record.value for record in read_all(client, topic)] == sent
    assert (producer.delivered, producer.unacknowledged) == (len(sent), 0)


def test_a_record_keeps_all_that_it_has(client: Client) -> None:
    create(client, "split-whole")
    told: Told = {}
    headers = (Header("h", b"1"), Header("i", None))
    with Producer(client, batch_bytes=65_536, linger_ms=50) as producer:
        for row in range(60):
            producer.send(
                "split-whole",
                None if row % 7 == 6 else bytes(200),
                key=None if row % 3 else b"key %d" % row,
                timestamp=1000 + row,
                headers=headers if row % 5 == 0 else (),
                on_delivery=teller(told, row),
            )
    found = read_all(client, "split-whole")
    assert [record.timestamp for record in found] == [1000 + row for row in range(60)]
    assert [record.key for record in found] == [None if row % 3 else b"key %d" % row for row in range(60)]
    assert [record.value for record in found] == [None if row % 7 == 6 else bytes(200) for row in range(60)]
    assert [record.headers for record in found] == [headers if row % 5 == 0 else () for row in range(60)]
    assert told == {row: row for row in range(60)}


def test_the_record_that_does_not_fit_is_refused_alone(client: Client) -> None:
    create(client, "split-one")
    told: Told = {}
    producer = Producer(client, batch_bytes=65_536, linger_ms=50)
    for row in range(40):
        producer.send("split-one", bytes(5_000 if row == 23 else 100), on_delivery=teller(told, row))
    with pytest.raises(DeliveryFailed) as refused:
        producer.flush()
    text = str(refused.value)
    assert text.startswith("produce to split-one-0 (broker 1 at node:9092): MESSAGE_TOO_LARGE: a batch of ")
    assert text.endswith("; send smaller records, or raise max.message.bytes of the topic")
    assert text.count("MESSAGE_TOO_LARGE") == 1
    assert [row for row, outcome in told.items() if isinstance(outcome, ClientError)] == [23]
    assert len(told) == 40
    assert len(read_all(client, "split-one")) == 39
    producer.send("split-one", b"after")
    producer.flush()
    assert read_all(client, "split-one")[-1].value == b"after"


def test_in_a_transaction(client: Client) -> None:
    create(client, "split-transaction")
    sent = values(400)
    producer = TransactionalProducer(client, "splitting", batch_bytes=16_384)
    producer.init_transactions()
    producer.begin_transaction()
    for value in sent:
        producer.send("split-transaction", value)
    producer.commit_transaction()
    assert [record.value for record in read_all(client, "split-transaction", "read_committed")] == sent


def test_in_a_transaction_a_record_that_does_not_fit_fails_it(client: Client) -> None:
    create(client, "split-failed")
    producer = TransactionalProducer(client, "splitting-in-vain", batch_bytes=16_384)
    producer.init_transactions()
    producer.begin_transaction()
    for value in [b"small", bytes(5_000), b"small"]:
        producer.send("split-failed", value)
    with pytest.raises(DeliveryFailed) as caught:
        producer.flush()
    assert caught.value.failures[0].error.code is ErrorCode.MESSAGE_TOO_LARGE
    producer.abort_transaction()
    producer.begin_transaction()
    producer.send("split-failed", b"again")
    producer.commit_transaction()
    assert [record.value for record in read_all(client, "split-failed", "read_committed")] == [b"again"]
