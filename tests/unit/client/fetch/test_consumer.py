"""The consumer against a node in the simulator."""

from collections.abc import Iterator

import pytest
from tests.unit.client.simulated import Outages, client_of, world_of

from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.topics import NewTopic
from tidelog.client.client import Client
from tidelog.client.errors import ClientError, CorruptRecords, OffsetOutOfRange
from tidelog.client.fetch.consumer import Consumer
from tidelog.client.producer.producer import Producer
from tidelog.client.record import EARLIEST, LATEST
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.records.compression import CompressionType
from tidelog.sim.node_world import NodeWorld
from tidelog.sim.wire import NetworkSettings

BEGAN_MS = 1_000_000


@pytest.fixture(scope="module")
def nodes() -> NodeWorld:
    return NodeWorld(seed=21)


@pytest.fixture
def client(nodes: NodeWorld) -> Client:
    return client_of(nodes)


@pytest.fixture
def consumer(client: Client) -> Iterator[Consumer]:
    with Consumer(client) as consumer:
        yield consumer


def fill(client: Client, topic: str, count: int, partitions: int = 1, **options: object) -> None:
    """Produce the values 0, 1, ... to the partitions in turn; their timestamps are a second apart."""
    if topic not in client.metadata.topics:
        Admin(client).create_topic(NewTopic(topic, partitions))
    with Producer(client, batch_bytes=300, **options) as producer:  # type: ignore[arg-type]
        for index in range(count):
            timestamp = BEGAN_MS + 1_000 * index
            producer.send(topic, b"%d" % index, partition=index % partitions, timestamp=timestamp)


def values(records: object) -> list[int]:
    return [int(record.value) for record in records]  # type: ignore[attr-defined]


def test_from_the_beginning_to_the_end_and_then_what_comes(client: Client, consumer: Consumer) -> None:
    fill(client, "whole", 100)
    topic_partition = TopicPartition("whole", 0)
    consumer.assign({topic_partition: EARLIEST})
    assert values(consumer.read_to_end()) == list(range(100))
    assert consumer.position(topic_partition) == consumer.high_watermark(topic_partition) == 100
    assert consumer.poll(10) == []
    fill(client, "whole", 1)
    assert values(consumer.poll(2_000)) == [0]
    assert consumer.position(topic_partition) == 101


def test_from_an_offset_in_the_middle_of_a_batch_and_in_small_bites(client: Client, consumer: Consumer) -> None:
    fill(client, "bites", 50)
    topic_partition = TopicPartition("bites", 0)
    consumer.assign({topic_partition: 17})
    bites = [consumer.poll(1_000, max_records=4) for _ in range(9)]
    assert all(1 <= len(bite) <= 4 for bite in bites)
    found = [record.offset for bite in bites for record in bite]
    assert found == list(range(17, 17 + len(found)))
    assert consumer.position(topic_partition) == 17 + len(found)


def test_from_latest_only_what_is_new(client: Client, consumer: Consumer) -> None:
    fill(client, "late", 10)
    consumer.assign({TopicPartition("late", 0): LATEST})
    assert consumer.poll(50) == []
    fill(client, "late", 3)
    assert values(consumer.poll(2_000)) == [0, 1, 2]


def test_from_a_time(client: Client, consumer: Consumer) -> None:
    fill(client, "times", 20, partitions=2)
    consumer.assign_from_time(consumer.partitions("times"), BEGAN_MS + 16_500)
    assert sorted(values(consumer.read_to_end())) == [17, 18, 19]
    consumer.assign_from_time(consumer.partitions("times"), BEGAN_MS + 10_000_000)
    assert list(consumer.read_to_end()) == []
    assert {consumer.position(topic_partition) for topic_partition in consumer.assignment} == {10}


def test_many_partitions_take_turns_and_each_keeps_its_order(client: Client, consumer: Consumer) -> None:
    fill(client, "many", 300, partitions=7)
    consumer.assign(dict.fromkeys(consumer.partitions("many"), EARLIEST))
    found = list(consumer.read_to_end())
    assert sorted(values(found)) == list(range(300))
    for topic_partition in consumer.partitions("many"):
        mine = values(record for record in found if record.partition == topic_partition.partition)
        assert mine == list(range(topic_partition.partition, 300, 7))


def test_a_seek_forgets_what_was_fetched_ahead(client: Client, consumer: Consumer) -> None:
    fill(client, "seek", 60)
    topic_partition = TopicPartition("seek", 0)
    consumer.assign({topic_partition: EARLIEST})
    assert values(consumer.poll(1_000, max_records=2)) == [0, 1]
    consumer.seek(topic_partition, 40)
    assert values(consumer.read_to_end()) == list(range(40, 60))
    consumer.seek(topic_partition, EARLIEST)
    assert values(consumer.poll(1_000, max_records=1)) == [0]


