"""A batch that Spark runs again though its rows are there: nothing is doubled, and the query goes on with its state."""

from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from tests.spark.sink_driving import values
from tests.spark.source_steps import produce

from pyspark_tidelog.foreach import write_exactly_once

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
