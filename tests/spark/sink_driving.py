"""The sink driven as Spark drives it, without a JVM: writers and messages travel pickled, and tasks have a context.

`Run` is one start of a streaming query; a restart is another `Run` of the same query.
"""

import pickle
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark import TaskContext
from pyspark.sql.types import StructType

from pyspark_tidelog.sink import stream_writer
from pyspark_tidelog.sink_commit import SinkCommit
from pyspark_tidelog.stream_writer import BATCH_ID, QUERY_ID, RUN_ID, StreamWriter
from pyspark_tidelog.two_phase import Step
from pyspark_tidelog.write_task import Written
from tidelog.client.client import Client
from tidelog.client.consumer import Consumer
from tidelog.client.record import EARLIEST, ConsumerRecord

SCHEMA = StructType().add("key", "binary").add("value", "binary")


def rows(*values: bytes, key: bytes | None = None) -> pa.RecordBatch:
    return pa.record_batch({"key": pa.array([key] * len(values), pa.binary()), "value": pa.array(values, pa.binary())})


class Killed(Exception):
    """In the place of kill -9."""


class StoppableCommit(SinkCommit):
    """Stops for good before a step."""

    stop_before: str | None = None
    ran: list[str]

    def drive(self, steps: Iterable[Step]) -> None:
        for step in steps:
            self.ran.append(step.what)
            if step.what == self.stop_before:
                raise Killed(step.what)


@dataclass
class Run:
    options: dict[str, str]
    query_id: str
    run_id: str = field(default_factory=lambda: str(uuid.uuid4()))

    def writer(self) -> StreamWriter:
        made = stream_writer(self.options, SCHEMA, False)
        assert isinstance(made, StreamWriter)
        return made

    def write(self, batch_id: int, task: int, batches: Iterable[Any], attempt: int = 0) -> Written:
        """In a task."""
        writer = pickle.loads(pickle.dumps(self.writer()))
        properties = {QUERY_ID: self.query_id, RUN_ID: self.run_id, BATCH_ID: str(batch_id)}
        with_context = in_task(lambda: writer.write(iter(batches)), task, attempt, properties)
        return pickle.loads(pickle.dumps(with_context))  # type: ignore[no-any-return]

    def write_all(self, batch_id: int, tasks: int = 2) -> list[Written]:
        """Two rows a task, named by batch and task."""
        return [
            self.write(batch_id, task, [rows(b"%d-%d-a" % (batch_id, task)), rows(b"%d-%d-b" % (batch_id, task))])
            for task in range(tasks)
        ]

    def commit(self, messages: list[Written], batch_id: int, stop_before: str | None = None) -> list[str]:
        """The steps that it took."""
        made = StoppableCommit(self.writer()._options, batch_id, messages)
        made.stop_before, made.ran = stop_before, []
        made.commit()
        return made.ran


def in_task(call: Any, task: int, attempt: int, properties: dict[str, str]) -> Any:
    context = TaskContext._getOrCreate()
    context._partitionId, context._attemptNumber, context._localProperties = task, attempt, properties
    try:
        return call()
    finally:
        TaskContext._setTaskContext(None)  # type: ignore[arg-type]


def expected(*batches: int, tasks: int = 2) -> list[bytes]:
    return sorted(
        b"%d-%d-%s" % (batch, task, row) for batch in batches for task in range(tasks) for row in (b"a", b"b")
    )


def records(bootstrap: str, topic: str) -> Iterator[ConsumerRecord]:
    """What a consumer sees that reads committed."""
    with Client(bootstrap) as client:
        consumer = Consumer(client, isolation="read_committed")
        consumer.assign(dict.fromkeys(consumer.partitions(topic), EARLIEST))
        yield from consumer.read_to_end()


def values(bootstrap: str, topic: str) -> list[bytes | None]:
    return sorted((record.value for record in records(bootstrap, topic)), key=lambda each: each or b"")
