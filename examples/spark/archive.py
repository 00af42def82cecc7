"""Topics kept as Parquet: every record once, in files that Spark, pyarrow, DuckDB and others read.

    tidelog spark-submit examples/spark/archive.py --bootstrap-server localhost:9092 --topic orders \\
        --directory /tmp/lake --checkpoint /tmp/lake-state

With --available-now it archives what is there, checks the archive and ends; without, it goes on until Ctrl-C.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pyspark_tidelog import archive, archived_until, audit, start_archive
from pyspark_tidelog.lake.manifest import Manifest


def keep_archiving(
    spark: SparkSession, bootstrap: str, topic: str, directory: str, checkpoint: str, trigger: dict[str, object]
) -> StreamingQuery:
    options = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic, "startingOffsets": "earliest"}
    return start_archive(spark, directory, checkpoint, options, trigger=trigger)


def archive_the_rest(spark: SparkSession, bootstrap: str, topic: str, directory: str) -> Manifest:
    options = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic}
    begin = json.dumps(archived_until(directory))  # {"orders": {"0": 120, "1": 98}}
    return archive(spark, directory, {**options, "startingOffsets": begin})


def read_back(spark: SparkSession, directory: str) -> DataFrame:
    return spark.read.parquet(directory).selectExpr("topic", "partition", "offset", "timestamp", "key", "value")


def problems(directory: str) -> list[str]:
    return audit(directory)  # [] when all is well


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Archive a topic as Parquet.")
    parser.add_argument("--bootstrap-server", default="localhost:9092", help="some brokers of the cluster")
    parser.add_argument("--topic", default="orders")
    parser.add_argument("--directory", required=True, help="where driver and executors all see the same files")
    parser.add_argument("--checkpoint", required=True, help="a directory that belongs to this query alone")
    parser.add_argument("--available-now", action="store_true", help="end when all that is there is archived")
    options = parser.parse_args(arguments)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers: this Python, whatever is on the path
    spark = SparkSession.builder.appName("archive").getOrCreate()
    trigger: dict[str, object] = {"availableNow": True} if options.available_now else {"processingTime": "1 minute"}
    query = keep_archiving(
        spark, options.bootstrap_server, options.topic, options.directory, options.checkpoint, trigger
    )
    query.awaitTermination()
    print(f"{read_back(spark, options.directory).count()} records in {options.directory}")
    for problem in problems(options.directory):
        print(problem)


if __name__ == "__main__":
    main()
