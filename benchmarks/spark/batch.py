"""Batch reads on one core and on two, of both kinds of data."""

from functools import partial

from benchmarks.spark import jobs
from benchmarks.spark.bench import SparkBench
from benchmarks.spark.contenders import CONTENDERS
from benchmarks.spark.data import JSON, PLAIN
from benchmarks.spark.jobs import Job, TopicSource
from benchmarks.spark.samples import Run
from benchmarks.spark.scores import Bars

ALL_COLUMNS: dict[str, Job] = {"all columns to noop": jobs.noop, "group by length(value)": jobs.by_length}
FEW_COLUMNS: dict[str, Job] = {"value alone to noop": jobs.noop_value, "group by value_size": jobs.by_value_size}

ONE_CORE_BARS = Bars(wall=3.0, cpu=1.5, wall_tuned=1.7, cpu_tuned=1.05)
TWO_CORES_BARS = Bars(wall=2.2, wall_tuned=1.3)
FEW_COLUMNS_BARS = Bars(wall=4.5, cpu=2.0, wall_tuned=2.5, cpu_tuned=1.4)


def one_core(bench: SparkBench) -> None:
    _compare(bench, 1, ALL_COLUMNS, ONE_CORE_BARS)


def two_cores(bench: SparkBench) -> None:
    _compare(bench, 2, ALL_COLUMNS, TWO_CORES_BARS)


def few_columns(bench: SparkBench) -> None:
    _compare(bench, 1, FEW_COLUMNS, FEW_COLUMNS_BARS)


def _compare(bench: SparkBench, cores: int, measured: dict[str, Job], bars: Bars) -> None:
    for kind in (PLAIN, JSON):
        topic = bench.topic(kind, cores, bench.sizes.rows)
        source = bench.source(cores, topic)
        bench.agree(runs(source, jobs.everything))
        for title, job in measured.items():
            figures = bench.alternate(runs(source, job))
            bench.scores.compare(f"{title}, {kind}, local[{cores}]", topic.rows, figures, bars)


def runs(source: TopicSource, job: Job) -> dict[str, Run]:
    return {each.name: partial(job, source, each) for each in CONTENDERS}
