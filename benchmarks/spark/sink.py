"""Writing: rows that Spark makes, to a topic of two partitions; ours at least once and exactly once, the connector at
least once, because it has nothing else.

Every run writes to a topic of its own, which is read back (read_committed, by our source) when the clock has stopped.
"""

import itertools
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from benchmarks.spark.bench import SparkBench
from benchmarks.spark.contenders import DEFAULT, OURS
from benchmarks.spark.data import JSON
from benchmarks.spark.jobs import sums_of
from benchmarks.spark.samples import Outcome
from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.topics import NewTopic
from tidelog.client.client import Client

CORES = 2
TEXT = "200 bytes"
AT_LEAST_ONCE, EXACTLY_ONCE = f"{OURS}, at-least-once", f"{OURS}, exactly-once"
BARS = {AT_LEAST_ONCE: 2.0, EXACTLY_ONCE: 1.5}
WRITERS: dict[str, Mapping[str, str]] = {
    DEFAULT: {"format": "kafka"},
    AT_LEAST_ONCE: {"format": "tidelog", "deliveryGuarantee": "at-least-once"},
    EXACTLY_ONCE: {"format": "tidelog", "deliveryGuarantee": "exactly-once"},
}
# Cheap to make (a microsecond of CPU; `rpad` alone takes three), so that the writing is what is measured.
ROWS = {
    TEXT: (
        "cast(null AS binary) AS key",
        "cast(concat(cast(id + 1000000 AS string), repeat('x', 193)) AS binary) AS value",
    ),
    JSON: (
        "cast(concat('user-', cast(id % 100000 AS string)) AS binary) AS key",
        """cast(concat('{"event_id":"', hex(id), '","user_id":"user-', cast(id % 100000 AS string), '","at":',
        cast(1760000000000 + id AS string), ',"kind":"product_viewed","product_id":"p', cast(id % 5000 AS string),
        '","category":"garden","price_cents":', cast(id % 99900 AS string), ',"quantity":', cast(id % 5 AS string),
        ',"user_agent":"Mozilla/5.0 (X11; Linux x86_64)","referrer":"https://example.com/c/"}') AS binary) AS value""",
    ),
}


def write(bench: SparkBench) -> None:
    names = (f"sink-{number}" for number in itertools.count())
    bench.session(CORES)  # here, because the end of another would count
    for kind in (TEXT, JSON):
        runs = {name: partial(_write, bench, kind, options, names) for name, options in WRITERS.items()}
        figures = bench.alternate(runs)
        title = f"sink, {kind}, two partitions, local[{CORES}]"
        bench.scores.compare(title, bench.sizes.rows, figures, BARS, to=DEFAULT)


def _write(bench: SparkBench, kind: str, options: Mapping[str, str], names: Iterator[str]) -> Outcome:
    spark, bootstrap, topic = bench.session(CORES), bench.broker.bootstrap, next(names)
    with Client(bootstrap) as client:
        Admin(client).create_topic(NewTopic(topic, 2))
    frame = rows(spark, kind, bench.sizes.rows).write.option("kafka.bootstrap.servers", bootstrap)
    frame.options(**{name: text for name, text in options.items() if name != "format"}, topic=topic)
    frame.format(options["format"]).mode("append").save()
    return Outcome(partial(_read_back, spark, bootstrap, topic))


def rows(spark: SparkSession, kind: str, count: int) -> DataFrame:
    return spark.range(0, count, 1, CORES).selectExpr(*ROWS[kind])


def _read_back(spark: SparkSession, bootstrap: str, topic: str) -> tuple[Any, ...]:
    options = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic, "kafka.isolation.level": "read_committed"}
    frame = spark.read.format("tidelog").options(**options, columns="key,value").load()
    found = tuple(frame.selectExpr(*sums_of("key, value")).collect()[0])
    with Client(bootstrap) as client:
        Admin(client).delete_topic(topic)
    return found
