"""Batch reads: which records, which columns, in how many tasks."""

import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.spark.source_steps import batch, create, delete_records, produce, values

from tidelog.records.record import Header

PUSH_DOWN = "spark.sql.python.filterPushdown.enabled"
HOUR_MS = 3_600_000


@pytest.fixture
def filled(bootstrap: str, topic: str) -> str:
    """Two partitions with five records each, an hour between two records."""
    create(bootstrap, topic, 2)
    for partition in range(2):
        for number in range(5):
            at_ms = 1_700_000_000_000 + number * HOUR_MS
            produce(
                bootstrap, topic, [f"{partition}.{number}"], partition, timestamp=at_ms, headers=[Header("h", b"1")]
            )
    return topic


def at(number: int) -> datetime:
    return datetime.fromtimestamp(1_700_000_000 + number * 3_600, UTC)


def test_the_columns_that_are_asked_for(spark: SparkSession, bootstrap: str, filled: str) -> None:
    everything = batch(spark, bootstrap, subscribe=filled, includeHeaders="true")
    (row,) = everything.where("partition = 1 and offset = 3").collect()
    assert (row.key, bytes(row.value), row.topic, row.timestampType) == (None, b"1.3", filled, 0)
    assert row.timestamp.timestamp() == at(3).timestamp()
    assert [(each.key, bytes(each.value)) for each in row.headers] == [("h", b"1")]
    sizes = batch(spark, bootstrap, subscribe=filled, columns="value_size,offset")
    assert sorted(map(tuple, sizes.collect())) == sorted((3, offset) for offset in [*range(5), *range(5)])
    reader = spark.read.format("tidelog").option("kafka.bootstrap.servers", bootstrap).option("subscribe", filled)
    assert reader.schema("offset bigint, value binary").load().columns == ["offset", "value"]
    assert reader.schema("value binary").load().count() == 10


def test_a_range_by_offsets_and_by_times(spark: SparkSession, bootstrap: str, filled: str) -> None:
    by_offset = batch(
        spark,
        bootstrap,
        subscribe=filled,
        startingOffsets=f'{{"{filled}":{{"0":3,"1":-2}}}}',
        endingOffsets=f'{{"{filled}":{{"0":-1,"1":1}}}}',
    )
    assert values(by_offset) == ["0.3", "0.4", "1.0"]
    as_ms = {number: str(1_700_000_000_000 + number * HOUR_MS) for number in (1, 3)}
    by_time = batch(spark, bootstrap, subscribe=filled, startingTimestamp=as_ms[1], endingTimestamp=as_ms[3])
    assert values(by_time) == ["0.1", "0.2", "1.1", "1.2"]
    as_of = batch(spark, bootstrap, subscribe=filled, asOf=at(1).isoformat())
    assert values(as_of) == ["0.0", "0.1", "1.0", "1.1"]


def test_partitions_that_are_assigned_and_tasks_that_are_split(
    spark: SparkSession, bootstrap: str, filled: str
) -> None:
    one = batch(spark, bootstrap, assign=f'{{"{filled}":[1]}}', minPartitions="3")
    assert one.rdd.getNumPartitions() == 3
    assert values(one) == [f"1.{number}" for number in range(5)]


def test_an_empty_topic_is_no_rows(spark: SparkSession, bootstrap: str, topic: str) -> None:
    create(bootstrap, topic)
    assert batch(spark, bootstrap, subscribe=topic).count() == 0


@pytest.mark.parametrize("is_on", ["true", "false"])
def test_filters_spare_tasks_where_they_are_switched_on(
    spark: SparkSession, bootstrap: str, filled: str, is_on: str
) -> None:
    before = spark.conf.get(PUSH_DOWN) or "false"
    spark.conf.set(PUSH_DOWN, is_on)
    try:
        frame = batch(spark, bootstrap, subscribe=filled)
        by_topic_partition = frame.where("partition = 1 and offset >= 2")
        late = frame.where(f"timestamp > timestamp '{at(3).isoformat()}' and partition = 0")
        assert by_topic_partition.rdd.getNumPartitions() == (1 if is_on == "true" else 2)
        assert values(by_topic_partition) == ["1.2", "1.3", "1.4"]
        assert values(late) == ["0.4"]
    finally:
        spark.conf.set(PUSH_DOWN, before)


def test_offsets_that_are_gone(spark: SparkSession, bootstrap: str, filled: str) -> None:
    delete_records(bootstrap, filled, 3)
    starting = f'{{"{filled}":{{"0":1,"1":4}}}}'
    with pytest.raises(Exception, match="is wanted") as caught:
        batch(spark, bootstrap, subscribe=filled, startingOffsets=starting).collect()
    assert f"{filled}-0: offset 1 is wanted, offsets 3 to 4 are available" in str(caught.value).splitlines()[0]
    rest = batch(spark, bootstrap, subscribe=filled, startingOffsets=starting, failOnDataLoss="false")
    assert values(rest) == ["0.3", "0.4", "1.4"]


def test_an_early_stop_is_silent(spark: SparkSession, bootstrap: str, topic: str) -> None:
    """12 MB are more than a worker can have sent when the JVM hangs up."""
    pid = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()  # type: ignore[union-attr]
    said = Path(f"/proc/{pid}/fd/2")
    if not stat.S_ISREG(said.stat().st_mode):
        pytest.skip("what Spark's processes print is not captured: run without -s")
    create(bootstrap, topic)
    rows, value = 3_000, "cast(repeat('x', 4000) AS binary) AS value"
    server = {"kafka.bootstrap.servers": bootstrap, "topic": topic, "deliveryGuarantee": "at-least-once"}
    spark.range(rows).selectExpr(value).write.format("tidelog").options(**server).mode("append").save()
    frame = batch(spark, bootstrap, subscribe=topic)
    before = len(said.read_bytes())
    assert len(frame.take(2)) == 2
    assert len(frame.limit(3).collect()) == 3
    assert frame.count() == rows  # by then those that were left have ended
    assert b"BrokenPipe" not in said.read_bytes()[before:]
