"""What a function of `foreachBatch` has to know of Spark: which query it works for, in which run and from which
checkpoint (`running_batch`), and how to compute a batch of which nothing is left to write (`compute`).

Spark tells the id of the query, and no more. Run and checkpoint are asked of the running query itself, through the JVM
and interfaces that Spark does not guarantee; where that fails, or there is no JVM (Spark Connect), they stay unknown.
"""

import logging
import os
import uuid
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyspark_tidelog.errors import SinkError
from pyspark_tidelog.sink.checkpoint import CheckpointBatch, Files, batch_of, local_files
from pyspark_tidelog.sink.decisions import Origin

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LOGGER: Final = logging.getLogger("pyspark_tidelog")


class RunningBatch(NamedTuple):
    """The batch that a `foreachBatch` function is called for, as far as Spark and its checkpoint tell."""

    query_id: str | None  # the id that is in the checkpoint
    run_id: str
    found: CheckpointBatch


def running_batch(session: "SparkSession", batch_id: int, checkpoint: str | None = None) -> RunningBatch:
    """Return the batch that is running. `checkpoint`: the path of the query's checkpoint, for callers to whom Spark
    does not tell it."""
    from pyspark_tidelog.spark.job_properties import QUERY_ID, RUN_ID

    context = getattr(session, "_sc", None)  # a client of Spark Connect has none
    query_id = None if context is None else context.getLocalProperty(QUERY_ID)
    if context is None or query_id is None:
        found = batch_of(local_files(checkpoint), batch_id) if checkpoint else CheckpointBatch()
        return RunningBatch(None, run_of_process(os.getpid()), found)
    run_id, files = _running(session, query_id)
    run_id = run_id or context.getLocalProperty(RUN_ID) or run_of_process(os.getpid())
    if checkpoint:
        files = local_files(checkpoint)
    found = batch_of(files, batch_id, query_id) if files is not None else CheckpointBatch(Origin(query_id))
    return RunningBatch(query_id, run_id, found)


def unknown_query(function: str) -> SinkError:
    what = "it is not known which query writes: Spark says so in foreachBatch only, and not through Spark Connect"
    return SinkError(what, "", f"give {function} a query_id that is the same over restarts")


def compute(frame: "DataFrame") -> None:
    """Compute all rows and drop them, for a batch that is written already. After a stateful operator Spark fails a
    batch of which a task has not stored its state, and a frame does not tell whether it comes after such an operator.
    At most one batch is computed in vain after a restart."""
    frame.write.format("noop").mode("overwrite").save()


@cache
def run_of_process(_process_id: int) -> str:
    """Return the id that stands for a run where Spark gives none: one for the life of this process. The process id is
    the cache's key because workers are forked."""
    return uuid.uuid4().hex


def _running(session: Any, query_id: str) -> tuple[str | None, Files | None]:
    """Return the run of a query of this session's application, and the files of its checkpoint; None for both where
    Spark does not tell."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]

    try:
        queries = session._jsparkSession.sharedState().activeStreamingQueries()
        query = queries.get(session._jvm.java.util.UUID.fromString(query_id))
        root = str(query.resolvedCheckpointRoot())
        run_id = str(query.runId().toString())
    except (Py4JError, AttributeError, TypeError) as error:
        LOGGER.warning("the checkpoint of query %s can not be found: %s", query_id, error)
        return None, None
    is_local = root.startswith(("file:", "/"))
    return run_id, local_files(root) if is_local else _hadoop_files(session, root)


def _hadoop_files(session: Any, root: str) -> Files:
    """Return a reader of the files below `root`, through the Hadoop file systems that Spark itself knows."""
    from py4j.protocol import Py4JError

    def read(name: str) -> bytes | None:
        try:
            path = session._jvm.org.apache.hadoop.fs.Path(f"{root}/{name}")
            opened = path.getFileSystem(session._jsparkSession.sessionState().newHadoopConf()).open(path)
            try:
                return bytes(session._jvm.org.apache.commons.io.IOUtils.toByteArray(opened))
            finally:
                opened.close()
        except (Py4JError, AttributeError, TypeError) as error:
            LOGGER.warning("%s/%s can not be read: %s", root, name, str(error).partition("\n")[0])
            return None

    return read
