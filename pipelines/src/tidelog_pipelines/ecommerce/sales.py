"""Total sales: a purchase belongs to its own minute, and to the five running windows that its minute is in."""

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidelog_pipelines.ecommerce.windows import MINUTE_MS, minute_of, window

SALES_5M: Final = "sales_5m"
SALES_PER_MINUTE: Final = "sales_per_minute"
RUNNING_MINUTES: Final = 5


def windows_of_purchase() -> list[Column]:
    minute = minute_of("at")
    starts = [minute - back * MINUTE_MS for back in range(RUNNING_MINUTES)]
    running = [window(SALES_5M, start, RUNNING_MINUTES * MINUTE_MS) for start in starts]
    return [window(SALES_PER_MINUTE, minute, MINUTE_MS), *running]


def sales_totals() -> list[Column]:
    """Return the aggregates of a window's purchases."""
    return [F.count("*").alias("purchases"), F.sum("amount_cents").alias("amount_cents")]


def sales_fields() -> list[Column]:
    """Return the fields of a sales result besides its window."""
    return [F.col("purchases"), F.col("amount_cents")]
