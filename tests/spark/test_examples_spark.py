"""The programs in examples/spark, which the guide is made of, do what it says of them."""

import io
import json
from collections.abc import Callable
from pathlib import Path

import fastavro
import pytest
from examples.spark import archive, decode_json, decode_registry, read_batch, several_topics, stream_to_topic
from pyspark.sql import SparkSession
from tests.spark.rows import OURS, read
from tests.spark.sink_driving import values
from tests.spark.source_steps import create, produce
from tests.unit.pyspark_tidelog.decoding.descriptors import descriptor_set, message_class
from tests.unit.pyspark_tidelog.decoding.fake_registry import serving

from pyspark_tidelog.lake import audit
from tidelog.client.admin.admin_client import Admin
from tidelog.client.client import Client
from tidelog.client.producer.producer import Producer
from tidelog.model.ids import TopicPartition

pytestmark = pytest.mark.early

NOON_MS = 1_763_294_400_000  # 2025-11-16T12:00:00Z


@pytest.fixture
def orders(bootstrap: str, topic: str) -> str:
    """Two partitions of six records, a second apart."""
    create(bootstrap, topic, 2)
    with Client(bootstrap) as client, Producer(client) as producer:
        for number in range(12):
            value, time_ms = b"order %02d" % number, NOON_MS + 1000 * (number // 2)
            producer.send(topic, value, key=b"k", partition=number % 2, timestamp=time_ms)
    return topic


def test_reading(spark: SparkSession, bootstrap: str, orders: str, capsys: pytest.CaptureFixture[str]) -> None:
    read_batch.main(["--bootstrap-server", bootstrap, "--topic", orders])
    shown = capsys.readouterr().out
    assert "order 11" in shown
    assert " 96|" in shown
    assert read_batch.own_schema(spark, bootstrap, orders).columns == ["value"]
    assert "headers" in read_batch.with_headers(spark, bootstrap, orders).columns
    found = read_batch.between(spark, bootstrap, orders).select("partition", "offset").collect()
    assert sorted(map(tuple, found)) == [(0, 2), (0, 3), (0, 4), *((1, offset) for offset in range(6))]
    since = read_batch.one_partition_since(spark, bootstrap, orders, "2025-11-16 12:00:04")
    assert [(row.partition, row.offset) for row in since.collect()] == [(0, 4), (0, 5)]
    assert read_batch.as_of(spark, bootstrap, orders, "2025-11-16T12:00:01Z").count() == 4


@pytest.mark.usefixtures("limits")
def test_a_stream_to_a_topic(
    spark: SparkSession,
    bootstrap: str,
    orders: str,
    checkpoint: str,
    kafka_topic: Callable[..., str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    target = kafka_topic("shouted")
    arguments = ["--bootstrap-server", bootstrap, "--source", orders, "--target", target, "--checkpoint", checkpoint]
    stream_to_topic.main([*arguments, "--available-now"])
    assert values(bootstrap, target) == [b"ORDER %02d" % number for number in range(12)]
    assert f"{orders}-1: 0 records behind" in capsys.readouterr().out
    assert stream_to_topic.finish(bootstrap) == []
    with Client(bootstrap) as client:
        assert Admin(client).list_group_offsets("shouting")[TopicPartition(orders, 0)].offset == 6


def test_several_topics(
    spark: SparkSession, bootstrap: str, checkpoint: str, tmp_path: Path, kafka_topic: Callable[..., str]
) -> None:
    source, lake = kafka_topic("payments"), str(tmp_path / "lake")
    produce(bootstrap, source, ["5", "1000", "70"])
    arguments = ["--bootstrap-server", bootstrap, "--source", source, "--checkpoint", checkpoint, "--lake", lake]
    several_topics.main([*arguments, "--available-now"])
    assert values(bootstrap, f"{source}.booked") == [b"1000", b"5", b"70"]
    assert values(bootstrap, f"{source}.alerts") == [b"1000"]
    assert sorted(row.value for row in spark.read.parquet(lake).collect()) == ["1000", "5", "70"]
    assert audit(lake) == []


def test_an_archive(
    spark: SparkSession,
    bootstrap: str,
    orders: str,
    checkpoint: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lake = str(tmp_path / "lake")
    arguments = ["--bootstrap-server", bootstrap, "--topic", orders, "--directory", lake, "--checkpoint", checkpoint]
    archive.main([*arguments, "--available-now"])
    assert capsys.readouterr().out == f"12 records in {lake}\n"
    produce(bootstrap, orders, ["more"], 1)
    assert archive.archive_the_rest(spark, bootstrap, orders, lake).rows == 1
    kept = archive.read_back(spark, lake).where("partition = 1 AND offset = 6").collect()
    assert [bytes(row.value) for row in kept] == [b"more"]
    assert archive.problems(lake) == []


def test_json(bootstrap: str, topic: str, spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    produce(bootstrap, topic, ['{"id": 1, "customer": "ann", "amount": 12.50}', "{", '{"id": "x"}'])
    decode_json.main(["--bootstrap-server", bootstrap, "--topic", topic])
    shown = capsys.readouterr().out
    assert "|1  |ann     |12.50 |" in shown
    assert '|0        |2     |{"id": "x"}|' in shown


def test_a_schema_registry(
    bootstrap: str, topic: str, spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
    framed = io.BytesIO(b"\0\0\0\0\1")
    framed.seek(0, io.SEEK_END)
    fastavro.schemaless_writer(framed, fastavro.parse_schema(schema), {"id": 4711})
    protobuf = b"\0\0\0\0\1\2\2" + message_class("shop.Order")(id=815).SerializeToString()
    with Client(bootstrap) as client, Producer(client) as producer:
        producer.send(topic, framed.getvalue())
        producer.send(f"{topic}-2", protobuf)
    file = tmp_path / "order.avsc"
    file.write_text(json.dumps(schema))
    with serving() as registry:
        registry.add(1, json.dumps(schema))
        arguments = ["--bootstrap-server", bootstrap, "--topic", topic]
        decode_registry.main([*arguments, "--registry", registry.url, "--schema", str(file)])
    assert "{4711}" in capsys.readouterr().out
    records = read(spark, OURS, bootstrap, subscribe=f"{topic}-2")
    (row,) = decode_registry.protobuf(records, "shop.Order", descriptor_set()).select("order.id").collect()
    assert row.id == 815
