"""What is measured: jobs over a topic, each with what it found, so that contenders can be seen to agree."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from benchmarks.spark.contenders import OURS, Contender

ALL: Final = "key, value, topic, partition, offset, timestamp, timestampType"


def sums_of(columns: str) -> tuple[str, ...]:
    """Of rows in whatever order."""
    hashed = f"sum(cast(xxhash64({columns}) AS decimal(38,0)))", f"bit_xor(hash({columns}))"
    return ("count(*)", *hashed)


SUMS: Final = ("sum(offset)", *sums_of(ALL))


@dataclass(frozen=True, slots=True)
class Place:
    """Where a job reads, and with what."""

    spark: SparkSession
    bootstrap: str
    topic: str


Job = Callable[[Place, Contender], Any]


def noop(place: Place, contender: Contender) -> None:
    _discard(contender.batch(place.spark, place.bootstrap, place.topic))


def by_length(place: Place, contender: Contender) -> list[tuple[int, int]]:
    return _lengths(contender.batch(place.spark, place.bootstrap, place.topic), "length(value)")


def noop_value(place: Place, contender: Contender) -> None:
    _discard(_value_alone(place, contender).select("value"))


def by_length_value(place: Place, contender: Contender) -> list[tuple[int, int]]:
    return _lengths(_value_alone(place, contender), "length(value)")


def by_value_size(place: Place, contender: Contender) -> list[tuple[int, int]]:
    """Computed in the worker by ours: no value goes to the JVM."""
    if contender.name != OURS:
        return by_length_value(place, contender)
    frame = contender.batch(place.spark, place.bootstrap, place.topic, columns="value_size")
    return _lengths(frame, "value_size")


def everything(place: Place, contender: Contender) -> tuple[Any, ...]:
    """Counts, sums and a hash of all columns: contenders that differ have not done the same."""
    frame = contender.batch(place.spark, place.bootstrap, place.topic)
    return tuple(frame.selectExpr(*SUMS).collect()[0])


def _value_alone(place: Place, contender: Contender) -> DataFrame:
    options = {"columns": "value"} if contender.name == OURS else {}
    return contender.batch(place.spark, place.bootstrap, place.topic, **options)


def _discard(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _lengths(frame: DataFrame, length: str) -> list[tuple[int, int]]:
    counted = frame.selectExpr(f"{length} AS size").groupBy("size").count()
    return sorted((row["size"], row["count"]) for row in counted.collect())
