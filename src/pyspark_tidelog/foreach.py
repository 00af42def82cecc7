"""Exactly once from `foreachBatch`, for jobs that write a batch to several places.

    def write(batch, batch_id):
        write_exactly_once({"sales": sales(batch), "alerts": alerts(batch)}, batch_id, options)
        archive(batch, batch_id)          # the lake knows batch ids too: a batch that is there is not written again

    orders.writeStream.foreachBatch(write).option("checkpointLocation", ...).start()

The topics of one call become visible together. A batch that Spark tries again, after whatever failed, is found in the
ledger and not written again; its rows are not even computed.
"""

from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING, Final

from pyspark_tidelog.errors import SinkError
from pyspark_tidelog.sink_commit import finish_if_decided
from pyspark_tidelog.sink_options import Guarantee, sink_options
from pyspark_tidelog.speculation import refuse_in_session
from pyspark_tidelog.stream_writer import QUERY_ID

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMAT: Final = "tidelog"
COLUMNS: Final = ("key", "value", "partition", "headers")


def write_exactly_once(
    frames: "DataFrame | Mapping[str, DataFrame]",
    batch_id: int,
    options: Mapping[str, str],
    *,
    query_id: str | None = None,
    name: str = "",
) -> None:
    """`frames`: rows with a column `topic` (or the option), or rows by topic. `query_id`: who writes, the same over
    restarts; in `foreachBatch` Spark knows it, except through Spark Connect. `name`: tells several calls for one batch
    apart."""
    frame = _by_topic(frames) if isinstance(frames, Mapping) else frames
    refuse_in_session(frame.sparkSession)
    query = query_id or _query_id(frame.sparkSession)
    named = {
        **options,
        "deliveryGuarantee": Guarantee.EXACTLY_ONCE.value,
        "exactlyOnceQuery": f"{query}.{name}" if name else query,
        "exactlyOnceBatch": str(batch_id),
    }
    if not finish_if_decided(sink_options(named)):
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


def _query_id(session: "SparkSession") -> str:
    context = getattr(session, "_sc", None)  # a client of Spark Connect has none
    found = None if context is None else context.getLocalProperty(QUERY_ID)
    if found is None:
        what = "it is not known which query writes: Spark says so in foreachBatch only, and not through Spark Connect"
        raise SinkError(what, "", "give write_exactly_once a query_id that is the same over restarts")
    return str(found)
