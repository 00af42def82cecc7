"""The sink in Spark itself: batch and stream, what it refuses, and a driver that is killed."""

import re
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from tests.spark.rows import OFFICIAL, read
from tests.spark.sink_driving import records, values
from tests.spark.test_sink_exactly_once import open_ids

from pyspark_tidelog.sink.foreach import write_exactly_once
from tidelog.client.client import Client
from tidelog.client.producer.kernels_murmur2 import partition_of_key
from tidelog.client.producer.producer import Producer

KILLED_BEFORE = "commit"
DRIVER_S_MAX = 180
WAIT_S_MAX = 60


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


def write_twice(spark: SparkSession, server: dict[str, str], source: str, target: str, checkpoint: str) -> None:
    """A query whose function writes a batch in two calls."""

    def write(batch: DataFrame, batch_id: int) -> None:
        for _ in range(2):
            write_exactly_once({target: batch.select("value")}, batch_id, server, query_id="payments")

    bootstrap = {"kafka.bootstrap.servers": server["kafka.bootstrap.servers"]}
    rows = spark.readStream.format("tidelog").options(**bootstrap, subscribe=source, startingOffsets="earliest").load()
    writing = rows.writeStream.foreachBatch(write).option("checkpointLocation", checkpoint)
    writing.trigger(availableNow=True).start().awaitTermination()


def test_foreach_batch_is_told_what_it_would_have_dropped(
    spark: SparkSession, bootstrap: str, places: tuple[str, str], tmp_path: Path, kafka_topic_prefix: str
) -> None:
    """A second call without a name, and a query id that a new checkpoint uses again."""
    server = {"kafka.bootstrap.servers": bootstrap, "ledgerTopic": f"{kafka_topic_prefix}ledger"}
    written = fill(bootstrap, places[0], 20)
    started = partial(write_twice, spark, server, *places)
    with pytest.raises(PySparkException, match="give each call of write_exactly_once in a batch a name of its own"):
        started(str(tmp_path / "first"))
    assert values(bootstrap, places[1]) == sorted(written)
    with pytest.raises(PySparkException, match="the query id is in use by another checkpoint") as raised:
        started(str(tmp_path / "second"))
    assert re.search(r"takeOver to 0@[0-9a-f]{12}", str(raised.value)) is not None
    assert values(bootstrap, places[1]) == sorted(written)


def test_a_query_that_is_stopped_in_the_middle_of_a_batch(
    spark: SparkSession, bootstrap: str, places: tuple[str, str], checkpoint: str, kafka_topic_prefix: str
) -> None:
    """One task has handed its transaction over, and the other is asleep with its own open."""
    server = {"kafka.bootstrap.servers": bootstrap}
    fill(bootstrap, places[0], 10)

    def slept(value):  # type: ignore[no-untyped-def]
        time.sleep(2)
        return value

    sleeping = f.udf(slept, "binary", useArrow=False)
    rows = spark.readStream.format("tidelog").options(**server, subscribe=places[0], startingOffsets="earliest").load()
    rows = rows.select(
        "key", f.when(f.col("partition") == 1, sleeping("value")).otherwise(f.col("value")).alias("value")
    )
    writing = rows.writeStream.format("tidelog").options(**server, topic=places[1])
    query = (
        writing.option("ledgerTopic", f"{kafka_topic_prefix}ledger").option("checkpointLocation", checkpoint).start()
    )
    wait_for(lambda: len(open_ids(bootstrap, query.id)) == 1)
    query.stop()
    assert open_ids(bootstrap, query.id) == []
    assert values(bootstrap, places[1]) == []


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + WAIT_S_MAX
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


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


@pytest.mark.usefixtures("limits")
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
