"""The sink of a batch job. One writer for the whole job: made on the driver, sent to the tasks, and back to commit.

The job has an id of its own, so nothing of it is ever replayed, and its record leaves the ledger when it is committed.
`write_exactly_once` gives it the id of a streaming query and the number of the batch instead.
"""

import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceArrowWriter

from pyspark_tidelog.sink_commit import SinkCommit
from pyspark_tidelog.sink_options import SinkOptions
from pyspark_tidelog.spark_process import message_first
from pyspark_tidelog.worker_socket import PartOfCommand
from pyspark_tidelog.write_task import Scope, Written, clean_id, write_rows

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql.datasource import WriterCommitMessage


class BatchWriter(PartOfCommand, DataSourceArrowWriter):
    def __init__(self, options: SinkOptions) -> None:
        self._options = options
        self._run_id = uuid.uuid4().hex
        self._is_replayable = options.query_id is not None and options.batch_id is not None
        self._query_id = clean_id(options.query_id or f"job-{self._run_id}")
        self._batch_id = options.batch_id or 0

    def write(self, iterator: Iterator["pa.RecordBatch"]) -> Written:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None, "Spark calls write in a task"
        attempt = str(context.attemptNumber() or "")
        scope = Scope(self._query_id, self._run_id, self._batch_id, context.partitionId(), attempt)
        with message_first("write"):
            return write_rows(self._options, scope, iterator)

    def commit(self, messages: "list[WriterCommitMessage | None]") -> None:
        with message_first("commit the write"):
            self._commit_of(messages).commit(forget=not self._is_replayable)

    def abort(self, messages: "list[WriterCommitMessage | None]") -> None:
        with message_first("abort the write"):
            self._commit_of(messages).abort()

    def _commit_of(self, messages: Any) -> SinkCommit:
        job_id = None if self._is_replayable else self._query_id
        return SinkCommit(self._options, self._batch_id, messages, job_id=job_id)
