"""Windows of time, counted out by ourselves: a window is its result, its start and its end.

Spark's `window` knows one length and one slide a query. Here an event is laid into all windows of all results at once,
so that one aggregation, with one state and one micro-batch, serves them all.
"""

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

MINUTE_MS: Final = 60_000


def minute_of(at_ms: str) -> Column:
    """Return the start of a time's minute, in milliseconds (of times before 1970 too)."""
    return F.col(at_ms) - F.pmod(F.col(at_ms), F.lit(MINUTE_MS))


def window(result: str, start_ms: Column, length_ms: int) -> Column:
    start = F.timestamp_millis(start_ms).alias("window_start")
    return F.struct(F.lit(result).alias("result"), start, F.timestamp_millis(start_ms + length_ms).alias("window_end"))


def iso(time: str) -> Column:
    """Return a time as JSON has it, to the millisecond; the session's time zone must be UTC."""
    return F.date_format(time, "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'").alias(time)
