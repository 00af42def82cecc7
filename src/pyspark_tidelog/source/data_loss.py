"""Reports records that a query has yet to read, and that are gone. They end the query, or are logged, as
`failOnDataLoss` says and as in Spark's connector. A topic of a thousand partitions that is gone takes a few lines of
the log, not a thousand.
"""

from collections.abc import Sequence

from pyspark_tidelog.errors import DataLoss
from pyspark_tidelog.kafka.retries import LOGGER

SHOWN_MAX = 5


def report(losses: Sequence[DataLoss], *, fails: bool) -> None:
    """Raise the first loss where `fails`; otherwise log the first SHOWN_MAX, and how many more there are."""
    if not losses:
        return
    if fails:
        raise losses[0]
    for loss in losses[:SHOWN_MAX]:
        LOGGER.warning("%s; going on with what is there, because failOnDataLoss is false", loss.what)
    if len(losses) > SHOWN_MAX:
        LOGGER.warning("and %d more partitions that have lost records", len(losses) - SHOWN_MAX)
