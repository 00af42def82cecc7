"""Our own client and librdkafka on one node: each reads what the other wrote, and both choose the same partition for a
key."""

from typing import Any

import confluent_kafka
import pytest
from tests.support.ports import held_ports

import tidelog.testing
from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.topics import NewTopic
from tidelog.client.client import Client
from tidelog.client.errors import CannotConnect, ClientError
from tidelog.client.fetch.consumer import Consumer
from tidelog.client.producer.producer import Producer
from tidelog.client.record import EARLIEST, ConsumerRecord
from tidelog.model.ids import TopicPartition
from tidelog.records.compression import CompressionType
from tidelog.records.record import Header

TIMEOUT_S = 30
ROWS: list[tuple[bytes | None, bytes | None, tuple[Header, ...]]] = [
    (b"k", b"v", (Header("h", b"1"), Header("none", None))),
    (None, b"no key", ()),
    (b"no value", None, ()),
    (b"", b"", ()),
    *[(b"key-%d" % index, b"value %d " % index * 30, ()) for index in range(300)],
]


def created(client: Client, topic: str, partitions: int = 1) -> str:
    Admin(client).create_topic(NewTopic(topic, partitions))
    return topic


def read_all(client: Client, topic: str) -> list[ConsumerRecord]:
    with Consumer(client) as consumer:
        consumer.assign(dict.fromkeys(consumer.partitions(topic), EARLIEST))
        return list(consumer.read_to_end())


def confluent_read(bootstrap: str, topic: str, count: int) -> list[Any]:
    settings = {"bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": False, "check.crcs": True}
    consumer = confluent_kafka.Consumer(settings)
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    found = consumer.consume(count, TIMEOUT_S)
    consumer.close()
    return list(found)


@pytest.mark.parametrize("codec", list(CompressionType), ids=lambda codec: codec.name)
def test_librdkafka_reads_what_we_write(bootstrap: str, topic: str, codec: CompressionType) -> None:
    with Client(bootstrap) as client:
        created(client, topic)
        with Producer(client, compression=codec) as producer:
            for index, (key, value, headers) in enumerate(ROWS):
                producer.send(topic, value, key=key, headers=headers, timestamp=1_700_000_000_000 + index)
    found = confluent_read(bootstrap, topic, len(ROWS))
    assert [(each.key(), each.value()) for each in found] == [(key, value) for key, value, _ in ROWS]
    assert found[0].headers() == [("h", b"1"), ("none", None)]
    assert [each.timestamp()[1] for each in found] == [1_700_000_000_000 + index for index in range(len(ROWS))]
    assert [each.offset() for each in found] == list(range(len(ROWS)))


@pytest.mark.parametrize("codec", list(CompressionType), ids=lambda codec: codec.name)
def test_we_read_what_librdkafka_writes(bootstrap: str, topic: str, codec: CompressionType) -> None:
    with Client(bootstrap) as client:
        created(client, topic)
        settings = {"bootstrap.servers": bootstrap, "compression.type": codec.name.lower(), "linger.ms": 5}
        producer = confluent_kafka.Producer(settings)
        for index, (key, value, headers) in enumerate(ROWS):
            times = 1_700_000_000_000 + index
            producer.produce(
                topic, value, key, 0, timestamp=times, headers=[(each.key, each.value) for each in headers]
            )
        assert producer.flush(TIMEOUT_S) == 0
        found = read_all(client, topic)
    assert [(each.key, each.value, each.headers) for each in found] == ROWS
    assert [each.timestamp for each in found] == [1_700_000_000_000 + index for index in range(len(ROWS))]


def test_keys_go_where_librdkafka_puts_them_in_javas_way(bootstrap: str, topic: str) -> None:
    keys = [b"key-%d" % index * (index % 5) for index in range(200)]
    with Client(bootstrap) as client:
        created(client, topic, 11)
        with Producer(client) as ours:
            for key in keys:
                ours.send(topic, b"ours", key=key)
        theirs = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "partitioner": "murmur2"})
        for key in keys:
            theirs.produce(topic, b"theirs", key)
        assert theirs.flush(TIMEOUT_S) == 0
        topic_partitions: dict[bytes | None, set[int]] = {}
        for record in read_all(client, topic):
            topic_partitions.setdefault((record.value or b"") + (record.key or b""), set()).add(record.partition)
    for key in keys:
        assert topic_partitions[b"ours" + key] == topic_partitions[b"theirs" + key]
        assert len(topic_partitions[b"ours" + key]) == 1


def test_nothing_is_lost_or_doubled_when_the_node_is_killed_in_mid_produce() -> None:
    """The node is killed with -9 while batches are in flight; all that the producer notices is the delay."""
    count = 6_000
    with tidelog.testing.broker() as broker, Client(broker.bootstrap_servers) as client:
        created(client, "safe", 2)
        offsets: dict[int, int | ClientError] = {}
        with Producer(client, batch_bytes=4_000, linger_ms=0) as producer:
            for index in range(count):
                producer.send("safe", b"%d" % index, partition=index % 2, on_delivery=_note(offsets, index))
                if index in (count // 4, count // 2):
                    assert producer.unacknowledged, "nothing was in flight"
                    broker.kill()
                    broker.start()
        found = read_all(client, "safe")
    for partition in range(2):
        mine = [int(record.value or b"") for record in found if record.partition == partition]
        assert mine == list(range(partition, count, 2))
    assert {int(record.value or b""): record.offset for record in found} == offsets


def _note(offsets: dict[int, int | ClientError], index: int) -> Any:
    return lambda offset: offsets.__setitem__(index, offset)


def test_a_consumer_outlives_its_broker() -> None:
    with tidelog.testing.broker() as broker, Client(broker.bootstrap_servers) as client:
        created(client, "steady")
        with Producer(client) as producer:
            for index in range(1_000):
                producer.send("steady", b"%d" % index)
        consumer = Consumer(client, partition_bytes=1_000)
        consumer.assign({TopicPartition("steady", 0): EARLIEST})
        found = consumer.poll(5_000, max_records=10)
        broker.kill()
        broker.start()
        found += consumer.read_to_end()
    assert [int(record.value or b"") for record in found] == list(range(1_000))


def test_a_refused_connection_names_the_address_and_the_next_step() -> None:
    gone = f"127.0.0.1:{held_ports(1)[0]}"
    with Client(gone) as client, pytest.raises(CannotConnect) as caught:
        Admin(client).list_topics()
    assert gone in str(caught.value)
    assert "tidelog dev" in str(caught.value)
    assert "refused" in str(caught.value)
