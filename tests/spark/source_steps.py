"""Steps of the tests of the source: topics with known records, a query run to its end, what a checkpoint says."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.topics import NewTopic
from tidelog.client.client import Client
from tidelog.client.producer.producer import Producer
from tidelog.model.ids import TopicPartition

DEADLINE_S = 120


def create(bootstrap: str, topic: str, partitions: int = 1) -> None:
    with Client(bootstrap) as client:
        Admin(client).create_topic(NewTopic(topic, partitions))


def delete(bootstrap: str, topic: str) -> None:
    with Client(bootstrap) as client:
        Admin(client).delete_topic(topic)


def add_partitions(bootstrap: str, topic: str, count: int) -> None:
    with Client(bootstrap) as client:
        Admin(client).create_partitions(topic, count)


def delete_records(bootstrap: str, topic: str, before: int, partition: int = 0) -> None:
    with Client(bootstrap) as client:
        (outcome,) = Admin(client).delete_records({TopicPartition(topic, partition): before}).values()
        assert outcome == before


def produce(bootstrap: str, topic: str, values: Iterable[str], partition: int = 0, **send: Any) -> None:
    with Client(bootstrap) as client, Producer(client) as producer:
        for value in values:
            producer.send(topic, value.encode(), partition=partition, **send)


def batch(spark: SparkSession, bootstrap: str, **options: str) -> DataFrame:
    return spark.read.format("tidelog").option("kafka.bootstrap.servers", bootstrap).options(**options).load()


def stream(spark: SparkSession, bootstrap: str, form: str = "tidelog", **options: str) -> DataFrame:
    return spark.readStream.format(form).option("kafka.bootstrap.servers", bootstrap).options(**options).load()


def values(frame: DataFrame) -> list[str]:
    return sorted(bytes(row.value).decode() for row in frame.collect())


class Seen:
    """What a query has given, batch by batch: kept on the driver."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    @property
    def values(self) -> list[str]:
        return sorted(value for each in self.batches for value in each)

    def writer(self, frame: DataFrame, checkpoint: str) -> DataStreamWriter:
        return frame.writeStream.foreachBatch(self._take).option("checkpointLocation", checkpoint)

    def _take(self, frame: DataFrame, _batch_id: int) -> None:
        self.batches.append(values(frame))


def run_available_now(frame: DataFrame, checkpoint: str) -> Seen:
    seen = Seen()
    query = seen.writer(frame, checkpoint).trigger(availableNow=True).start()
    assert query.awaitTermination(DEADLINE_S), "the query does not come to its end"
    return seen


def failure(query: StreamingQuery) -> str:
    """What the user of a query that must fail gets to read."""
    try:
        assert not query.awaitTermination(DEADLINE_S), "the query goes on"
    except Exception as error:  # noqa: BLE001 - whatever Spark makes of it
        return str(error)
    raise AssertionError("the query goes on")


def checkpoint_offsets(checkpoint: str) -> dict[str, dict[str, int]]:
    """The last that Spark wrote down: version, metadata, then a line for each source."""
    logs = [path for path in (Path(checkpoint) / "offsets").iterdir() if path.name.isdigit()]
    newest = max(logs, key=lambda path: int(path.name))
    found: dict[str, dict[str, int]] = json.loads(newest.read_text().splitlines()[2])
    return found
