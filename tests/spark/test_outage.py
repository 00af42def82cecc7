"""Streams live through a broker that is killed and comes back: no query fails, nothing is lost, nothing is doubled.

Source, sink, archive and `foreachBatch` at the same time, on two cores, while a producer goes on writing. Every
micro-batch has tasks that connect anew, so the outage meets some that have never reached the broker themselves. Each
batch of `foreachBatch` has a `spark.read` of its own, and the broker is killed right before one of them is planned.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from tests.spark.sink_driving import values
from tests.spark.source_steps import create, stream

from pyspark_tidelog.lake import audit, start_archive
from pyspark_tidelog.sink.foreach import write_exactly_once
from tidelog.client.client import Client
from tidelog.client.producer.producer import Producer
from tidelog.testing import Broker, broker

pytestmark = pytest.mark.early

PARTITIONS = 2
PAUSE_S = 0.02
SOON_S = 120
# Spark takes turns among its idle planning processes, and each has to have reached the broker before it waits for one.
PLANNING_PROCESSES_MAX = 3


class Numbers:
    """Writes 0, 1, 2, ... to a topic until it is stopped; what a broker does not take is tried again."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.sent: list[bytes] = []
        self._topic = topic
        self._bootstrap = bootstrap
        self._is_stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        with Client(self._bootstrap) as client, Producer(client) as producer:
            while not self._is_stopping.wait(PAUSE_S):
                value = b"%08d" % len(self.sent)
                self.sent.append(value)
                producer.send(self._topic, value, partition=len(self.sent) % PARTITIONS)
                producer.poll()
            producer.flush()

    @contextmanager
    def running(self) -> Iterator[None]:
        self._thread.start()
        try:
            yield
        finally:
            self._is_stopping.set()
            self._thread.join()


class HeldBatch:
    """A batch of `foreachBatch`, held until the broker is gone."""

    def __init__(self) -> None:
        self._is_wanted = threading.Event()
        self._has_come = threading.Event()
        self._is_released = threading.Event()

    def pass_by(self) -> None:
        """Every batch comes by; the next one after `wait_for` stays until `release`."""
        if self._is_wanted.is_set():
            self._has_come.set()
            assert self._is_released.wait(SOON_S), "the broker was not killed"

    def wait_for(self) -> None:
        self._is_wanted.set()
        assert self._has_come.wait(SOON_S), "no batch has come"

    def release(self) -> None:
        self._is_released.set()


def start_queries(spark: SparkSession, bootstrap: str, directory: Path, held: HeldBatch) -> list[StreamingQuery]:
    options = {"subscribe": "input", "startingOffsets": "earliest"}
    server = {"kafka.bootstrap.servers": bootstrap}

    def write(batch: DataFrame, batch_id: int) -> None:
        held.pass_by()
        known = batch.sparkSession.read.format("tidelog").options(**server, subscribe="known").load()
        assert known.count() == 1
        write_exactly_once({"by-batch": batch.select("value")}, batch_id, server)

    rows = stream(spark, bootstrap, **options)
    sink = rows.select("value").writeStream.format("tidelog").options(**server, topic="copied")
    by_batch = rows.writeStream.foreachBatch(write)
    return [
        sink.option("checkpointLocation", str(directory / "sink")).start(),
        by_batch.option("checkpointLocation", str(directory / "by-batch")).start(),
        start_archive(spark, str(directory / "lake"), str(directory / "archive"), {**server, **options}),
    ]


def wait_for_batches(queries: list[StreamingQuery], count: int) -> None:
    """Until each query has finished `count` more micro-batches with records."""
    wanted = [_last_batch(query) + count for query in queries]
    until = time.monotonic() + SOON_S
    while any(_last_batch(query) < batch_id for query, batch_id in zip(queries, wanted, strict=True)):
        for query in queries:
            assert query.isActive, query.exception()
        assert time.monotonic() < until, "no progress"
        time.sleep(0.05)


def _last_batch(query: StreamingQuery) -> int:
    done = [each["batchId"] for each in query.recentProgress if each["numInputRows"]]
    return max(done, default=-1)


def archived(directory: Path) -> list[bytes]:
    files = directory.glob("topic=*/**/*.parquet")
    return sorted(value for each in files for value in pq.read_table(each, columns=["value"])["value"].to_pylist())


def kill_for(started: Broker, outage_s: float, held: HeldBatch) -> None:
    held.wait_for()
    started.kill()
    held.release()
    time.sleep(outage_s)
    started.start()


@pytest.mark.parametrize("outage_s", [3, pytest.param(20, marks=pytest.mark.long)])
def test_streams_over_an_outage_of_the_broker(spark: SparkSession, tmp_path: Path, outage_s: float) -> None:
    with broker() as started:
        bootstrap = started.bootstrap_servers
        for topic in ("input", "copied", "by-batch", "known"):
            create(bootstrap, topic, PARTITIONS)
        with Client(bootstrap) as client, Producer(client) as producer:
            producer.send("known", b"one")
        numbers = Numbers(bootstrap, "input")
        with numbers.running():
            held = HeldBatch()
            queries = start_queries(spark, bootstrap, tmp_path, held)
            try:
                wait_for_batches(queries, PLANNING_PROCESSES_MAX)
                kill_for(started, outage_s, held)
                wait_for_batches(queries, 1)
            except BaseException:
                held.release()
                for query in queries:
                    query.stop()
                raise
        try:
            for query in queries:
                query.processAllAvailable()
        finally:
            for query in queries:
                query.stop()
        assert len(numbers.sent) > 0
        assert values(bootstrap, "copied") == numbers.sent
        assert values(bootstrap, "by-batch") == numbers.sent
    assert archived(tmp_path / "lake") == numbers.sent
    assert audit(str(tmp_path / "lake")) == []
