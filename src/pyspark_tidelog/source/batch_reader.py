"""Spark's reader of a batch. `partitions` runs once, in a planning worker; `read` runs in the workers of the tasks, on
a pickled copy of the reader.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from pyspark_tidelog.kafka.cluster import ClusterView
from pyspark_tidelog.source.batch_plan import batch_tasks
from pyspark_tidelog.source.options import SourceOptions
from pyspark_tidelog.source.reading import input_partitions, read_partition
from pyspark_tidelog.spark.process import is_pushing_filters, message_first, without_collections
from pyspark_tidelog.spark.worker_socket import PartOfCommand


class BatchReader(PartOfCommand, DataSourceReader):
    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._predicates: tuple[object, ...] = ()

    def partitions(self) -> Sequence[InputPartition]:
        """Return one or more tasks for each partition of a topic that has something to read."""
        with message_first("plan the read"), without_collections():
            view = ClusterView(self._options.cluster, read_committed=self._options.fetch.read_committed)
            try:
                tasks = batch_tasks(self._options, view, self._predicates)
            finally:
                view.close()
        return input_partitions(tasks)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        return read_partition(partition)


class FilteringBatchReader(BatchReader):
    """A reader that takes Spark's filters. It is only used where push-down is switched on: otherwise Spark refuses a
    reader that overrides `pushFilters`."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Keep the filters for the plan, and return them all: they only narrow what is read, so Spark must still apply
        them to the rows."""
        self._predicates = tuple(filters)
        return filters


def batch_reader(options: SourceOptions) -> BatchReader:
    return FilteringBatchReader(options) if is_pushing_filters() else BatchReader(options)
