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
from benchmarks.spark.bench import Bench
from benchmarks.spark.contenders import CONTENDERS, OURS, Contender
from benchmarks.spark.data import JSON, LOAD_TOOL, PLAIN
from benchmarks.spark.jobs import Place, sums_of
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


def to_parquet(bench: Bench) -> None:
    for kind, bars in BARS.items():
        topic = bench.topic(kind, 1, bench.sizes.rows)
        place = bench.place(1, topic)
        # What is not INT96 by default is what every other writer calls a timestamp, ours too.
        place.spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
        runs = {each.name: partial(write, place, each, bench.scratch / "lake") for each in CONTENDERS}
        figures = bench.alternate(runs)
        bench.scores.compare(f"to Parquet zstd, {kind}, local[1]", topic.rows, figures, bars)
        sizes = (f"{name} {found.median_of(MEGABYTES):,.0f} MB" for name, found in figures.items())
        console.print(f"[dim]{', '.join(sizes)}[/]")


def write(place: Place, contender: Contender, directory: Path) -> Outcome:
    shutil.rmtree(directory, ignore_errors=True)
    if contender.name == OURS:
        options = {"kafka.bootstrap.servers": place.bootstrap, "subscribe": place.topic, "archiveEncoding": "spark"}
        archive(place.spark, str(directory), options)
    else:
        frame = contender.batch(place.spark, place.bootstrap, place.topic, includeHeaders="true")
        frame.select(*COLUMNS).write.option("compression", "zstd").parquet(str(directory))
    size_bytes = sum(path.stat().st_size for path in directory.rglob("*.parquet"))
    return Outcome(partial(read_back, place, directory), more={MEGABYTES: size_bytes / 1e6})


def read_back(place: Place, directory: Path) -> tuple[Any, ...]:
    sums = ("sum(offset)", *sums_of(", ".join(COLUMNS)))
    return tuple(place.spark.read.parquet(str(directory)).selectExpr(*sums).collect()[0])
