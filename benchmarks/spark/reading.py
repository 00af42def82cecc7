"""The reader without Spark: `python -m benchmarks.spark.reading`. What a task's `record_batches` costs by itself, so
that a change of the hot path can be judged in seconds; what Spark makes of the batches is the other files' subject.

4 M records of 200 bytes (a million with `--quick`) in one partition of our broker. Wall time and CPU of this process
alone; the broker's is its own. `--profile` prints where the time goes instead.
"""

import cProfile
import pstats
import statistics
import sys
import time
from typing import Any, NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]
from rich.table import Table

from benchmarks.harness import asked_for, console
from pyspark_tidelog.kafka.settings import ClusterOptions, FetchSettings
from pyspark_tidelog.source.fetch_task import FetchTask
from pyspark_tidelog.source.record_batches import record_batches
from pyspark_tidelog.source.schema import DEFAULT_COLUMNS
from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.topics import NewTopic
from tidelog.client.client import Client
from tidelog.client.producer.producer import Producer
from tidelog.records.compression import CompressionType
from tidelog.testing import broker

RECORDS = 4_000_000
QUICK_RECORDS = 1_000_000
ROWS = 20_000
ROUNDS = 5
CASES = {"all columns": DEFAULT_COLUMNS, "value": ("value",), "value_size": ("value_size",)}


class Cost(NamedTuple):
    rows_per_s: float
    cpu_ns_per_row: float


def produce(bootstrap: str, topic: str, records: int, codec: CompressionType) -> None:
    values = pa.array([(b"%d " % row * 60)[:200] for row in range(ROWS)], pa.binary())
    table = pa.table({"value": values})
    with Client(bootstrap) as client:
        Admin(client).create_topic(NewTopic(topic, 1))
        with Producer(client, compression=codec) as producer:
            for _ in range(records // ROWS):
                producer.produce_arrow(topic, table, partition=0)


def read(task: FetchTask) -> Cost:
    started, cpu = time.perf_counter(), time.process_time()
    rows = sum(batch.num_rows for batch in record_batches(task))
    wall_s, cpu_s = time.perf_counter() - started, time.process_time() - cpu
    assert rows == task.end, f"{rows} rows of {task.end}"
    return Cost(rows / wall_s, cpu_s / rows * 1e9)


def task_of(bootstrap: str, topic: str, records: int, columns: tuple[str, ...]) -> FetchTask:
    cluster = ClusterOptions(bootstrap, "benchmark", 30_000, 60_000, None)
    return FetchTask(cluster, FetchSettings(), topic, None, 0, 0, records, columns, True)


def show(costs: dict[str, list[Cost]]) -> None:
    table = Table(title="record_batches, one partition, no Spark", title_justify="left", title_style="bold")
    for column in ("", "M rows/s", "CPU ns / row"):
        table.add_column(column, justify="right" if column else "left")
    for name, found in costs.items():
        wall = statistics.median(each.rows_per_s for each in found) / 1e6
        cpu = statistics.median(each.cpu_ns_per_row for each in found)
        table.add_row(name, f"{wall:.2f}", f"{cpu:,.0f}")
    console.print(table)


def profile(task: FetchTask) -> None:
    profiler = cProfile.Profile()
    profiler.runcall(read, task)
    pstats.Stats(profiler).sort_stats("tottime").print_stats(25)


def main() -> int:
    records = QUICK_RECORDS if asked_for("--quick") else RECORDS
    with broker() as node:
        tasks: dict[str, Any] = {}
        for codec in (CompressionType.NONE, CompressionType.ZSTD):
            topic = f"read-{codec.name.lower()}"
            produce(node.bootstrap_servers, topic, records, codec)
            for name, columns in CASES.items():
                tasks[f"{name}, {codec.name.lower()}"] = task_of(node.bootstrap_servers, topic, records, columns)
        if asked_for("--profile"):
            profile(tasks["all columns, none"])
            return 0
        costs: dict[str, list[Cost]] = {name: [] for name in tasks}
        for _ in range(ROUNDS):
            for name, task in tasks.items():
                costs[name].append(read(task))
    show(costs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
