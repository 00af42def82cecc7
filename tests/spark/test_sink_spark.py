"""The sink in Spark itself: batch and stream, what it refuses, and a driver that is killed."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from tests.spark.rows import OFFICIAL, read
from tests.spark.sink_driving import records, values

from pyspark_tidelog.foreach import write_exactly_once
from tidelog.client.client import Client
from tidelog.client.kernels_murmur2 import partition_of_key
from tidelog.client.producer import Producer

KILLED_BEFORE = "commit"
DRIVER_S_MAX = 180


def fill(bootstrap: str, topic: str, count: int) -> list[bytes]:
    written = [b"row %03d" % number for number in range(count)]
    with Client(bootstrap) as client, Producer(client) as producer:
        for number, value in enumerate(written):
            producer.send(topic, value, key=b"k%d" % (number % 5))
    return written


@pytest.fixture
def places(kafka_topic: Callable[..., str]) -> tuple[str, str]:
    return kafka_topic("input", partitions=2), kafka_topic("output", partitions=3)


def copy(spark: SparkSession, bootstrap: str, topics: tuple[str, str], ledger: str, checkpoint: str) -> None:
    server = {"kafka.bootstrap.servers": bootstrap}
    rows = spark.readStream.format("tidelog").options(**server, subscribe=topics[0], startingOffsets="earliest").load()
    writing = rows.writeStream.format("tidelog").options(**server, topic=topics[1], ledgerTopic=ledger)
    query = writing.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
    query.awaitTermination()


@pytest.mark.usefixtures("official_connector")
def test_a_batch_job_as_the_official_connector_reads_it(
    spark: SparkSession, bootstrap: str, places: tuple[str, str]
) -> None:
    first, second = places
    header = "array(named_struct('key', 'h', 'value', cast('x' AS binary)))"
    rows = spark.range(200).selectExpr(
        "concat('key', id % 17) AS key",
        "if(id % 10 = 3, null, concat('value', id)) AS value",
        f"if(id % 4 = 0, '{first}', '{second}') AS topic",
        "if(id % 100 = 0, 1, null) AS partition",
        f"if(id % 3 = 0, {header}, null) AS headers",
    )
    rows.write.format("tidelog").option("kafka.bootstrap.servers", bootstrap).mode("append").save()
    found = read(spark, OFFICIAL, bootstrap, subscribe=f"{first},{second}", includeHeaders="true").collect()
    wanted = {(row.key, row.value, row.topic, row.headers is None) for row in rows.collect()}
    seen = [(bytes(row.key).decode(), row.value and bytes(row.value).decode(), row.topic) for row in found]
    assert len(seen) == 200
    assert {(*each, row.headers is None) for each, row in zip(seen, found, strict=True)} == wanted
    for row in found:
        if row.topic == second:
            assert row.partition == partition_of_key(bytes(row.key), 3)


def test_a_stream_and_its_replay(
    spark: SparkSession, bootstrap: str, places: tuple[str, str], checkpoint: str, kafka_topic_prefix: str
) -> None:
    ledger = f"{kafka_topic_prefix}ledger"
    written = fill(bootstrap, places[0], 100)
    copy(spark, bootstrap, places, ledger, checkpoint)
    assert values(bootstrap, places[1]) == sorted(written)
    for file in (Path(checkpoint) / "commits").glob("*0*"):
        file.unlink()
    copy(spark, bootstrap, places, ledger, checkpoint)
    assert values(bootstrap, places[1]) == sorted(written)
    copy(spark, bootstrap, places, ledger, checkpoint)
    more = fill(bootstrap, places[0], 7)
    copy(spark, bootstrap, places, ledger, checkpoint)
    assert values(bootstrap, places[1]) == sorted(written + more)


def test_foreach_batch_to_two_topics(
    spark: SparkSession, bootstrap: str, places: tuple[str, str], checkpoint: str, kafka_topic: Callable[..., str]
) -> None:
    server = {"kafka.bootstrap.servers": bootstrap}
    written = fill(bootstrap, places[0], 50)
    other = kafka_topic("other")
    failures = [True]

    def write(batch: DataFrame, batch_id: int) -> None:
        lengths = batch.select(f.length("value").cast("string").alias("value"))
        write_exactly_once({places[1]: batch.select("key", "value"), other: lengths}, batch_id, server)
        if failures.pop():
            raise RuntimeError("after the write")

    def start() -> None:
        rows = spark.readStream.format("tidelog").options(**server, subscribe=places[0], startingOffsets="earliest")
        writing = rows.load().writeStream.foreachBatch(write).option("checkpointLocation", checkpoint)
        writing.trigger(availableNow=True).start().awaitTermination()

    with pytest.raises(PySparkException, match="after the write"):
        start()
    failures.append(False)
    start()
    assert values(bootstrap, places[1]) == sorted(written)
    assert values(bootstrap, other) == [b"7"] * 50


def test_what_fails_says_so_first(spark: SparkSession, bootstrap: str, places: tuple[str, str]) -> None:
    server = {"kafka.bootstrap.servers": bootstrap}
    large = spark.range(100, numPartitions=1).selectExpr("if(id = 42, repeat('x', 2000000), 'small') AS value")
    with pytest.raises(PySparkException) as raised:
        large.write.format("tidelog").options(**server, topic=places[1]).mode("append").save()
    text = str(raised.value)
    assert "row 42 of task 0 (2000000 bytes of key and value) is too large for topic" in text
    assert list(records(bootstrap, places[1])) == []
    with pytest.raises(PySparkException, match="there is no column `value` among id"):
        spark.range(1).write.format("tidelog").options(**server, topic=places[1]).mode("append").save()


@pytest.mark.long
def test_a_driver_that_is_killed(bootstrap: str, places: tuple[str, str], tmp_path: Path, topic: str) -> None:
    """And every task fails the first time, after it has written."""
    written = fill(bootstrap, places[0], 50)
    program = [
        sys.executable,
        "-m",
        "tests.spark.dying_driver",
        bootstrap,
        *places,
        topic,
        str(tmp_path / "checkpoint"),
    ]
    died = subprocess.run([*program, KILLED_BEFORE], capture_output=True, text=True, timeout=DRIVER_S_MAX, check=False)
    assert died.returncode != 0
    assert 0 < len(values(bootstrap, places[1])) < 50, died.stderr[-2000:]
    again = subprocess.run([*program, "-"], capture_output=True, text=True, timeout=DRIVER_S_MAX, check=False)
    assert again.returncode == 0, again.stderr[-3000:]
    assert values(bootstrap, places[1]) == sorted(written)
