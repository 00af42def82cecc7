"""Events into results: one aggregation over the windows of all of them, and its rows as records for the sink."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidelog_pipelines.ecommerce import events
from tidelog_pipelines.ecommerce.bots import is_bot
from tidelog_pipelines.ecommerce.sales import (
    SALES_5M,
    SALES_PER_MINUTE,
    sales_fields,
    sales_totals,
    windows_of_purchase,
)
from tidelog_pipelines.ecommerce.views import TOP_VIEWED_PRODUCTS, view_counts, view_fields, windows_of_view
from tidelog_pipelines.ecommerce.windows import iso

RESULTS: Final = (SALES_5M, SALES_PER_MINUTE, TOP_VIEWED_PRODUCTS)


def counted(events_of_records: DataFrame) -> DataFrame:
    """Return every record, its id null unless it is what people viewed or bought: `first_of_each` wants them all."""
    kinds = (events.PRODUCT_VIEWED, events.PURCHASE_COMPLETED)
    event_id = F.when(F.col("kind").isin(*kinds) & ~is_bot(), F.col("event_id"))
    return events_of_records.withColumn("event_id", event_id).drop("user_agent", "dwell_ms")


def in_windows(distinct_events: DataFrame) -> DataFrame:
    """Return a row for each window that an event belongs to."""
    is_view = F.col("kind") == events.PRODUCT_VIEWED
    windows = F.when(is_view, F.array(*windows_of_view())).otherwise(F.array(*windows_of_purchase()))
    return distinct_events.select(F.inline(windows), "timestamp", "product_id", "amount_cents")


def totals(windowed: DataFrame) -> DataFrame:
    """Return a row for each window: in a stream in update mode, for each that has changed."""
    grouped = windowed.groupBy("result", "window_start", "window_end")
    return grouped.agg(*sales_totals(), view_counts(), F.max("timestamp").alias("updated_to"))


def as_records(window_totals: DataFrame, prefix: str) -> DataFrame:
    """Return the totals as records for the sink, keyed by the window's start, so that compaction keeps the last value
    of each."""
    value = F.when(F.col("result") == TOP_VIEWED_PRODUCTS, _json(view_fields())).otherwise(_json(sales_fields()))
    key = F.to_json(F.struct(iso("window_start")))
    topic = F.concat(F.lit(prefix), F.col("result"))
    return window_totals.select(key.alias("key"), value.alias("value"), topic.alias("topic"))


def _json(fields: list[Column]) -> Column:
    return F.to_json(F.struct(iso("window_start"), iso("window_end"), *fields, iso("updated_to")))
