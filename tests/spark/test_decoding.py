"""Values decoded in Spark, from records of a topic: JSON, Avro and Protobuf; what cannot be decoded is named."""

import io
import json
from collections.abc import Iterator, Sequence
from typing import Any

import fastavro
import pytest
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col
from tests.unit.pyspark_tidelog.decoding.descriptors import descriptor_set, message_class
from tests.unit.pyspark_tidelog.decoding.fake_registry import FakeRegistry, serving

from pyspark_tidelog.decoding import Registry, from_avro, from_json_value, from_protobuf
from tidelog.client.client import Client
from tidelog.client.producer.producer import Producer

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "tags", "type": {"type": "map", "values": "string"}},
    ],
}


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    with serving() as found:
        found.add(1, json.dumps(ORDER))
        yield found


def records(spark: SparkSession, bootstrap: str, topic: str, values: Sequence[bytes | None]) -> DataFrame:
    """The values, as records of a topic of one partition."""
    with Client(bootstrap) as client, Producer(client) as producer:
        for value in values:
            producer.send(topic, value, partition=0)
    options = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic}
    return spark.read.format("tidelog").options(**options).load()


def avro(order: dict[str, Any]) -> bytes:
    data = io.BytesIO()
    fastavro.schemaless_writer(data, fastavro.parse_schema(ORDER), order)
    return b"\0\0\0\0\1" + data.getvalue()


def test_json_keeps_what_is_malformed(spark: SparkSession, bootstrap: str, topic: str) -> None:
    texts = [
        '{"id": 1, "name": "a"}',
        '{"id": "x", "name": "b"}',
        "{",
        "",
        "null",
        "[1]",
        "7",
        '{"other": 1}',
        "\u00e9",
    ]
    read = records(spark, bootstrap, topic, [*(text.encode() for text in texts), None, b"\xff"])
    parsed = read.orderBy("offset").select(from_json_value("value", "id bigint, name string").alias("v"))
    assert parsed.schema["v"].dataType.simpleString() == "struct<id:bigint,name:string,_malformed:string>"
    found = [row.v for row in parsed.collect()]
    assert found[0].asDict() == {"id": 1, "name": "a", "_malformed": None}
    assert found[7].asDict() == {"id": None, "name": None, "_malformed": None}
    assert found[9] is None
    assert [found[index]._malformed for index in (1, 2, 3, 4, 5, 6, 8)] == [texts[i] for i in (1, 2, 3, 4, 5, 6, 8)]
    assert found[10]._malformed is not None
    assert [found[index].id for index in (1, 2, 3, 4, 5, 6, 8)] == [None] * 7


def test_avro(spark: SparkSession, bootstrap: str, topic: str, registry: FakeRegistry) -> None:
    read = records(spark, bootstrap, topic, [avro({"id": 5, "at": 1_700_000_000_123, "tags": {"k": "v"}}), None])
    decoded = from_avro("value", json.dumps(ORDER), Registry(registry.url)).alias("o")
    found = read.orderBy("offset").select(decoded).select("o.id", col("o.at").cast("double"), "o.tags")
    assert [tuple(row) for row in found.collect()] == [(5, 1_700_000_000.123, {"k": "v"}), (None, None, None)]
    assert registry.asked


def test_protobuf(spark: SparkSession, bootstrap: str, topic: str) -> None:
    order = message_class("shop.Order")(id=5, big=2**64 - 1, status=1, tags=["x"], lines=[{"sku": "s"}])
    read = records(spark, bootstrap, topic, [b"\0\0\0\0\1\2\2" + order.SerializeToString()])
    decoded = from_protobuf("value", "shop.Order", descriptor_set()).alias("o")
    (row,) = read.select(decoded).select("o.id", col("o.big").cast("string"), "o.status", "o.lines.sku").collect()
    assert tuple(row) == (5, str(2**64 - 1), "PAID", ["s"])


def test_a_row_that_cannot_be_decoded(spark: SparkSession, bootstrap: str, topic: str, registry: FakeRegistry) -> None:
    good = avro({"id": 5, "at": 0, "tags": {}})
    read = records(spark, bootstrap, topic, [good, b"not avro", good])
    schema, where = json.dumps(ORDER), Registry(registry.url)
    nulls = read.select(from_avro("value", schema, where, on_error="null").alias("o"), "offset")
    assert {row.offset: row.o and row.o.id for row in nulls.collect()} == {0: 5, 1: None, 2: 5}
    with pytest.raises(PythonException, match=f"{topic}-0, offset 1: the value cannot be decoded: it begins with byte"):
        read.select(from_avro("value", schema, where)).collect()
