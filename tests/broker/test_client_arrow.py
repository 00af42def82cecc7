"""Arrow tables to a topic and back, through a real node."""

from collections.abc import Iterator

import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.topics import NewTopic
from tidelog.client.client import Client
from tidelog.client.errors import ClientError
from tidelog.client.fetch.consumer import Consumer
from tidelog.client.producer.kernels_murmur2 import partition_of_key
from tidelog.client.producer.producer import Producer
from tidelog.client.record import EARLIEST
from tidelog.model.errors import ErrorCode
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


def fetched(
    consumer: Consumer, topic_partition: TopicPartition, start: int, end: int, *, headers: bool = True
) -> pa.Table:
    tables = []
    while start < end:
        fetch = consumer.fetch_arrow(topic_partition, start, end_offset=end, headers=headers)
        fetch.table.validate(full=True)
        tables.append(fetch.table)
        start = fetch.next_offset
    return pa.concat_tables(tables)


@pytest.mark.parametrize("codec", [CompressionType.NONE, CompressionType.ZSTD], ids=lambda codec: codec.name)
def test_there_and_back(client: Client, topic: str, codec: CompressionType) -> None:
    Admin(client).create_topic(NewTopic(topic, 1))
    with Producer(client, compression=codec, batch_bytes=4_000) as producer:
        producer.produce_arrow(topic, TABLE.slice(0, 400))
        producer.send(topic, b"between")
        producer.produce_arrow(topic, TABLE.slice(400))
    topic_partition = TopicPartition(topic, 0)
    consumer = Consumer(client, partition_bytes=10_000)
    found = fetched(consumer, topic_partition, 0, 1_001)
    assert found["offset"].to_pylist() == list(range(1_001))
    assert found["value"][400].as_py() == b"between"
    kept = pa.concat_tables([found.slice(0, 400), found.slice(401)])
    for column in ("key", "value", "timestamp", "headers"):
        assert kept[column].to_pylist() == TABLE[column].to_pylist(), column
    consumer.assign({topic_partition: EARLIEST})
    assert [record.value for record in consumer.read_to_end()] == found["value"].to_pylist()


def test_from_the_middle_to_the_middle_without_headers(client: Client, topic: str) -> None:
    Admin(client).create_topic(NewTopic(topic, 1))
    with Producer(client) as producer:
        producer.produce_arrow(topic, TABLE, partition=0)
    found = fetched(Consumer(client), TopicPartition(topic, 0), 123, 456, headers=False)
    assert found["offset"].to_pylist() == list(range(123, 456))
    assert found.column_names == ["offset", "timestamp", "key", "value"]


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
    consumer = Consumer(client)
    found = fetched(consumer, TopicPartition(topic, 1), 0, 2)
    assert found["value"].to_pylist() == [b"a", b"c"]
    with pytest.raises(ClientError) as caught:
        consumer.fetch_arrow(TopicPartition(topic, 0), 50)
    assert caught.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
