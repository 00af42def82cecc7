"""Records that a query has yet to read, and that are not there any more: the end of the query, or a line in the log.

`failOnDataLoss` decides, as in Spark's connector. A topic of a thousand partitions that is gone is one line, not a
thousand.
"""

from collections.abc import Sequence

from pyspark_tidelog.errors import DataLoss
from pyspark_tidelog.kafka.retries import LOGGER

SHOWN_MAX = 5


def report(losses: Sequence[DataLoss], *, fails: bool) -> None:
    """Raises the first, or logs some of them."""
    if not losses:
        return
    if fails:
        raise losses[0]
    for loss in losses[:SHOWN_MAX]:
        LOGGER.warning("%s; going on with what is there, because failOnDataLoss is false", loss.what)
    if len(losses) > SHOWN_MAX:
        LOGGER.warning("and %d more partitions that have lost records", len(losses) - SHOWN_MAX)
