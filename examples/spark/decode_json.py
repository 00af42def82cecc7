"""Values in JSON: what is well formed as columns, what is not set aside with its place.

tidelog spark-submit examples/spark/decode_json.py --bootstrap-server localhost:9092 --topic orders
"""

import argparse
import os
import sys
from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession

from pyspark_tidelog import from_json_value


def decoded(spark: SparkSession, bootstrap: str, topic: str) -> DataFrame:
    server = {"kafka.bootstrap.servers": bootstrap}
    records = spark.read.format("tidelog").options(**server, subscribe=topic).load()
    schema = "id bigint, customer string, amount decimal(9,2)"
    return records.select("partition", "offset", from_json_value("value", schema).alias("order"))


def good(orders: DataFrame) -> DataFrame:
    return orders.where("order._malformed IS NULL").select("order.id", "order.customer", "order.amount")


def bad(orders: DataFrame) -> DataFrame:
    return orders.where("order._malformed IS NOT NULL").select("partition", "offset", "order._malformed")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Show the orders of a topic, and what is none.")
    parser.add_argument("--bootstrap-server", default="localhost:9092", help="some brokers of the cluster")
    parser.add_argument("--topic", default="orders")
    options = parser.parse_args(arguments)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers: this Python, whatever is on the path
    spark = SparkSession.builder.appName("decode JSON").getOrCreate()
    orders = decoded(spark, options.bootstrap_server, options.topic)
    good(orders).show(truncate=False)
    bad(orders).show(truncate=False)


if __name__ == "__main__":
    main()
