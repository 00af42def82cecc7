"""Spark's readers of a stream: one for PySpark 4.2 and later, one for 4.1.

The reader lives in a Python process of its own for as long as the query runs, and so does its connection. Another copy
of it is made for every task, where only `read` is called.

PySpark 4.1 asks for the latest offset without saying where the batch begins. Such a reader cannot limit a batch: with
Trigger.AvailableNow, Spark would take the first limited end for the end of the data and stop there. So 4.1 gets no
limits, and a query that asks for them is refused.

A source must not raise while it makes its stream reader: PySpark would then try to stop the reader that it does not
have, and show that error instead of ours. So wrong options make a reader of their own, `RefusedStreamReader`, which
raises our error as soon as it is asked anything.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from pyspark_tidelog.declared import LONG_MAX
from pyspark_tidelog.errors import OptionError, TidelogError
from pyspark_tidelog.kafka.cluster import ClusterView
from pyspark_tidelog.kafka.offsets import Offsets, OffsetsJson, from_json, to_json
from pyspark_tidelog.source.group_commits import GroupCommits
from pyspark_tidelog.source.options import SourceOptions
from pyspark_tidelog.source.reading import input_partitions, read_partition
from pyspark_tidelog.source.stream_plan import StreamPlan
from pyspark_tidelog.spark.process import hide_traceback, message_first, without_collections
from pyspark_tidelog.spark.worker_socket import PartOfCommand

if TYPE_CHECKING:
    from pyspark.sql.streaming.datasource import ReadLimit


class StreamReader(PartOfCommand, DataSourceStreamReader):
    """What the readers for all versions of PySpark have in common."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._view = ClusterView(options.cluster, read_committed=options.fetch.read_committed)
        self._plan = StreamPlan(options, self._view)
        group_id = options.commit_offsets_to_group
        self._group = None if group_id is None else GroupCommits(options.cluster, group_id)

    def initialOffset(self) -> OffsetsJson:
        with message_first("find where to start"):
            return to_json(self._plan.initial())

    def partitions(self, start: OffsetsJson, end: OffsetsJson) -> Sequence[InputPartition]:
        with message_first("plan a micro-batch"), without_collections():
            return input_partitions(self._plan.tasks(from_json(start), from_json(end)))

    def read(self, partition: InputPartition) -> Iterator[Any]:
        return read_partition(partition)

    def commit(self, end: OffsetsJson) -> None:
        """Note that the batch that ended at `end` is done. Spark says so when it has planned the next one."""
        with message_first("note a finished micro-batch"):
            self._plan.finished(from_json(end))
        if self._group is not None:
            self._group.finished(from_json(end))

    def stop(self) -> None:
        self._view.close()
        if self._group is not None:
            self._group.close()


class LimitingStreamReader(StreamReader):
    """The reader for PySpark 4.2 and later, where micro-batches can be limited."""

    def getDefaultReadLimit(self) -> "ReadLimit":
        """Return the limit that Spark passes to `latestOffset`. Spark has no limit with both a maximum and a minimum;
        the minimum is known to the plan."""
        from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows, ReadMinRows

        if self._options.max_offsets_per_trigger is not None:
            return ReadMaxRows(self._options.max_offsets_per_trigger)
        if self._options.min_offsets_per_trigger is not None:
            return ReadMinRows(self._options.min_offsets_per_trigger)
        if self._options.max_time_per_trigger_ms is not None:
            return ReadMaxRows(LONG_MAX)  # ReadAllAvailable is what Trigger.Once passes, which has no limits
        return ReadAllAvailable()

    def latestOffset(self, start: OffsetsJson, limit: "ReadLimit") -> OffsetsJson:
        """Return the end of the next batch. Spark passes our own limit, or ReadAllAvailable for Trigger.Once."""
        rows = getattr(limit, "max_rows", None)
        may_wait = rows is not None or hasattr(limit, "min_rows")
        self.commit(start)  # Spark asks this when the batch before is done, earlier than it calls `commit` itself
        with message_first("find the end of the next micro-batch"), without_collections():
            return to_json(self._plan.latest(from_json(start), rows=rows, may_wait=may_wait))

    def reportLatestOffset(self) -> OffsetsJson | None:
        """Return where the logs end, whatever the limit, for the query's progress, which shows what is still to be
        read."""
        seen = self._plan.latest_seen
        return None if seen is None else to_json(seen)

    def prepareForTriggerAvailableNow(self) -> None:
        self._plan.prepare_available_now()


class RefusedStreamReader(DataSourceStreamReader):
    """The reader of a query whose options are wrong: it raises the error whenever it is asked anything."""

    def __init__(self, refusal: TidelogError) -> None:
        self._refusal = refusal

    def initialOffset(self) -> OffsetsJson:
        raise self._told()

    def latestOffset(self, *_start_and_limit: object) -> OffsetsJson:
        raise self._told()

    def partitions(self, start: OffsetsJson, end: OffsetsJson) -> Sequence[InputPartition]:  # noqa: ARG002
        raise self._told()

    def read(self, partition: InputPartition) -> Iterator[Any]:  # noqa: ARG002 - never planned
        raise self._told()

    def _told(self) -> TidelogError:
        hide_traceback()
        return self._refusal


class UnlimitedStreamReader(StreamReader):
    """The reader for PySpark 4.1, where micro-batches cannot be limited."""

    def __init__(self, options: SourceOptions) -> None:
        super().__init__(options)
        _refuse_limits(options)
        self._reached: Offsets | None = None  # the end of the last batch: Spark does not say

    def latestOffset(self) -> OffsetsJson:  # type: ignore[override]
        with message_first("find the end of the next micro-batch"):
            start = self._plan.initial() if self._reached is None else self._reached
            return to_json(self._plan.latest(start))

    def partitions(self, start: OffsetsJson, end: OffsetsJson) -> Sequence[InputPartition]:
        """Return the tasks of a batch, and remember its end. After a restart Spark first calls this for an empty batch,
        which tells how far the query had got."""
        planned = super().partitions(start, end)
        self._reached = from_json(end)
        return planned


def _refuse_limits(options: SourceOptions) -> None:
    given = {
        "maxOffsetsPerTrigger": options.max_offsets_per_trigger,
        "minOffsetsPerTrigger": options.min_offsets_per_trigger,
        "maxTimePerTrigger": options.max_time_per_trigger_ms,
    }
    for name, value in given.items():
        if value is not None:
            problem = "PySpark 4.1 does not tell a Python source where a micro-batch begins"
            raise OptionError(name, problem, "use PySpark 4.2 or later, or leave it out")


def stream_reader(options: SourceOptions) -> StreamReader:
    try:
        from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
    except ImportError:
        return UnlimitedStreamReader(options)
    SupportsTriggerAvailableNow.register(LimitingStreamReader)
    return LimitingStreamReader(options)
