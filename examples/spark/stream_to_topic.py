"""A stream from one topic to another, exactly once, with its lag in a consumer group that any Kafka tool shows.

    tidelog spark-submit examples/spark/stream_to_topic.py --bootstrap-server localhost:9092 \\
        --source orders --target shouted --checkpoint /tmp/shout

It runs until Ctrl-C. Kill it however you like and start it again: the target has every order once. Consumers have to
read committed (`tidelog consume shouted --from beginning --committed`).
"""

import argparse
import os
import sys
from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import pyspark_tidelog
from pyspark_tidelog import finish_decided
from pyspark_tidelog.sink.recovery import Finished


def shouted(spark: SparkSession, bootstrap: str, topic: str) -> DataFrame:
    orders = (
        spark.readStream.format("tidelog")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")  # the first time only: then the checkpoint says where
        .option("maxOffsetsPerTrigger", 100_000)
        .option("commitOffsetsToGroup", "shouting")
        .load()
    )
    return orders.selectExpr("key", "upper(cast(value AS string)) AS value")


def start(rows: DataFrame, bootstrap: str, topic: str, checkpoint: str, *, available_now: bool) -> StreamingQuery:
    writer = (
        rows.writeStream.format("tidelog")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("topic", topic)
        .option("checkpointLocation", checkpoint)
    )
    return writer.trigger(availableNow=True).start() if available_now else writer.start()


def show_lag(query: StreamingQuery) -> None:
    for topic_partition, records in pyspark_tidelog.lag(query.lastProgress).items():
        print(f"{topic_partition.topic}-{topic_partition.partition}: {records} records behind")


def finish(bootstrap: str) -> list[Finished]:
    return finish_decided({"kafka.bootstrap.servers": bootstrap})


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Copy a topic to another, in capital letters.")
    parser.add_argument("--bootstrap-server", default="localhost:9092", help="some brokers of the cluster")
    parser.add_argument("--source", default="orders")
    parser.add_argument("--target", default="shouted")
    parser.add_argument("--checkpoint", required=True, help="a directory that belongs to this query alone")
    parser.add_argument("--available-now", action="store_true", help="end when all that is there is copied")
    options = parser.parse_args(arguments)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers: this Python, whatever is on the path
    spark = SparkSession.builder.appName("shout").getOrCreate()
    listener = pyspark_tidelog.listen(spark)
    rows = shouted(spark, options.bootstrap_server, options.source)
    target, ends = (options.bootstrap_server, options.target, options.checkpoint), options.available_now
    query = start(rows, *target, available_now=ends)
    query.awaitTermination()
    listener.settle(query)
    show_lag(query)
    spark.streams.removeListener(listener)


if __name__ == "__main__":
    main()
