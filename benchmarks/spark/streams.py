"""Streams: how fast large micro-batches go, how long a small one takes, and how long a query takes to begin."""

import shutil
import statistics
import time
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery
from rich.table import Table

from benchmarks.harness import console
from benchmarks.spark.bench import SparkBench
from benchmarks.spark.contenders import CONTENDERS, DEFAULT, OURS, TUNED, Contender
from benchmarks.spark.data import JSON, PLAIN
from benchmarks.spark.jobs import SUMS, TopicSource
from benchmarks.spark.samples import Figures, Outcome
from benchmarks.spark.scores import Bars, Scores

STREAM_SECONDS_MAX = 600
LARGE_ROWS, SMALL_ROWS = 500_000, 1_000
LARGE_BARS = Bars(wall=2.0, wall_tuned=1.1)
LATENCY_MAX, START_S_MORE_MAX = 1.0, 1.5
START, BATCH, WHOLE = "start, s", "batch, ms", "with the start, s"


def large(bench: SparkBench) -> None:
    for kind in (PLAIN, JSON):
        topic = bench.topic(kind, 1, bench.sizes.rows)
        source = bench.source(1, topic)
        bench.agree({each.name: partial(stream_sums, source, each, bench.scratch) for each in CONTENDERS})
        runs = {each.name: partial(run_stream, source, each, LARGE_ROWS, bench.scratch) for each in CONTENDERS}
        figures = bench.alternate(runs)
        title = f"stream, {LARGE_ROWS:,} rows a micro-batch, {kind}, local[1]"
        bench.scores.compare(title, topic.rows, figures, LARGE_BARS)
        whole = [f"{name} {found.median_of(WHOLE):.2f}" for name, found in figures.items()]
        console.print(f"[dim]with the start of the query, which has a bar of its own, s: {', '.join(whole)}[/]")


def small(bench: SparkBench) -> None:
    topic = bench.topic(PLAIN, 1, SMALL_ROWS * bench.sizes.small_batches)
    source = bench.source(1, topic)
    runs = {each.name: partial(run_stream, source, each, SMALL_ROWS, bench.scratch) for each in CONTENDERS}
    # Spark remembers the progress of a hundred batches unless it is told to remember more.
    source.spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", str(bench.sizes.small_batches + 10))
    show_small(bench.scores, bench.alternate(runs, bench.sizes.small_rounds))


def show_small(scores: Scores, figures: dict[str, Figures]) -> None:
    title = f"stream, {SMALL_ROWS:,} rows a micro-batch"
    table = Table(title=f"{title}, medians", title_justify="left", title_style="bold")
    for column in ("", "trigger to committed, ms", "start to first committed, s", "ours: latency", "ours: start", ""):
        table.add_column(column, justify="right" if column else "left")
    ours = figures[OURS]
    for name, found in figures.items():
        latency = ours.median_of(BATCH) / found.median_of(BATCH)
        more_s = ours.median_of(START) - found.median_of(START)
        said = []
        if name in (DEFAULT, TUNED):
            said.append(scores.at_most(f"{title}: latency against {name}", latency, LATENCY_MAX, "x"))
        if name == DEFAULT:
            said.append(scores.at_most(f"query start against {name}, more", max(more_s, 0.0), START_S_MORE_MAX, " s"))
        cells = f"{found.median_of(BATCH):.0f}", f"{found.median_of(START):.2f}", f"{latency:.2f}x", f"{more_s:+.2f} s"
        table.add_row(f"[bold cyan]{name}" if name == OURS else name, *cells, " ".join(said))
    console.print(table)


def run_stream(source: TopicSource, contender: Contender, rows_a_batch: int, scratch: Path) -> Outcome:
    """Stream all that is there to noop, from an empty checkpoint. What counts is the time of the micro-batches, trigger
    to committed; the start of the query is a figure of its own."""
    checkpoint = _empty(scratch / "checkpoint")
    frame = contender.stream(source.spark, source.bootstrap, source.topic, maxOffsetsPerTrigger=str(rows_a_batch))
    writer = frame.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    began = time.perf_counter()
    query = writer.trigger(availableNow=True).start()
    start_s = _until_first(query, began)
    _await(query, contender)
    whole_s = time.perf_counter() - began
    # The last one says that nothing is left.
    batches = [each for each in query.recentProgress if each.numInputRows]
    took_ms = [float(each.durationMs["triggerExecution"]) for each in batches]
    rows = sum(each.numInputRows for each in batches)
    median_ms = statistics.median(took_ms[1:] or took_ms)
    return Outcome(rows, sum(took_ms) / 1000, {START: start_s, BATCH: median_ms, WHOLE: whole_s})


def stream_sums(source: TopicSource, contender: Contender, scratch: Path) -> tuple[Any, ...]:
    """Return counts, sums and hashes of all columns, over all micro-batches."""
    checkpoint = _empty(scratch / "checkpoint")
    frame = contender.stream(source.spark, source.bootstrap, source.topic, maxOffsetsPerTrigger=str(LARGE_ROWS))
    name = f"sums_{source.topic}_{contender.name}".replace("-", "_").replace(", ", "_")
    writer = frame.selectExpr(*SUMS).writeStream.format("memory").outputMode("complete").queryName(name)
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    _await(query, contender)
    found = tuple(source.spark.table(name).collect()[0])
    source.spark.catalog.dropTempView(name)
    return found


def _empty(directory: Path) -> Path:
    shutil.rmtree(directory, ignore_errors=True)
    return directory


def _await(query: StreamingQuery, contender: Contender) -> None:
    if not query.awaitTermination(STREAM_SECONDS_MAX):
        raise TimeoutError(f"{contender.name}: the stream did not end within {STREAM_SECONDS_MAX} s")


def _until_first(query: StreamingQuery, began: float) -> float:
    while query.isActive and not any(each.numInputRows for each in query.recentProgress):
        time.sleep(0.005)
    return time.perf_counter() - began
