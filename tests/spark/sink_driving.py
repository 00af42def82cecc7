"""The sink driven as Spark drives it, without a JVM: writers and messages travel pickled, and tasks have a context.

`Run` is one start of a streaming query; a restart is another `Run` of the same query.
"""

import itertools
import json
import pickle
import shutil
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark import TaskContext
from pyspark.sql.types import StructType

from pyspark_tidelog.sink.commit import SinkCommit
from pyspark_tidelog.sink.stream_writer import StreamWriter
from pyspark_tidelog.sink.two_phase import Step
from pyspark_tidelog.sink.write_task import Written
from pyspark_tidelog.sink.writers import stream_writer
from pyspark_tidelog.spark.job_properties import BATCH_ID, QUERY_ID, RUN_ID
from tidelog.client.client import Client
from tidelog.client.fetch.consumer import Consumer
from tidelog.client.record import EARLIEST, ConsumerRecord

SCHEMA = StructType().add("key", "binary").add("value", "binary")


def rows(*values: bytes, key: bytes | None = None) -> pa.RecordBatch:
    return pa.record_batch({"key": pa.array([key] * len(values), pa.binary()), "value": pa.array(values, pa.binary())})


class Killed(Exception):
    """In the place of kill -9."""


class StoppableCommit(SinkCommit):
    """Stops for good before a step."""

    stop_before: str | None = None
    killed_after_ms = 0
    ran: list[str]

    def drive(self, steps: Iterable[Step]) -> None:
        for step in steps:
            self.ran.append(step.what)
            if step.what == self.stop_before:
                raise Killed(step.what)


ATTEMPTS = itertools.count(100)  # as Spark counts them: over all tasks


class Checkpoint:
    """As much of a streaming query's checkpoint as the sink looks at."""

    def __init__(self, directory: Path, query_id: str) -> None:
        self.directory, self.query_id = directory, query_id
        (directory / "offsets").mkdir(parents=True)
        (directory / "metadata").write_text(json.dumps({"id": query_id}))

    def plan(self, batch_id: int, **topics: int) -> None:
        """Spark writes it before a batch, unless it is there: then the batch is replayed."""
        file = self.directory / "offsets" / str(batch_id)
        if not file.exists():
            offsets = json.dumps({topic: {"0": offset} for topic, offset in topics.items()})
            file.write_text(f'v1\n{{"batchTimestampMs":{next(ATTEMPTS)}}}\n{offsets}')

    def rewind(self, batch_id: int) -> None:
        """Back to before a batch, as an operator does it."""
        for file in (self.directory / "offsets").iterdir():
            if int(file.name) >= batch_id:
                file.unlink()

    def copy(self, directory: Path) -> "Checkpoint":
        made = Checkpoint(directory, self.query_id)
        shutil.copytree(self.directory / "offsets", directory / "offsets", dirs_exist_ok=True)
        return made


@dataclass
class Run:
    options: dict[str, str]
    query_id: str
    run_id: str = field(default_factory=lambda: str(uuid.uuid4()))

    def writer(self) -> StreamWriter:
        made = stream_writer(self.options, SCHEMA, False)
        assert isinstance(made, StreamWriter)
        return made

    def write(self, batch_id: int, task: int, batches: Iterable[Any]) -> Written:
        """In a task: whatever Spark says of attempts, this one is another than all before."""
        writer = pickle.loads(pickle.dumps(self.writer()))
        properties = {QUERY_ID: self.query_id, RUN_ID: self.run_id, BATCH_ID: str(batch_id)}
        with_context = in_task(lambda: writer.write(iter(batches)), task, next(ATTEMPTS), properties)
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

    def abort(self, messages: list[Written | None], batch_id: int) -> None:
        made = StoppableCommit(self.writer()._options, batch_id, messages)
        made.ran = []
        made.abort()


def in_task(call: Any, task: int, attempt: int, properties: dict[str, str]) -> Any:
    context = TaskContext._getOrCreate()
    context._partitionId, context._attemptNumber, context._taskAttemptId = task, 0, attempt
    context._localProperties = properties
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
