"""A batch that Spark runs again though its rows are there: nothing is doubled, and the query goes on with its state."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from tests.spark.sink_driving import values
from tests.spark.source_steps import batch as read_batch
from tests.spark.source_steps import produce

from pyspark_tidelog.lake import audit, write_batch
from pyspark_tidelog.sink.foreach import write_exactly_once

TIMEOUT_S = 120


def forget_last_commit(checkpoint: str) -> None:
    """As if the driver had died after the sink was done, before Spark had taken note of it."""
    commits = Path(checkpoint) / "commits"
    last = max(int(each.name) for each in commits.iterdir() if each.name.isdigit())
    for name in (str(last), f".{last}.crc"):
        (commits / name).unlink()


def read(spark: SparkSession, bootstrap: str, topic: str) -> DataFrame:
    options = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic, "startingOffsets": "earliest"}
    return spark.readStream.format("tidelog").options(**options).load()


def run(rows: DataFrame, write: Callable[[DataFrame, int], None], checkpoint: str, mode: str = "append") -> None:
    writer = rows.writeStream.outputMode(mode).foreachBatch(write).option("checkpointLocation", checkpoint)
    query = writer.trigger(availableNow=True).start()
    assert query.awaitTermination(TIMEOUT_S)


def test_the_state_of_a_batch_that_is_not_written_again(
    spark: SparkSession, bootstrap: str, checkpoint: str, kafka_topic: Callable[..., str]
) -> None:
    """Spark insists that every task of a stateful operator has stored its state, before it takes note of a batch."""
    source, target = kafka_topic("words"), kafka_topic("counts")
    counts = read(spark, bootstrap, source).groupBy("value").count()
    lines = counts.selectExpr("concat(cast(value AS string), ' ', count) AS value")

    def write(batch: DataFrame, batch_id: int) -> None:
        write_exactly_once({target: batch}, batch_id, {"kafka.bootstrap.servers": bootstrap})

    produce(bootstrap, source, ["tide", "log", "tide"])
    run(lines, write, checkpoint, "update")
    assert values(bootstrap, target) == [b"log 1", b"tide 2"]
    forget_last_commit(checkpoint)
    produce(bootstrap, source, ["tide"])
    run(lines, write, checkpoint, "update")
    assert values(bootstrap, target) == [b"log 1", b"tide 2", b"tide 3"]


class Stopped(Exception):
    """In the place of a crash."""


@pytest.mark.parametrize("is_lake_first", [False, True])
def test_a_topic_and_the_lake_in_one_batch(
    spark: SparkSession,
    bootstrap: str,
    checkpoint: str,
    kafka_topic: Callable[..., str],
    tmp_path: Path,
    is_lake_first: bool,
) -> None:
    """The first attempt stops between the two writes, and finds one of them when it is tried again; then both."""
    source, target, lake = kafka_topic("payments", partitions=2), kafka_topic("booked"), str(tmp_path / "lake")
    stops = [False, True]
    columns = (
        "partition",
        "offset",
        "timestamp",
        "cast(cast(value AS string) AS int) AS amount",
        "array(offset) AS many",
    )

    def to_topic(batch: DataFrame, batch_id: int) -> None:
        write_exactly_once({target: batch.select("value")}, batch_id, {"kafka.bootstrap.servers": bootstrap})

    def to_lake(batch: DataFrame, batch_id: int) -> None:
        write_batch(batch.selectExpr(*columns), lake, batch_id, name="payments")

    def write(batch: DataFrame, batch_id: int) -> None:
        first, second = (to_lake, to_topic) if is_lake_first else (to_topic, to_lake)
        first(batch, batch_id)
        if stops and stops.pop():
            raise Stopped
        second(batch, batch_id)

    def check(amounts: list[int]) -> None:
        assert values(bootstrap, target) == sorted(b"%d" % each for each in amounts)
        kept = spark.read.parquet(lake)
        assert sorted(row.amount for row in kept.collect()) == sorted(amounts)
        given = read_batch(spark, bootstrap, subscribe=source).selectExpr(*columns)
        assert kept.exceptAll(given).count() == given.exceptAll(kept).count() == 0
        assert audit(lake) == []

    for partition in range(2):
        produce(bootstrap, source, [str(each) for each in range(partition * 20, partition * 20 + 20)], partition)
    payments = read(spark, bootstrap, source)
    with pytest.raises(PySparkException, match="Stopped"):
        run(payments, write, checkpoint)
    run(payments, write, checkpoint)
    check(list(range(40)))
    forget_last_commit(checkpoint)
    produce(bootstrap, source, ["40"])
    run(payments, write, checkpoint)
    check(list(range(41)))
