"""A driver with executors in processes of their own, one of which is killed with SIGKILL while it writes.

    python -m tests.spark.cluster_driver <bootstrap> <input> <output> <ledger> <scratch>

It copies a topic with the exactly-once sink. In the second batch an executor dies with a good part of a task's rows
written; which one is in `<scratch>/killed`. Before that a small session tells what the sink says to speculation, in
`<scratch>/refusal`. None of this is in the product: the sink is subclassed here.
"""

import os
import signal
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyspark
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from pyspark_tidelog.sink.options import SinkOptions, sink_options
from pyspark_tidelog.sink.stream_writer import StreamWriter
from pyspark_tidelog.sink.write_task import Written
from pyspark_tidelog.source.data_source import DefaultSource
from pyspark_tidelog.spark.job_properties import BATCH_ID

ROWS_A_BATCH = 600
ROWS_A_BLOCK = 100  # of Arrow, as the task gets them
KILLS_IN_BATCH = 1
KILLS_AFTER_BLOCKS = 2


class Killing(DefaultSource):
    @classmethod
    def name(cls) -> str:
        return "killing"

    def streamWriter(self, schema: StructType, overwrite: bool) -> "KillingWriter":
        named = {name: self.options[name] for name in ("kafka.bootstrap.servers", "topic", "ledgerTopic")}
        return KillingWriter(sink_options(named), self.options["scratch"])


class KillingWriter(StreamWriter):
    def __init__(self, options: SinkOptions, scratch: str) -> None:
        super().__init__(options)
        self._scratch = scratch

    def write(self, iterator: Iterator[Any]) -> Written:
        context = TaskContext.get()
        assert context is not None
        batch = int(context.getLocalProperty(BATCH_ID) or 0)
        if (batch, context.partitionId(), context.attemptNumber()) == (KILLS_IN_BATCH, 0, 0):
            iterator = self._killed_while_reading(iterator)
        return super().write(iterator)

    def _killed_while_reading(self, iterator: Iterator[Any]) -> Iterator[Any]:
        yield from islice(iterator, KILLS_AFTER_BLOCKS)
        self._kill_the_executor()

    def _kill_the_executor(self) -> None:
        """Of which this worker's parent, the daemon, is a child."""
        status = (Path("/proc") / str(os.getppid()) / "stat").read_text()
        executor = int(status.rpartition(")")[2].split()[1])
        assert b"CoarseGrainedExecutorBackend" in (Path("/proc") / str(executor) / "cmdline").read_bytes()
        (Path(self._scratch) / "killed").write_text(str(executor))
        os.kill(executor, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)


def own_spark_home(scratch: Path) -> None:
    """Executors work in a directory below Spark's home: not in that of the tests' Spark."""
    home = scratch / "home"
    home.mkdir()
    for name in ("bin", "jars", "python"):
        (home / name).symlink_to(Path(pyspark.__file__).parent / name)
    os.environ["SPARK_HOME"] = str(home)


def refusal_of_speculation(spark: SparkSession, server: dict[str, str], topic: str) -> str:
    rows = spark.range(1).selectExpr("'speculative' AS value").write.format("tidelog").mode("append")
    try:
        rows.options(**server, topic=topic).save()
    except PySparkException as refused:
        return str(refused)
    return "there was none"


def copy(spark: SparkSession, server: dict[str, str], read: str, written: str, ledger: str, scratch: Path) -> None:
    spark.dataSource.register(Killing)
    reading = spark.readStream.format("tidelog").options(**server, subscribe=read, startingOffsets="earliest")
    rows = reading.option("maxOffsetsPerTrigger", str(ROWS_A_BATCH)).load().select("key", "value")
    writing = rows.writeStream.format("killing").options(**server, topic=written, ledgerTopic=ledger)
    writing = writing.option("scratch", str(scratch)).option("checkpointLocation", str(scratch / "checkpoint"))
    writing.trigger(availableNow=True).start().awaitTermination()


def main(bootstrap: str, read: str, written: str, ledger: str, directory: str) -> None:
    from tests.spark.sessions import JVM, session

    scratch, server = Path(directory), {"kafka.bootstrap.servers": bootstrap}
    own_spark_home(scratch)
    small = session(scratch, "local[1]", spark_speculation="true")
    (scratch / "refusal").write_text(refusal_of_speculation(small, server, written))
    small.stop()
    executors = {
        "spark_executor_memory": "512m",
        "spark_executor_extraJavaOptions": JVM,
        "spark_sql_execution_arrow_maxRecordsPerBatch": str(ROWS_A_BLOCK),
    }
    spark = session(scratch, "local-cluster[2,1,1024]", spark_speculation="false", **executors)
    copy(spark, server, read, written, ledger, scratch)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
