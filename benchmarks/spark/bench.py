"""What every part of the comparison stands on: one broker, one JVM, topics that are filled when somebody asks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import SparkSession
from tests.spark.sessions import session

from benchmarks.broker.systems import System
from benchmarks.harness import console
from benchmarks.spark.data import Topic, fill
from benchmarks.spark.jobs import TopicSource
from benchmarks.spark.samples import Figures, Run, alternate
from benchmarks.spark.scores import Scores
from tidelog.cli.spark.environment import UNCHECKED

# As a user runs it: both compilers, and Arrow as `tidelog spark-submit` sets it, which helps whoever uses Arrow.
JVM = f"-XX:+UseParallelGC {UNCHECKED}"


@dataclass(frozen=True, slots=True)
class SparkSizes:
    rows: int
    warm_ups: int
    rounds: int
    small_batches: int
    small_rounds: int
    partitions: int  # to be planned
    pipeline_seconds: int
    pipeline_warm_seconds: int  # of these
    aged_batches: int  # of a query that has run for long


FULL = SparkSizes(4_000_000, 3, 3, 200, 5, 10_000, 180, 90, 20_000)
QUICK = SparkSizes(1_000_000, 1, 1, 30, 1, 10_000, 60, 30, 2_000)


@dataclass(slots=True)
class SparkBench:
    broker: System
    scratch: Path
    sizes: SparkSizes
    scores: Scores = field(default_factory=Scores)
    _spark: SparkSession | None = None
    _cores: int = 0
    _filled: dict[str, Topic] = field(default_factory=dict)

    def session(self, cores: int) -> SparkSession:
        """Return a session in the JVM of the one before, which stays warm."""
        if self._spark is None or self._cores != cores:
            self.end_session()
            self._spark, self._cores = session(self.scratch, f"local[{cores}]", JVM, spark_driver_memory="4g"), cores
        return self._spark

    def end_session(self) -> None:
        if self._spark is not None:
            self._spark.stop()
            self._spark = None

    def topic(self, kind: str, partitions: int, rows: int) -> Topic:
        name = f"{kind.replace(' ', '-').lower()}-{partitions}-{rows}"
        if name not in self._filled:
            self._filled[name] = Topic(name, kind, partitions, rows)
            fill(self.broker.bootstrap, self._filled[name])
            console.print(f"[dim]{rows:,} records of {kind} in {partitions} partition(s)[/]")
        return self._filled[name]

    def source(self, cores: int, topic: Topic) -> TopicSource:
        return TopicSource(self.session(cores), self.broker.bootstrap, topic.name)

    def alternate(self, runs: Mapping[str, Run], rounds: int | None = None) -> dict[str, Figures]:
        pids = [self.broker.process.pid]
        return alternate(runs, warm_ups=self.sizes.warm_ups, rounds=rounds or self.sizes.rounds, brokers=pids)

    def agree(self, runs: Mapping[str, Run]) -> None:
        """Check that contenders find the same; raise Disagreement where they do not. Nothing is measured."""
        alternate(runs, warm_ups=0, rounds=1, brokers=())
