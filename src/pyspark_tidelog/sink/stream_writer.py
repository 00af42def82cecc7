"""The streaming sink. For each batch Spark makes one writer on the driver for the tasks, and another for the commit.

Neither is told which query or batch it works for: the tasks read that from the properties of their job, and tell the
driver in their commit messages.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamArrowWriter

from pyspark_tidelog.errors import SinkError
from pyspark_tidelog.sink.commit import SinkCommit
from pyspark_tidelog.sink.options import SinkOptions
from pyspark_tidelog.sink.write_task import Scope, Written, write_rows
from pyspark_tidelog.spark.job_properties import BATCH_ID, CHECKPOINTS, QUERY_ID, RUN_ID
from pyspark_tidelog.spark.process import message_first
from pyspark_tidelog.spark.worker_socket import PartOfCommand

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql.datasource import WriterCommitMessage


class StreamWriter(PartOfCommand, DataSourceStreamArrowWriter):
    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator["pa.RecordBatch"]) -> Written:
        with message_first("write"):
            written = write_rows(self._options, stream_scope(), iterator)
            written.checkpoint = named_checkpoint(self._options.query_name)
            return written

    def commit(self, messages: "list[WriterCommitMessage | None]", batchId: int) -> None:
        with message_first(f"commit batch {batchId}"):
            self._commit_of(messages, batchId).commit()

    def abort(self, messages: "list[WriterCommitMessage | None]", batchId: int) -> None:
        with message_first(f"abort batch {batchId}"):
            self._commit_of(messages, batchId).abort()

    def _commit_of(self, messages: Any, batch_id: int) -> SinkCommit:
        return SinkCommit(self._options, batch_id, messages)


def stream_scope() -> Scope:
    """Return the query, run, batch and attempt of the current task, from the properties of its job."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None, "Spark calls write in a task"
    found = {name: context.getLocalProperty(name) for name in (QUERY_ID, RUN_ID, BATCH_ID)}
    query_id, run_id, batch_id = (found[name] for name in (QUERY_ID, RUN_ID, BATCH_ID))
    if query_id is None or run_id is None or batch_id is None:
        what = f"Spark does not say for which query or batch this task writes ({found})"
        step = "choose deliveryGuarantee at-least-once, or write with write_exactly_once in foreachBatch"
        raise SinkError(what, f"task {context.partitionId()}", step)
    is_retry = context.attemptNumber() > 0
    attempt = context.taskAttemptId()
    return Scope(query_id, run_id, int(batch_id), context.partitionId(), attempt, is_retry=is_retry)


def named_checkpoint(query_name: str | None) -> str:
    """Return the path at which Spark puts the checkpoint of a query that has a name, but no option checkpointLocation;
    "" where the session has no directory for those."""
    from pyspark import TaskContext

    context = TaskContext.get()
    found = None if context is None else context.getLocalProperty(CHECKPOINTS)
    return f"{found.rstrip('/')}/{query_name}" if found and query_name else ""
