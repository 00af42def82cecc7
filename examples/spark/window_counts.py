"""Counts by key and minute, in output mode update: each micro-batch writes the windows that it has changed.

    tidelog spark-submit examples/spark/window_counts.py --bootstrap-server localhost:9092 \\
        --source orders --target counts --checkpoint /tmp/counts

The key of a record is its window, so a compacted topic keeps the last count of each.
"""

import argparse
from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession, functions
from pyspark.sql.streaming.query import StreamingQuery

from pyspark_tidelog import start_updates


def counts(orders: DataFrame) -> DataFrame:
    windows = orders.withWatermark("timestamp", "1 hour").groupBy("key", functions.window("timestamp", "1 minute"))
    return windows.count().selectExpr(
        "concat(cast(key AS string), ' ', window.start) AS key",
        "to_json(struct(cast(key AS string) AS key, window.start AS start, count)) AS value",
    )


def start(counted: DataFrame, bootstrap: str, topic: str, checkpoint: str, trigger: dict[str, Any]) -> StreamingQuery:
    writer = counted.writeStream.queryName("counts").option("checkpointLocation", checkpoint)
    return start_updates(writer.trigger(**trigger), {"kafka.bootstrap.servers": bootstrap, "topic": topic})


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Count the records of a topic by key and minute.")
    parser.add_argument("--bootstrap-server", default="localhost:9092", help="some brokers of the cluster")
    parser.add_argument("--source", default="orders")
    parser.add_argument("--target", default="counts")
    parser.add_argument("--checkpoint", required=True, help="a directory that belongs to this query alone")
    parser.add_argument("--available-now", action="store_true", help="end when all that is there is counted")
    options = parser.parse_args(arguments)
    spark = SparkSession.builder.appName("count").getOrCreate()
    server = {"kafka.bootstrap.servers": options.bootstrap_server}
    reading = spark.readStream.format("tidelog").options(**server, subscribe=options.source)
    counted = counts(reading.option("startingOffsets", "earliest").load())
    trigger = {"availableNow": True} if options.available_now else {"processingTime": "10 seconds"}
    start(counted, options.bootstrap_server, options.target, options.checkpoint, trigger).awaitTermination()


if __name__ == "__main__":
    main()
