"""Output mode update, which Spark refuses for a sink in Python: for those it knows only append and complete.

    start_updates(counts.writeStream.queryName("counts").option("checkpointLocation", ...), options)

is what `counts.writeStream.format("tidelog").outputMode("update").options(...).start()` would be. Each micro-batch is
handed over by `foreachBatch` and written by `write_exactly_once`, so the guarantee is the sink's. Trigger, query name
and checkpoint are those of the writer.

Spark gives a query of `foreachBatch` a temporary checkpoint where none is named. A query that forgot its position at
each restart would not be exactly-once, so a missing checkpoint is refused here, as Spark does for other sinks.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from pyspark_tidelog.errors import OptionError, SinkError
from pyspark_tidelog.sink.foreach import FORMAT, write_exactly_once
from pyspark_tidelog.sink.options import Guarantee, check_schema, sink_options

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

MODE: Final = "update"
CHECKPOINT: Final = "checkpointLocation"


def start_updates(
    writer: "DataStreamWriter", options: Mapping[str, str], *, query_id: str | None = None
) -> "StreamingQuery":
    """Start a query in output mode update: rows that a micro-batch has changed go to their topic. `writer`: a
    `frame.writeStream` with its trigger, query name and checkpoint. `options`: those of a write with
    `format("tidelog")`. `query_id`: who writes, the same over restarts; only Spark Connect needs it."""
    is_remote = ".connect." in type(writer).__module__
    if is_remote and query_id is None:
        what = "through Spark Connect it is not known which query writes"
        raise SinkError(what, "", "give start_updates a query_id that is the same over restarts")
    given = {name: text for name, text in options.items() if name.lower() != CHECKPOINT.lower()}
    checkpoints = [text for name, text in options.items() if name.lower() == CHECKPOINT.lower()]
    found = sink_options(given)
    frame = getattr(writer, "_df", None)  # a writer of Spark Connect does not have it
    if frame is not None:
        check_schema(frame.schema, found.topic)
    if checkpoints:
        writer = writer.option(CHECKPOINT, checkpoints[0])
    elif not _has_checkpoint(writer, is_remote=is_remote):
        raise OptionError(CHECKPOINT, "must be given", "name a directory that belongs to this query alone")
    if found.guarantee is Guarantee.AT_LEAST_ONCE:
        write = _at_least_once(given)
    else:
        write = _exactly_once(given, query_id, _remote_checkpoint(writer) if is_remote else None)
    return writer.outputMode(MODE).foreachBatch(write).start()


# Spark Connect pickles the functions below: they hold nothing but settings.


def _exactly_once(
    options: dict[str, str], query_id: str | None, checkpoint: str | None
) -> Callable[["DataFrame", int], None]:
    def write(batch: "DataFrame", batch_id: int) -> None:
        write_exactly_once(batch, batch_id, options, query_id=query_id, checkpoint=checkpoint)

    return write


def _at_least_once(options: dict[str, str]) -> Callable[["DataFrame", int], None]:
    def write(batch: "DataFrame", _batch_id: int) -> None:
        batch.write.format(FORMAT).mode("append").options(**options).save()

    return write


def _remote_checkpoint(writer: Any) -> str | None:
    """Return the checkpoint location that a writer of Spark Connect has: it tells a replay from another batch of the
    same number. Without Spark Connect, `foreachBatch` finds it by itself."""
    named = {name.lower(): str(text) for name, text in writer._write_proto.options.items()}
    return named.get(CHECKPOINT.lower())


def _has_checkpoint(writer: Any, *, is_remote: bool) -> bool:
    """Tell whether the writer, or the session for all of its queries, has a checkpoint location. Spark's writer does
    not show its options, so they are read from its private field."""
    if is_remote:
        session, names = writer._session, list(writer._write_proto.options)
    else:
        session, field = writer._df.sparkSession, writer._jwrite.getClass().getDeclaredField("extraOptions")
        field.setAccessible(True)
        names = [CHECKPOINT] if field.get(writer._jwrite).contains(CHECKPOINT) else []
    is_named = CHECKPOINT.lower() in map(str.lower, names)
    return is_named or bool(session.conf.get("spark.sql.streaming.checkpointLocation", None))
