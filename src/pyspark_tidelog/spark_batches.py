"""What a function of `foreachBatch` has to know of Spark: which query it works for, and that a batch has to be computed
even if there is nothing left to write.
"""

from typing import TYPE_CHECKING

from pyspark_tidelog.errors import SinkError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def query_of(session: "SparkSession", function: str) -> str:
    """The id that is in the checkpoint: the same over restarts. `function`: what the user has called."""
    from pyspark_tidelog.stream_writer import QUERY_ID

    context = getattr(session, "_sc", None)  # a client of Spark Connect has none
    found = None if context is None else context.getLocalProperty(QUERY_ID)
    if found is None:
        what = "it is not known which query writes: Spark says so in foreachBatch only, and not through Spark Connect"
        raise SinkError(what, "", f"give {function} a query_id that is the same over restarts")
    return str(found)


def compute(frame: "DataFrame") -> None:
    """All of it, for nothing but its state: after a stateful operator Spark fails a batch of which a task has not
    stored its state, and a frame does not tell whether it comes after one. It is a batch a restart, at most."""
    frame.write.format("noop").mode("overwrite").save()
