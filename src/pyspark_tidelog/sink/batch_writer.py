"""The sink of a batch job. One writer serves the whole job: Spark makes it on the driver, sends it to the tasks, and
commits with it on the driver.

The job has an id of its own, so nothing of it is ever replayed, and its record leaves the ledger when it is committed.
`write_exactly_once` gives the job the id of a streaming query and the number of the batch instead.
"""

import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceArrowWriter

from pyspark_tidelog.sink.commit import SinkCommit, Writer
from pyspark_tidelog.sink.options import SinkOptions
from pyspark_tidelog.sink.write_task import Scope, Written, write_rows
from pyspark_tidelog.spark.process import message_first
from pyspark_tidelog.spark.worker_socket import PartOfCommand

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql.datasource import WriterCommitMessage


class BatchWriter(PartOfCommand, DataSourceArrowWriter):
    def __init__(self, options: SinkOptions) -> None:
        self._options = options
        self._is_replayable = options.query_id is not None and options.batch_id is not None
        run_id = options.run_id or uuid.uuid4().hex
        query_id = options.query_id if self._is_replayable else None
        self._writer = Writer(query_id or f"job-{run_id}", run_id, options.name, is_job=not self._is_replayable)
        self._batch_id = options.batch_id or 0

    def write(self, iterator: Iterator["pa.RecordBatch"]) -> Written:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None, "Spark calls write in a task"
        query_id, run_id, name, _ = self._writer
        attempt, is_retry = context.taskAttemptId(), context.attemptNumber() > 0
        scope = Scope(query_id, run_id, self._batch_id, context.partitionId(), attempt, name, is_retry)
        with message_first("write"):
            return write_rows(self._options, scope, iterator)

    def commit(self, messages: "list[WriterCommitMessage | None]") -> None:
        with message_first("commit the write"):
            self._commit_of(messages).commit(forget=not self._is_replayable)

    def abort(self, messages: "list[WriterCommitMessage | None]") -> None:
        with message_first("abort the write"):
            self._commit_of(messages).abort()

    def _commit_of(self, messages: Any) -> SinkCommit:
        return SinkCommit(self._options, self._batch_id, messages, writer=self._writer)
