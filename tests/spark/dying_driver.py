"""A driver that is killed in the middle of a commit: run as a program, it copies a topic with the exactly-once sink.

    python -m tests.spark.dying_driver <bootstrap> <input> <output> <ledger> <checkpoint> <step>

`step`: before which step of the commit of the second batch the JVM is killed with SIGKILL; "-" for never. The first
attempt of every task fails after it has written. None of this is in the product: the sink is subclassed here.
"""

import os
import signal
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pyspark import TaskContext
from pyspark.sql.types import StructType

from pyspark_tidelog.sink.commit import SinkCommit
from pyspark_tidelog.sink.options import SinkOptions, sink_options
from pyspark_tidelog.sink.stream_writer import StreamWriter
from pyspark_tidelog.sink.two_phase import Step
from pyspark_tidelog.sink.write_task import Written
from pyspark_tidelog.source.data_source import DefaultSource

DIES_IN_BATCH = 1
ROWS_A_BATCH = 20


class Dying(DefaultSource):
    @classmethod
    def name(cls) -> str:
        return "dying"

    def streamWriter(self, schema: StructType, overwrite: bool) -> "DyingWriter":
        named = {name: self.options[name] for name in ("kafka.bootstrap.servers", "topic", "ledgerTopic")}
        return DyingWriter(sink_options(named), self.options["step"], int(self.options["jvm"]))


class DyingWriter(StreamWriter):
    def __init__(self, options: SinkOptions, step: str, jvm: int) -> None:
        super().__init__(options)
        self._step, self._jvm = step, jvm

    def write(self, iterator: Iterator[Any]) -> Written:
        written = super().write(iterator)
        context = TaskContext.get()
        if context is not None and context.attemptNumber() == 0 and written.rows:
            raise RuntimeError("the first attempt fails, and its transaction stays open")
        return written

    def _commit_of(self, messages: Any, batch_id: int) -> SinkCommit:
        made = DyingCommit(self._options, batch_id, messages)
        made.step, made.jvm = self._step if batch_id == DIES_IN_BATCH else "-", self._jvm
        return made


class DyingCommit(SinkCommit):
    step: str
    jvm: int

    def drive(self, steps: Iterable[Step]) -> None:
        for each in steps:
            if each.what == self.step:
                os.kill(self.jvm, signal.SIGKILL)
                os.kill(os.getpid(), signal.SIGKILL)


def main(bootstrap: str, read: str, written: str, ledger: str, checkpoint: str, step: str) -> None:
    from tests.spark.sessions import session

    spark = session(Path(tempfile.mkdtemp()), "local[2,3]")
    spark.dataSource.register(Dying)
    jvm = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()  # type: ignore[union-attr]
    server = {"kafka.bootstrap.servers": bootstrap}
    reading = spark.readStream.format("tidelog").options(**server, subscribe=read, startingOffsets="earliest")
    rows = reading.option("maxOffsetsPerTrigger", str(ROWS_A_BATCH)).load().select("key", "value")
    writing = rows.writeStream.format("dying").options(**server, topic=written, ledgerTopic=ledger, step=step)
    query = writing.option("jvm", str(jvm)).option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
    query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