def test_a_response_to_what_was_asked_before_a_seek_is_not_taken(client: Client, consumer: Consumer) -> None:
    fill(client, "stale", 60)
    topic_partition = TopicPartition("stale", 0)
    consumer.assign({topic_partition: 40})
    assert consumer.poll(0) == [], "the request is on its way"
    consumer.seek(topic_partition, 0)
    assert values(consumer.read_to_end()) == list(range(60))


@pytest.mark.parametrize("codec", [CompressionType.LZ4, CompressionType.ZSTD])
def test_compressed(client: Client, consumer: Consumer, codec: CompressionType) -> None:
    fill(client, f"small-{codec.name}", 200, compression=codec)
    consumer.assign({TopicPartition(f"small-{codec.name}", 0): 3})
    assert values(consumer.read_to_end()) == list(range(3, 200))


def test_an_offset_that_is_not_there_is_an_error_unless_told_otherwise(client: Client) -> None:
    fill(client, "range", 20)
    topic_partition = TopicPartition("range", 0)
    assert Admin(client).delete_records({topic_partition: 5}) == {topic_partition: 5}
    strict = Consumer(client)
    strict.assign({topic_partition: 2})
    with pytest.raises(OffsetOutOfRange, match="offset 2"):
        strict.poll(1_000)
    strict.seek(topic_partition, 5)
    assert values(strict.read_to_end()) == list(range(5, 20))
    lenient = Consumer(client, out_of_range="earliest")
    lenient.assign({topic_partition: 2})
    assert values(lenient.read_to_end()) == list(range(5, 20))
    hasty = Consumer(client, out_of_range="latest")
    hasty.assign({topic_partition: 1_000})
    assert hasty.poll(200) == []
    assert hasty.position(topic_partition) == 20


def test_ends_and_beginnings(client: Client, consumer: Consumer) -> None:
    fill(client, "ends", 9, partitions=2)
    one, two = consumer.partitions("ends")
    assert consumer.beginning_offsets([one, two]) == {one: 0, two: 0}
    assert consumer.end_offsets([one, two]) == {one: 5, two: 4}


def test_what_does_not_exist_is_said_at_once(client: Client, consumer: Consumer) -> None:
    fill(client, "there", 1)
    with pytest.raises(ClientError, match="tidelog topics create") as caught:
        consumer.assign({TopicPartition("not-there", 0): 0})
    assert caught.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    with pytest.raises(ClientError, match=r"1 partition"):
        consumer.assign({TopicPartition("there", 1): 0})
    with pytest.raises(ValueError, match="-3"):
        consumer.assign({TopicPartition("there", 0): -3})


def test_a_topic_made_anew_is_not_mistaken_for_the_old_one(client: Client, consumer: Consumer) -> None:
    fill(client, "anew", 5)
    consumer.assign({TopicPartition("anew", 0): EARLIEST})
    assert values(consumer.read_to_end()) == list(range(5))
    other = client_of(world_of(client).nodes, seed=2)
    Admin(other).delete_topic("anew")
    fill(other, "anew", 9)
    with pytest.raises(ClientError) as caught:
        next(iter(consumer))
    assert caught.value.code in (ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def test_damaged_records_are_an_error_not_records(
    client: Client, consumer: Consumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(client, "damaged", 20)
    topic_partition = TopicPartition("damaged", 0)
    consumer.assign({topic_partition: EARLIEST})
    state = consumer._assigned[topic_partition]
    receive = state.received

    def damage(data: bytes, aborted: None) -> None:
        at = len(data) - 3
        receive(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :], aborted)

    monkeypatch.setattr(state, "received", damage)
    with pytest.raises(CorruptRecords, match="checksum"):
        list(consumer.read_to_end())


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_skipped_or_repeated_through_resets_and_kills(seed: int) -> None:
    settings = NetworkSettings()
    nodes = NodeWorld(seed=200 + seed, network=settings)
    client = client_of(nodes, seed)
    fill(client, "steady", 400, partitions=2)
    consumer = Consumer(client, partition_bytes=400, max_wait_ms=20)
    consumer.assign(dict.fromkeys(consumer.partitions("steady"), EARLIEST))
    settings.reset_chance = 0.02
    outages = Outages(world_of(client), kills=4, life_ms=11 + 3 * seed)
    found: list[tuple[int, int]] = []
    while len(found) < 400:
        found += [(record.partition, int(record.value or b"")) for record in consumer.poll(100, max_records=7)]
    for partition in range(2):
        assert [value for where, value in found if where == partition] == list(range(partition, 400, 2))
    outages.end()
