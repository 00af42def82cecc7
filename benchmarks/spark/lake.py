"""A topic to Parquet: our lake writer, in the tasks that fetch, beside the connector and Spark's own writer.

Like with like: zstd, dictionaries and statistics as Spark writes them, the same columns. (Ours syncs its files and
commits them as a batch; Spark's renames.) The levels differ, 1 and 3, so the sizes of the files are shown beside. What
was written is read back by Spark, and compared.
"""

import shutil
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.harness import console
from benchmarks.spark.bench import SparkBench
from benchmarks.spark.contenders import CONTENDERS, OURS, Contender
from benchmarks.spark.data import JSON, LOAD_TOOL, PLAIN
from benchmarks.spark.jobs import TopicSource, sums_of
from benchmarks.spark.samples import Outcome
from benchmarks.spark.scores import Bars
from pyspark_tidelog.lake import archive

MEGABYTES = "MB"
COLUMNS = ("key", "value", "offset", "timestamp", "timestampType", "headers")
BARS = {
    LOAD_TOOL: Bars(wall=5.0, cpu=4.0, wall_tuned=4.0, cpu_tuned=3.5),
    JSON: Bars(wall=3.0, cpu=2.3, wall_tuned=2.4, cpu_tuned=2.2),
    PLAIN: Bars(),  # nearly all of the time is zstd's, whoever calls it
}


def to_parquet(bench: SparkBench) -> None:
    for kind, bars in BARS.items():
        topic = bench.topic(kind, 1, bench.sizes.rows)
        source = bench.source(1, topic)
        # What is not INT96 by default is what every other writer calls a timestamp, ours too.
        source.spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
        runs = {each.name: partial(write, source, each, bench.scratch / "lake") for each in CONTENDERS}
        figures = bench.alternate(runs)
        bench.scores.compare(f"to Parquet zstd, {kind}, local[1]", topic.rows, figures, bars)
        sizes = (f"{name} {found.median_of(MEGABYTES):,.0f} MB" for name, found in figures.items())
        console.print(f"[dim]{', '.join(sizes)}[/]")


def write(source: TopicSource, contender: Contender, directory: Path) -> Outcome:
    shutil.rmtree(directory, ignore_errors=True)
    if contender.name == OURS:
        options = {"kafka.bootstrap.servers": source.bootstrap, "subscribe": source.topic, "archiveEncoding": "spark"}
        archive(source.spark, str(directory), options)
    else:
        frame = contender.batch(source.spark, source.bootstrap, source.topic, includeHeaders="true")
        frame.select(*COLUMNS).write.option("compression", "zstd").parquet(str(directory))
    size_bytes = sum(path.stat().st_size for path in directory.rglob("*.parquet"))
    return Outcome(partial(read_back, source, directory), more={MEGABYTES: size_bytes / 1e6})


def read_back(source: TopicSource, directory: Path) -> tuple[Any, ...]:
    sums = ("sum(offset)", *sums_of(", ".join(COLUMNS)))
    return tuple(source.spark.read.parquet(str(directory)).selectExpr(*sums).collect()[0])
