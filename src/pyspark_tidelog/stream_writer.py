"""The streaming sink. Spark makes one of these a batch, on the driver, for the tasks, and another for the commit.

Neither is told which query or batch it works for: the tasks read that from the properties of their job, and tell the
driver in their commit messages.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSourceStreamArrowWriter

from pyspark_tidelog.errors import SinkError
from pyspark_tidelog.sink_commit import SinkCommit
from pyspark_tidelog.sink_options import SinkOptions
from pyspark_tidelog.spark_process import message_first
from pyspark_tidelog.worker_socket import PartOfCommand
from pyspark_tidelog.write_task import Scope, Written, clean_id, write_rows

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql.datasource import WriterCommitMessage

QUERY_ID: Final = "sql.streaming.queryId"  # of the checkpoint: the same over restarts
BATCH_ID: Final = "streaming.sql.batchId"
RUN_ID: Final = "spark.jobGroup.id"  # Spark groups a query's jobs by its run id, new with each start


class StreamWriter(PartOfCommand, DataSourceStreamArrowWriter):
    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator["pa.RecordBatch"]) -> Written:
        with message_first("write"):
            return write_rows(self._options, stream_scope(), iterator)

    def commit(self, messages: "list[WriterCommitMessage | None]", batchId: int) -> None:
        with message_first(f"commit batch {batchId}"):
            self._commit_of(messages, batchId).commit()

    def abort(self, messages: "list[WriterCommitMessage | None]", batchId: int) -> None:
        with message_first(f"abort batch {batchId}"):
            self._commit_of(messages, batchId).abort()

    def _commit_of(self, messages: Any, batch_id: int) -> SinkCommit:
        return SinkCommit(self._options, batch_id, messages)


def stream_scope() -> Scope:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None, "Spark calls write in a task"
    found = {name: context.getLocalProperty(name) for name in (QUERY_ID, RUN_ID, BATCH_ID)}
    query_id, run_id, batch_id = (found[name] for name in (QUERY_ID, RUN_ID, BATCH_ID))
    if query_id is None or run_id is None or batch_id is None:
        what = f"Spark does not say for which query or batch this task writes ({found})"
        step = "choose deliveryGuarantee at-least-once, or write with write_exactly_once in foreachBatch"
        raise SinkError(what, f"task {context.partitionId()}", step)
    attempt = context.attemptNumber()
    return Scope(clean_id(query_id), clean_id(run_id), int(batch_id), context.partitionId(), str(attempt or ""))
