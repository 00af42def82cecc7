"""Who is no shopper: programs that say so, and programs that are too quick. They are not counted, nor dead letters."""

from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidelog_pipelines.ecommerce import events


def is_bot() -> Column:
    """Return the condition that a row, by its `kind`, `user_agent` and `dwell_ms`, comes from a program."""
    said = F.lower("user_agent")
    says_so = reduce(Column.__or__, (said.contains(word) for word in events.BOT_WORDS))
    is_too_quick = (F.col("kind") == events.PRODUCT_VIEWED) & (F.col("dwell_ms") < events.HUMAN_DWELL_MS_MIN)
    return says_so | is_too_quick
