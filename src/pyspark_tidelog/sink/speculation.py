"""Refuses `spark.speculation` for exactly-once writes: with it, a second attempt of a task runs beside the first.

Spark decides which attempt counts only when both have written. The other attempt's transaction would stay open, with
readers waiting for its end; and if that attempt began late, it might end a transaction of a later batch.

A worker is not told Spark's settings. But Spark hands the settings of a session to every task of its jobs, as
properties of the job, and a session begins with all settings of the application.
"""

from typing import TYPE_CHECKING, Final

from pyspark_tidelog.errors import OptionError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPECULATION: Final = "spark.speculation"


def refuse_in_session(session: "SparkSession") -> None:
    _refuse(str(session.conf.get(SPECULATION, "false")), "set it to false for exactly-once writes")


def refuse_in_task() -> None:
    from pyspark import TaskContext

    context = TaskContext.get()
    value = None if context is None else context.getLocalProperty(SPECULATION)
    _refuse(value, "set it to false, or choose deliveryGuarantee at-least-once")


def _refuse(value: str | None, step: str) -> None:
    if value is not None and value.strip().lower() == "true":
        problem = "a task that runs twice leaves a transaction open, and readers wait for its end"
        raise OptionError(SPECULATION, problem, step)
