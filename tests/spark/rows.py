"""Rows of a topic as plain tuples, and topics that have a bit of everything: what two readers must agree on."""

from collections.abc import Sequence
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import DataFrame, SparkSession

OFFICIAL, OURS = "kafka", "tidelog"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

Headers = tuple[tuple[str, bytes | None], ...]
# topic, partition, offset, timestamp in microseconds, its type, key, value, headers
PlainRow = tuple[str, int, int, int, int, bytes | None, bytes | None, Headers]


def create(bootstrap: str, topic: str, partitions: int, replicas: int = 1) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})  # kept: without it the answer never comes
    admin.create_topics([NewTopic(topic, partitions, replicas)])[topic].result(30)


def read(spark: SparkSession, form: str, bootstrap: str, **options: str) -> DataFrame:
    reader = spark.read.format(form).option("kafka.bootstrap.servers", bootstrap)
    return reader.options(**options).load()


def plain(frame: DataFrame) -> list[PlainRow]:
    """In the order of the log."""
    columns = [
        "topic",
        "partition",
        "offset",
        "unix_micros(timestamp) AS at",
        "timestampType",
        "key",
        "value",
        "headers",
    ]
    return sorted(_plain(row) for row in frame.selectExpr(*columns).collect())


def _plain(row: Any) -> PlainRow:
    headers = tuple((each.key, _bytes(each.value)) for each in row.headers or ())
    return row.topic, row.partition, row.offset, row.at, row.timestampType, _bytes(row.key), _bytes(row.value), headers


def _bytes(value: bytearray | None) -> bytes | None:
    return None if value is None else bytes(value)


def produce_a_bit_of_everything(bootstrap: str, topic: str, partitions: Sequence[int]) -> int:
    """All codecs, null keys and values, headers with and without value; how many records."""
    count = 0
    for codec in CODECS:
        producer = Producer({"bootstrap.servers": bootstrap, "compression.type": codec, "linger.ms": 20})
        for number in range(40):
            producer.produce(
                topic,
                value=None if number % 7 == 3 else b"%s value %d " % (codec.encode(), number) * (1 + number % 5),
                key=None if number % 5 == 1 else b"key %d" % (number % 11),
                partition=partitions[number % len(partitions)],
                timestamp=1_700_000_000_000 + count,
                headers=_headers(number),
            )
            count += 1
        assert producer.flush(30) == 0
    return count


def _headers(number: int) -> list[tuple[str, str | bytes | None]]:
    return [(f"h{index}", None if index == 2 else b"%d" % number) for index in range(number % 4)]


def produce_in_transactions(bootstrap: str, topic: str, transactional_id: str) -> int:
    """Committed and aborted by turns, to partition 0; how many records are committed."""
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": transactional_id})
    producer.init_transactions(30)
    for number in range(6):
        producer.begin_transaction()
        for index in range(10):
            producer.produce(topic, b"transaction %d record %d" % (number, index), partition=0)
        producer.flush(30)
        if number % 2:
            producer.abort_transaction(30)
        else:
            producer.commit_transaction(30)
    return 30
