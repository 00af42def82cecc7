"""The producer against a node in the simulator: what is acknowledged is there, once, in order."""

from functools import partial

import pytest
from tests.unit.client.simulated import Outages, client_of, world_of

from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.topics import NewTopic
from tidelog.client.client import Client
from tidelog.client.errors import ClientError, DeliveryFailed, TimedOut
from tidelog.client.fetch.consumer import Consumer
from tidelog.client.producer.kernels_murmur2 import partition_of_key
from tidelog.client.producer.producer import Producer
from tidelog.client.record import EARLIEST, ConsumerRecord
from tidelog.model.errors import ErrorCode
from tidelog.records.compression import CompressionType
from tidelog.records.record import Header
from tidelog.sim.node_world import NodeWorld
from tidelog.sim.wire import NetworkSettings


@pytest.fixture(scope="module")
def nodes() -> NodeWorld:
    return NodeWorld(seed=11)


@pytest.fixture
def client(nodes: NodeWorld) -> Client:
    return client_of(nodes)


def create(client: Client, name: str, partitions: int = 1, **configs: str) -> None:
    named = {key.replace("_", "."): value for key, value in configs.items()}
    Admin(client).create_topic(NewTopic(name, partitions, configs=named))


def read_all(client: Client, topic: str) -> list[ConsumerRecord]:
    consumer = Consumer(client)
    consumer.assign(dict.fromkeys(consumer.partitions(topic), EARLIEST))
    return list(consumer.read_to_end())


def test_every_part_of_a_record_arrives(client: Client) -> None:
    create(client, "parts")
    headers = (Header("h", b"1"), Header("i", None))
    with Producer(client) as producer:
        producer.send("parts", b"v", key=b"k", timestamp=1_234, headers=headers)
        producer.send("parts", None, key=b"")
        producer.send("parts", b"", headers=())
    first, second, third = read_all(client, "parts")
    assert first == ConsumerRecord("parts", 0, 0, 1_234, b"k", b"v", headers)
    assert (second.key, second.value, second.headers) == (b"", None, ())
    assert (third.key, third.value) == (None, b"")
    assert 1_234 < second.timestamp <= third.timestamp <= world_of(client).clock.wall_ms()


def test_offsets_are_told_to_those_who_asked(client: Client) -> None:
    create(client, "told")
    told: list[int | ClientError] = []
    with Producer(client, linger_ms=50) as producer:
        producer.send("told", b"a")
        producer.send("told", b"b", on_delivery=told.append)
        producer.send("told", b"c", on_delivery=told.append)
        assert producer.unacknowledged == 3
    assert told == [1, 2]
    assert (producer.delivered, producer.unacknowledged) == (3, 0)


@pytest.mark.parametrize("codec", list(CompressionType))
def test_codecs(client: Client, codec: CompressionType) -> None:
    topic = f"codec-{codec.name}"
    create(client, topic)
    with Producer(client, compression=codec) as producer:
        for index in range(300):
            producer.send(topic, b"value %d" % index)
    assert [record.value for record in read_all(client, topic)] == [b"value %d" % index for index in range(300)]


def test_keys_decide_the_partition_and_null_keys_stick(client: Client) -> None:
    create(client, "dealt", 5)
    with Producer(client, batch_bytes=4_000) as producer:
        for index in range(50):
            producer.send("dealt", b"v", key=b"key-%d" % index)
            producer.send("dealt", bytes(100))
    records = read_all(client, "dealt")
    for record in records:
        assert record.key is None or record.partition == partition_of_key(record.key, 5)
    keyless = [record.partition for record in records if record.key is None]
    assert len(keyless) == 50
    assert len(set(keyless)) <= 3


def test_an_explicit_partition_is_kept_and_checked(client: Client) -> None:
    create(client, "placed", 2)
    with Producer(client) as producer:
        producer.send("placed", b"v", key=b"k", partition=1)
        with pytest.raises(ClientError, match=r"2 partition") as caught:
            producer.send("placed", b"v", partition=2)
    assert caught.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert [record.partition for record in read_all(client, "placed")] == [1]


def test_a_topic_is_made_by_producing_to_it(client: Client) -> None:
    with Producer(client) as producer:
        producer.send("made", b"first")
    assert [record.value for record in read_all(client, "made")] == [b"first"]


