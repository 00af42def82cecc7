"""What is measured: jobs over a topic, each with what it found, so that contenders can be seen to agree."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from benchmarks.spark.contenders import OURS, Contender

ALL: Final = "key, value, topic, partition, offset, timestamp, timestampType"


def sums_of(columns: str) -> tuple[str, ...]:
    """Return aggregates that are equal for the same rows in whatever order."""
    hashed = f"sum(cast(xxhash64({columns}) AS decimal(38,0)))", f"bit_xor(hash({columns}))"
    return ("count(*)", *hashed)


SUMS: Final = ("sum(offset)", *sums_of(ALL))


@dataclass(frozen=True, slots=True)
class TopicSource:
    """A topic that a job reads, and the session that it reads with."""

    spark: SparkSession
    bootstrap: str
    topic: str


Job = Callable[[TopicSource, Contender], Any]


def noop(source: TopicSource, contender: Contender) -> None:
    _discard(contender.batch(source.spark, source.bootstrap, source.topic))


def by_length(source: TopicSource, contender: Contender) -> list[tuple[int, int]]:
    return _lengths(contender.batch(source.spark, source.bootstrap, source.topic), "length(value)")


def noop_value(source: TopicSource, contender: Contender) -> None:
    _discard(_value_alone(source, contender).select("value"))


def by_length_value(source: TopicSource, contender: Contender) -> list[tuple[int, int]]:
    return _lengths(_value_alone(source, contender), "length(value)")


def by_value_size(source: TopicSource, contender: Contender) -> list[tuple[int, int]]:
    """Count values by size; ours computes sizes in the worker, and no value goes to the JVM."""
    if contender.name != OURS:
        return by_length_value(source, contender)
    frame = contender.batch(source.spark, source.bootstrap, source.topic, columns="value_size")
    return _lengths(frame, "value_size")


def everything(source: TopicSource, contender: Contender) -> tuple[Any, ...]:
    """Return counts, sums and a hash of all columns: contenders that differ have not done the same."""
    frame = contender.batch(source.spark, source.bootstrap, source.topic)
    return tuple(frame.selectExpr(*SUMS).collect()[0])


def _value_alone(source: TopicSource, contender: Contender) -> DataFrame:
    options = {"columns": "value"} if contender.name == OURS else {}
    return contender.batch(source.spark, source.bootstrap, source.topic, **options)


def _discard(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _lengths(frame: DataFrame, length: str) -> list[tuple[int, int]]:
    counted = frame.selectExpr(f"{length} AS size").groupBy("size").count()
    return sorted((row["size"], row["count"]) for row in counted.collect())
