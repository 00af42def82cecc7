"""Arrow tables to a topic and back, through a real node."""

from collections.abc import Iterator

import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.topics import NewTopic
from tidelog.client.client import Client
from tidelog.client.fetch.consumer import Consumer
from tidelog.client.producer.kernels_murmur2 import partition_of_key
from tidelog.client.producer.producer import Producer
from tidelog.client.record import EARLIEST, ConsumerRecord
from tidelog.model.ids import TopicPartition
from tidelog.records.compression import CompressionType

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
TABLE = pa.table(
    {
        "key": pa.array([b"a", None, b"", *[b"k%d" % index for index in range(997)]], pa.binary()),
        "value": pa.array([b"1", b"2", None, *[b"value %d" % index for index in range(997)]], pa.binary()),
        "timestamp": pa.array([1_000 + index for index in range(1_000)], pa.timestamp("ms", "UTC")),
        "headers": pa.array([[{"key": "h", "value": b"x"}, {"key": "i", "value": None}], *[[]] * 999], HEADERS),
    }
)


@pytest.fixture
def client(bootstrap: str) -> Iterator[Client]:
    with Client(bootstrap) as client:
        yield client


def records_from(client: Client, topic_partition: TopicPartition, start: int = EARLIEST) -> list[ConsumerRecord]:
    """Return the records of the partition from `start` to its end."""
    with Consumer(client, partition_bytes=10_000) as consumer:
        consumer.assign({topic_partition: start})
        return list(consumer.read_to_end())


def assert_are_rows(records: list[ConsumerRecord], table: pa.Table) -> None:
    """Assert that the records are the rows of the table, in every column that the table has."""
    columns = table.to_pydict()
    assert [record.key for record in records] == columns["key"]
    assert [record.value for record in records] == columns["value"]
    assert [record.timestamp for record in records] == table["timestamp"].cast(pa.int64()).to_pylist()
    headers = [[{"key": header.key, "value": header.value} for header in record.headers] for record in records]
    assert headers == columns["headers"]


@pytest.mark.parametrize("codec", [CompressionType.NONE, CompressionType.ZSTD], ids=lambda codec: codec.name)
def test_there_and_back(client: Client, topic: str, codec: CompressionType) -> None:
    Admin(client).create_topic(NewTopic(topic, 1))
    with Producer(client, compression=codec, batch_bytes=4_000) as producer:
        producer.produce_arrow(topic, TABLE.slice(0, 400))
        producer.send(topic, b"between")
        producer.produce_arrow(topic, TABLE.slice(400))
    found = records_from(client, TopicPartition(topic, 0))
    assert [record.offset for record in found] == list(range(1_001))
    assert found.pop(400).value == b"between"
    assert_are_rows(found, TABLE)


def test_from_the_middle(client: Client, topic: str) -> None:
    Admin(client).create_topic(NewTopic(topic, 1))
    with Producer(client) as producer:
        producer.produce_arrow(topic, TABLE, partition=0)
    found = records_from(client, TopicPartition(topic, 0), 123)
    assert found[0].offset == 123
    assert_are_rows(found, TABLE.slice(123))


def test_keys_decide_the_partition(client: Client, topic: str) -> None:
    Admin(client).create_topic(NewTopic(topic, 4))
    with Producer(client) as producer:
        producer.produce_arrow(topic, TABLE.select(["key", "value"]))
    consumer = Consumer(client)
    consumer.assign(dict.fromkeys(consumer.partitions(topic), EARLIEST))
    found = list(consumer.read_to_end())
    assert len(found) == 1_000
    for record in found:
        assert record.key is None or record.partition == partition_of_key(record.key, 4)


def test_a_column_says_the_partition_and_what_is_unknown_is_refused(client: Client, topic: str) -> None:
    Admin(client).create_topic(NewTopic(topic, 2))
    table = pa.table({"value": ["a", "b", "c"], "partition": [1, 0, 1]})
    with Producer(client) as producer:
        producer.produce_arrow(topic, table)
        with pytest.raises(ValueError, match="colour"):
            producer.produce_arrow(topic, pa.table({"value": [b"a"], "colour": ["red"]}))
    assert [record.value for record in records_from(client, TopicPartition(topic, 1))] == [b"a", b"c"]
    assert [record.value for record in records_from(client, TopicPartition(topic, 0))] == [b"b"]
