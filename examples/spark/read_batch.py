"""Topics as DataFrames: all of one, some of its columns, a range of it, what a filter leaves, and as it was at a time.

    tidelog spark-submit examples/spark/read_batch.py --bootstrap-server localhost:9092 --topic orders

Each function is a piece of the guide, docs/spark.md.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession


def read_all(spark: SparkSession, bootstrap: str, topic: str) -> DataFrame:
    orders = (
        spark.read.format("tidelog")  # the one word: Spark's own connector is "kafka"
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
        .load()
    )
    return orders.selectExpr("cast(key AS string) AS key", "cast(value AS string) AS value", "partition", "offset")


def some_columns(spark: SparkSession, bootstrap: str, topic: str) -> DataFrame:
    server = {"kafka.bootstrap.servers": bootstrap}
    sizes = spark.read.format("tidelog").options(**server, subscribe=topic, columns="topic,value_size").load()
    return sizes.groupBy("topic").sum("value_size")


def own_schema(spark: SparkSession, bootstrap: str, topic: str) -> DataFrame:
    server = {"kafka.bootstrap.servers": bootstrap}
    return spark.read.format("tidelog").options(**server, subscribe=topic).schema("value binary").load()


def with_headers(spark: SparkSession, bootstrap: str, topic: str) -> DataFrame:
    server = {"kafka.bootstrap.servers": bootstrap}
    return spark.read.format("tidelog").options(**server, subscribe=topic, includeHeaders="true").load()


def between(spark: SparkSession, bootstrap: str, topic: str) -> DataFrame:
    server = {"kafka.bootstrap.servers": bootstrap}
    begin, end = {topic: {"0": 2, "1": -2}}, {topic: {"0": 5, "1": -1}}  # -2 is earliest, -1 latest
    bounds = {"startingOffsets": json.dumps(begin), "endingOffsets": json.dumps(end)}
    return spark.read.format("tidelog").options(**server, subscribe=topic, **bounds).load()


def one_partition_since(spark: SparkSession, bootstrap: str, topic: str, since: str) -> DataFrame:
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    server = {"kafka.bootstrap.servers": bootstrap}
    orders = spark.read.format("tidelog").options(**server, subscribe=topic).load()
    return orders.where(f"partition = 0 AND timestamp >= '{since}'")


def as_of(spark: SparkSession, bootstrap: str, topic: str, time: str) -> DataFrame:
    server = {"kafka.bootstrap.servers": bootstrap}
    return spark.read.format("tidelog").options(**server, subscribe=topic, asOf=time).load()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Show the records of a topic, and how large its values are.")
    parser.add_argument("--bootstrap-server", default="localhost:9092", help="some brokers of the cluster")
    parser.add_argument("--topic", default="orders")
    options = parser.parse_args(arguments)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers: this Python, whatever is on the path
    spark = SparkSession.builder.appName("read a topic").getOrCreate()
    read_all(spark, options.bootstrap_server, options.topic).show(truncate=False)
    some_columns(spark, options.bootstrap_server, options.topic).show()


if __name__ == "__main__":
    main()
