"""The products that were viewed most, by the minute.

Which products are on top depends on all products of the minute, also on those that were not viewed since, and in update
mode Spark hands on only what has changed. So the whole minute is one value of the state: Spark's frequent-items sketch,
which counts exactly as long as it has room for every product. All of its items are taken out, and ordered here: of
products that are viewed equally often the first by name comes first, which the sketch does not promise.
"""

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidelog_pipelines.ecommerce import events
from tidelog_pipelines.ecommerce.windows import MINUTE_MS, minute_of, window

TOP_VIEWED_PRODUCTS: Final = "top_viewed_products"
# Different products a minute that are counted exactly: the sketch begins to estimate at three quarters of its capacity.
PRODUCTS_MAX: Final = 48_000
_SKETCH_CAPACITY: Final = 65_536


def windows_of_view() -> list[Column]:
    return [window(TOP_VIEWED_PRODUCTS, minute_of("at"), MINUTE_MS)]


def view_counts() -> Column:
    """Return the aggregate of a window's events: every product with its views."""
    return F.expr(f"approx_top_k(product_id, {PRODUCTS_MAX}, {_SKETCH_CAPACITY})").alias("product_views")


def view_fields() -> list[Column]:
    """Return the fields of the result besides its window."""
    ordered = F.sort_array(F.transform("product_views", _by_views_then_name))
    return [F.transform(F.slice(ordered, 1, events.TOP_PRODUCTS), _as_said).alias("top")]


def _by_views_then_name(each: Column) -> Column:
    return F.struct((-each["count"]).alias("views"), each["item"].alias("product_id"))


def _as_said(each: Column) -> Column:
    return F.struct(each["product_id"].alias("product_id"), (-each["views"]).alias("views"))
