"""A driver whose stage is tried again after a task of it has handed its transaction over (SPARK-24552).

    python -m tests.spark.retry_driver <bootstrap> <input> <output> <ledger> <scratch>

A topic is copied over a shuffle, by two executors of one core each. In the second batch

    task 1 writes, hands over, and is held back with its result
    task 0 then kills its executor, and half of the shuffle with it: the whole stage is tried again
    task 1 of the second try, which Spark calls attempt 0 as well, writes; then the first one's result is let go

so that Spark commits the first, while the second has written under the same partition. Without care for attempts the
second would have ended the first one's transaction. None of this is in the product: the sink is subclassed here.
"""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType
from tests.spark.cluster_driver import ROWS_A_BATCH, KillingWriter, own_spark_home

from pyspark_tidelog.sink.options import sink_options
from pyspark_tidelog.sink.stream_writer import StreamWriter
from pyspark_tidelog.sink.write_task import Written
from pyspark_tidelog.source.data_source import DefaultSource
from pyspark_tidelog.spark.job_properties import BATCH_ID

ROOT = Path(__file__).parents[2]
RETRIED_BATCH = 1
WAIT_S_MAX = 120
HEAD_START_S = 3  # of the first attempt's result


class Retrying(DefaultSource):
    @classmethod
    def name(cls) -> str:
        return "retrying"

    def streamWriter(self, schema: StructType, overwrite: bool) -> "RetriedWriter":
        named = {name: self.options[name] for name in ("kafka.bootstrap.servers", "topic", "ledgerTopic")}
        return RetriedWriter(sink_options(named), self.options["scratch"])


class RetriedWriter(KillingWriter):
    def write(self, iterator: Iterator[Any]) -> Written:
        context = TaskContext.get()
        assert context is not None
        if int(context.getLocalProperty(BATCH_ID) or 0) != RETRIED_BATCH:
            return StreamWriter.write(self, iterator)
        if context.partitionId() == 0:
            if not self._marker("killed").exists():
                self._wait_for("first")
                self._kill_the_executor()
            return StreamWriter.write(self, iterator)
        is_first = not self._marker("first").exists()
        written = StreamWriter.write(self, iterator)
        assert written.transaction is not None
        marker = "first" if is_first else "second"
        self._marker(marker).write_text(f"{context.attemptNumber()} {written.transaction.transactional_id}")
        if is_first:
            self._wait_for("second")
        else:
            time.sleep(HEAD_START_S)
        return written

    def _marker(self, name: str) -> Path:
        return Path(self._scratch) / name

    def _wait_for(self, name: str) -> None:
        until = time.monotonic() + WAIT_S_MAX
        while not self._marker(name).exists():
            assert time.monotonic() < until, f"nobody has been {name}"
            time.sleep(0.05)


def copy(spark: SparkSession, server: dict[str, str], read: str, written: str, ledger: str, scratch: Path) -> None:
    spark.dataSource.register(Retrying)
    reading = spark.readStream.format("tidelog").options(**server, subscribe=read, startingOffsets="earliest")
    rows = reading.option("maxOffsetsPerTrigger", str(ROWS_A_BATCH)).load().select("key", "value")
    writing = rows.repartition(2, "value").writeStream.format("retrying").options(**server, topic=written)
    writing = writing.option("ledgerTopic", ledger).option("scratch", str(scratch))
    writing = writing.option("checkpointLocation", str(scratch / "checkpoint"))
    writing.trigger(availableNow=True).start().awaitTermination()


def main(bootstrap: str, read: str, written: str, ledger: str, directory: str) -> None:
    from tests.spark.sessions import JVM, session

    scratch, server = Path(directory), {"kafka.bootstrap.servers": bootstrap}
    own_spark_home(scratch)
    settings = {
        "spark_executor_memory": "512m",
        "spark_executor_extraJavaOptions": JVM,
        # Executors work in a directory of their own, and import the class that the sink here is derived from.
        "spark_executorEnv_PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "spark_locality_wait": "0s",
        "spark_shuffle_reduceLocality_enabled": "false",
        "spark_sql_adaptive_enabled": "false",
        # No task before both executors are there: each then has a half of the shuffle, and a task that writes.
        "spark_scheduler_minRegisteredResourcesRatio": "1.0",
        "spark_scheduler_maxRegisteredResourcesWaitingTime": f"{WAIT_S_MAX}s",
    }
    spark = session(scratch, "local-cluster[2,1,1024]", spark_speculation="false", **settings)
    copy(spark, server, read, written, ledger, scratch)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