def test_acks_0_and_1(client: Client) -> None:
    create(client, "weak")
    told: list[int | ClientError] = []
    with Producer(client, acks=0) as producer:
        producer.send("weak", b"0", on_delivery=told.append)
    with Producer(client, acks=1) as producer:
        producer.send("weak", b"1", on_delivery=told.append)
    assert told == [-1, 1]
    assert [record.value for record in read_all(client, "weak")] == [b"0", b"1"]
    with pytest.raises(ValueError, match="acks=-1"):
        Producer(client, acks=1, idempotent=True)


def test_the_buffer_is_bound(client: Client) -> None:
    create(client, "bound")
    producer = Producer(client, buffer_bytes=10_000, batch_bytes=2_000, linger_ms=10_000)
    for _ in range(100):
        producer.send("bound", bytes(984))
        assert producer.unacknowledged <= 10
    producer.flush()
    assert producer.delivered == 100


def test_flush_raises_with_everything_that_failed_and_the_rest_is_written(client: Client) -> None:
    create(client, "picky", cleanup_policy="compact")
    told: list[int | ClientError] = []
    producer = Producer(client, linger_ms=0)
    for key in (b"a", None, b"b", None, b"c"):
        producer.send("picky", b"v", key=key, on_delivery=told.append)
        producer.poll(1_000)
    with pytest.raises(DeliveryFailed) as caught:
        producer.flush()
    assert [failure.records_count for failure in caught.value.failures] == [1, 1]
    assert caught.value.code is ErrorCode.INVALID_RECORD
    assert [record.key for record in read_all(client, "picky")] == [b"a", b"b", b"c"]
    assert [isinstance(each, ClientError) for each in told] == [False, True, False, True, False]
    producer.flush()  # a failure is reported once


def test_a_refusal_among_batches_in_flight_costs_only_its_own_batch(client: Client) -> None:
    """The sequence of the refused batch is missing, so the batches behind it are sent again under the next epoch."""
    create(client, "gap", cleanup_policy="compact")
    producer = Producer(client, linger_ms=10_000, batch_bytes=1)  # one record a batch
    for index in range(40):
        producer.send("gap", b"%d" % index, key=None if index == 7 else b"k")
    with pytest.raises(DeliveryFailed) as caught:
        producer.flush()
    assert sum(failure.records_count for failure in caught.value.failures) == 1
    values = [int(record.value or b"") for record in read_all(client, "gap")]
    assert values == [index for index in range(40) if index != 7]


def test_what_is_too_late_is_given_up_and_the_sequence_goes_on() -> None:
    nodes = NodeWorld(seed=12)
    client = client_of(nodes)
    create(client, "late")
    producer = Producer(client, delivery_timeout_ms=2_000)
    producer.send("late", b"before")
    producer.flush()
    nodes.kill()
    producer.send("late", b"lost")
    with pytest.raises(DeliveryFailed) as caught:
        producer.flush()
    assert isinstance(caught.value.failures[0].error, TimedOut)
    nodes.start()
    producer.send("late", b"after")
    producer.flush()
    assert [record.value for record in read_all(client, "late")] == [b"before", b"after"]


def test_flush_can_be_bound() -> None:
    nodes = NodeWorld(seed=13)
    client = client_of(nodes)
    create(client, "slow")
    producer = Producer(client)
    producer.send("slow", b"v")
    nodes.kill()
    with pytest.raises(TimedOut, match="1 record"):
        producer.flush(300)


@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_lost_doubled_or_reordered_by_resets_and_kills(seed: int) -> None:
    """Connections die at any write, and the node at any moment. A record that a retry doubled, or that overtook
    another, would show."""
    settings = NetworkSettings(reset_chance=0.01)
    nodes = NodeWorld(seed=100 + seed, network=settings)
    client = client_of(nodes, seed)
    create(client, "safe", 3)
    outages = Outages(world_of(client), kills=4, life_ms=17 + 5 * seed)
    producer = Producer(client, batch_bytes=600, linger_ms=3)
    told: dict[int, int | ClientError] = {}
    for index in range(360):
        producer.send("safe", b"%d" % index, partition=index % 3, on_delivery=partial(told.__setitem__, index))
        if index % 40 == 0:
            producer.poll(20)
    producer.flush()
    outages.end()
    settings.reset_chance = 0.0
    found = read_all(client, "safe")
    for partition in range(3):
        values = [int(record.value or b"") for record in found if record.partition == partition]
        assert values == list(range(partition, 360, 3))
    offsets = {int(record.value or b""): record.offset for record in found}
    assert told == offsets
