"""Writing exactly once from `foreachBatch`, for jobs that write a batch to several topics or directories.

    def write(batch, batch_id):
        write_exactly_once({"sales": sales(batch), "alerts": alerts(batch)}, batch_id, options)
        write_batch(batch, "/lake/orders", batch_id, name="orders")  # of pyspark_tidelog.lake: it knows batches too

    orders.writeStream.foreachBatch(write).option("checkpointLocation", ...).start()

The topics of one call become visible together. A batch that Spark tries again is found in the ledger and not written
again. Its rows are computed nevertheless, because a stateful operator may have state to store.
"""

from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING, Final

from pyspark_tidelog.errors import SinkError
from pyspark_tidelog.sink.commit import Writer, finish_if_decided
from pyspark_tidelog.sink.options import Guarantee, encode_origin, sink_options
from pyspark_tidelog.sink.speculation import refuse_in_session
from pyspark_tidelog.spark.batches import compute, running_batch, unknown_query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FORMAT: Final = "tidelog"
COLUMNS: Final = ("key", "value", "partition", "headers")


def write_exactly_once(
    frames: "DataFrame | Mapping[str, DataFrame]",
    batch_id: int,
    options: Mapping[str, str],
    *,
    query_id: str | None = None,
    name: str = "",
    checkpoint: str | None = None,
) -> None:
    """Write the rows of a batch, exactly once. `frames`: rows with a column `topic` (or the option `topic`), or rows by
    topic. `query_id`: who writes, the same over restarts; in `foreachBatch` Spark knows it, except through Spark
    Connect. `name`: tells several calls for one batch apart; a second call with the same name is refused. `checkpoint`:
    the query's checkpoint location, where Spark does not tell it (Spark Connect): it tells a replay from another batch
    of the same number."""
    frame = _by_topic(frames) if isinstance(frames, Mapping) else frames
    refuse_in_session(frame.sparkSession)
    running = running_batch(frame.sparkSession, batch_id, checkpoint)
    query, name = (query_id or running.query_id or "").strip(), name.strip()
    if not query:
        raise unknown_query("write_exactly_once")
    named = {
        **options,
        "deliveryGuarantee": Guarantee.EXACTLY_ONCE.value,
        "exactlyOnceQuery": query,
        "exactlyOnceBatch": str(batch_id),
        "exactlyOnceRun": running.run_id,
        "exactlyOnceOrigin": encode_origin(running.found),
        **({"exactlyOnceName": name} if name else {}),
    }
    if finish_if_decided(sink_options(named), Writer(query, running.run_id, name)):
        compute(frame)
    else:
        frame.write.format(FORMAT).mode("append").options(**named).save()


def _by_topic(frames: "Mapping[str, DataFrame]") -> "DataFrame":
    from pyspark.sql import functions

    if not frames:
        raise SinkError("there is nothing to write", "", "give write_exactly_once a DataFrame for each topic")
    named = []
    for topic, frame in frames.items():
        kept = [functions.col(each).cast("binary") for each in ("key", "value") if each in frame.columns]
        kept += [functions.col(each) for each in ("partition", "headers") if each in frame.columns]
        unknown = [each for each in frame.columns if each not in COLUMNS]
        if unknown:
            step = f"drop it, or put it into `value`: a record has {', '.join(COLUMNS)}"
            raise SinkError(f"column `{unknown[0]}` would not be written", f"topic {topic}", step)
        named.append(frame.select(*kept, functions.lit(topic).alias("topic")))
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), named)
