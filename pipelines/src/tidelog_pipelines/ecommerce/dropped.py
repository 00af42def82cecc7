"""Rows that Spark's watermark dropped: missing in the results, so a batch that lost some is an error in the log, once.

There should be none. What is late or from the future is a dead letter by its own time and its record's, partitions work
off a backlog side by side, and the watermark is far behind. What is dropped all the same shows in the progress of its
batch and nowhere else.
"""

import logging
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

LOG: Final = logging.getLogger("tidelog_pipelines")


class DroppedRows:
    """The count of the rows that one query has dropped since it was started."""

    def __init__(self, query: "StreamingQuery") -> None:
        self._query = query
        self._batch_seen: int | None = None
        self._batch_told: int | None = None
        self._rows = 0

    def follow(self) -> None:
        """Add up what the batches since the last call have dropped. Call it often: the last progress is cheap to ask
        for, that of all batches is asked for only when several have passed since."""
        progress = self._query.lastProgress
        if progress is None:
            return
        is_next = self._batch_seen is not None and progress["batchId"] <= self._batch_seen + 1
        for each in [progress] if is_next else self._query.recentProgress:
            self._add(each)

    def total(self) -> int:
        """Add up the batches that are left, of a query that has ended, and return all rows that it dropped."""
        for each in self._query.recentProgress:
            self._add(each)
        return self._rows

    def _add(self, progress: Any) -> None:
        batch = progress["batchId"]
        if "addBatch" in progress["durationMs"]:  # else it tells that there was nothing to do
            self._batch_seen = batch
        rows = sum(each["numRowsDroppedByWatermark"] for each in progress["stateOperators"])
        if rows and (self._batch_told is None or batch > self._batch_told):
            self._batch_told = batch
            self._rows += rows
            text = "query %s, batch %s: %s rows were too far behind the watermark, and are not counted"
            LOG.error(text, self._query.name, batch, rows)
