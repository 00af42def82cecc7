"""One micro-batch to several topics and to Parquet, every row once in each: `write_exactly_once` and `write_batch` in
`foreachBatch`.

    tidelog spark-submit examples/spark/several_topics.py --bootstrap-server localhost:9092 \\
        --source payments --checkpoint /tmp/payments --lake /tmp/payments-lake

Values are amounts. Every payment goes to `<source>.booked`, those of 1,000 and more to `<source>.alerts` as well.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence

from pyspark.sql import DataFrame, SparkSession

from pyspark_tidelog import write_batch, write_exactly_once


def batch_writer(bootstrap: str, booked: str, alerts: str, lake: str) -> Callable[[DataFrame, int], None]:
    server = {"kafka.bootstrap.servers": bootstrap}

    def write(batch: DataFrame, batch_id: int) -> None:
        payments = batch.selectExpr("key", "cast(value AS string) AS value")
        large = payments.where("cast(value AS int) >= 1000")
        write_exactly_once({booked: payments, alerts: large}, batch_id, server)
        write_batch(payments, lake, batch_id, name="payments")

    return write


def read(spark: SparkSession, bootstrap: str, topic: str) -> DataFrame:
    server = {"kafka.bootstrap.servers": bootstrap}
    return spark.readStream.format("tidelog").options(**server, subscribe=topic, startingOffsets="earliest").load()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Sort payments into topics.")
    parser.add_argument("--bootstrap-server", default="localhost:9092", help="some brokers of the cluster")
    parser.add_argument("--source", default="payments")
    parser.add_argument("--checkpoint", required=True, help="a directory that belongs to this query alone")
    parser.add_argument("--lake", required=True, help="a directory for the payments as Parquet")
    parser.add_argument("--available-now", action="store_true", help="end when all that is there is sorted")
    options = parser.parse_args(arguments)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers: this Python, whatever is on the path
    spark = SparkSession.builder.appName("sort payments").getOrCreate()
    booked, alerts = f"{options.source}.booked", f"{options.source}.alerts"
    write = batch_writer(options.bootstrap_server, booked, alerts, options.lake)
    stream = read(spark, options.bootstrap_server, options.source)
    writer = stream.writeStream.foreachBatch(write).option("checkpointLocation", options.checkpoint)
    query = writer.trigger(availableNow=True).start() if options.available_now else writer.start()
    query.awaitTermination()


if __name__ == "__main__":
    main()
