"""Planning without Spark: `latestOffset` and `partitions` of a topic of ten thousand partitions, as the planning worker
calls them, with the pickling that it does.
"""

import json
import pickle
import statistics
import time

from pyspark.sql.datasource import CaseInsensitiveDict
from pyspark.sql.streaming.datasource import ReadMaxRows

from benchmarks.harness import console
from benchmarks.spark.bench import SparkBench
from pyspark_tidelog.source.options import source_options
from pyspark_tidelog.source.stream_reader import LimitingStreamReader, stream_reader
from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.topics import NewTopic
from tidelog.client.client import Client
from tidelog.client.producer.producer import Producer

TOPIC, ROUNDS, SECONDS_MAX = "wide", 5, 0.5


def plan(bench: SparkBench) -> None:
    count = bench.sizes.partitions
    fill(bench.broker.bootstrap, count)
    given = {"kafka.bootstrap.servers": bench.broker.bootstrap, "subscribe": TOPIC, "startingOffsets": "earliest"}
    given["maxOffsetsPerTrigger"] = str(10 * count)
    reader = stream_reader(source_options(CaseInsensitiveDict(given), is_streaming=True))
    assert isinstance(reader, LimitingStreamReader)
    try:
        seconds = [plan_seconds(reader, count) for _ in range(ROUNDS)]
    finally:
        reader.stop()
    title = f"latestOffset and planning of {count:,} partitions"
    said = bench.scores.at_most(title, statistics.median(seconds), SECONDS_MAX, " s")
    shown = ", ".join(f"{each:.3f}" for each in seconds)
    console.print(f"{title}: {said}; the first and the others: {shown} s")


def fill(bootstrap: str, count: int) -> None:
    """Write a record into each partition: what is empty is not planned."""
    with Client(bootstrap) as client:
        Admin(client).create_topic(NewTopic(TOPIC, count))
        with Producer(client, linger_ms=20) as producer:
            for partition in range(count):
                producer.send(TOPIC, b"x", partition=partition)


def plan_seconds(reader: LimitingStreamReader, count: int) -> float:
    start = {TOPIC: dict.fromkeys(map(str, range(count)), 0)}
    began = time.perf_counter()
    end = json.loads(json.dumps(reader.latestOffset(start, ReadMaxRows(10 * count))))
    tasks = [pickle.dumps(each) for each in reader.partitions(start, end)]
    seconds = time.perf_counter() - began
    assert len(tasks) == count, f"{len(tasks)} tasks"
    reader._plan._planned = None  # else the next round would find it done
    return seconds
