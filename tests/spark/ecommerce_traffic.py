"""Traffic of the shop for tests of its pipeline: records as rows of a DataFrame, and a log to look back into."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field

from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidelog_pipelines.ecommerce.lookback import counted_id
from tidelog_pipelines.traffic.generator import Event, Plan, events
from tidelog_pipelines.traffic.truth import Truth

START_MS = 1_790_000_000_000
SCHEMA = "key binary, value binary, topic string, partition int, offset long, timestamp_ms long"

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]  # workers lack the tests


def traffic(count: int, seed: int = 7) -> tuple[list[Event], Truth]:
    """Some minutes of a slow day."""
    truth, sent = Truth(), list(events(Plan(seed, START_MS, rate=20, events=count)))
    for event in sent:
        truth.add(event)
    return sent, truth


@dataclass(slots=True)
class TrafficLog:
    """Each topic as one partition."""

    name: str
    records: dict[str, list[tuple[str | None, int]]] = field(default_factory=dict)

    def ids(self, topic: str, _partition: int, start: int, end: int, since_ms: int) -> Iterator[tuple[str, int]]:
        for event_id, timestamp_ms in self.records[topic][start:end]:
            if event_id is not None and timestamp_ms >= since_ms:
                yield event_id, timestamp_ms

    def rows(self, sent: list[Event]) -> list[tuple[bytes, bytes, str, int, int, int]]:
        """What the source would read of them; and they are in the log."""
        made = []
        for topic, key, value, timestamp_ms in sent:
            log = self.records.setdefault(topic, [])
            made.append((key, value, topic, 0, len(log), timestamp_ms))
            log.append((counted_id(topic, value, timestamp_ms), timestamp_ms))
        return made


def data_frame(spark: SparkSession, rows: list[tuple[bytes, bytes, str, int, int, int]]) -> DataFrame:
    made = spark.createDataFrame(rows, SCHEMA).coalesce(1)
    return made.withColumn("timestamp", F.timestamp_millis("timestamp_ms")).drop("timestamp_ms")
