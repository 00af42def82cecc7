"""The partition of a read that Spark sends to a worker, and how the worker reads it. Workers are used again for other
tasks and other queries: nothing is kept between two tasks.
"""

import pickle
from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql.datasource import InputPartition

from pyspark_tidelog.source.fetch_task import FetchTask
from pyspark_tidelog.spark.process import keep_what_is_imported, message_first
from pyspark_tidelog.spark.worker_socket import stop_quietly
from tidelog.model.ids import Uuid


class TaskPartition(InputPartition):
    """A task as Spark sends it to a worker. Spark pickles each task by itself. The settings that all tasks of a plan
    share are pickled only once, before: for ten thousand tasks this takes a tenth of a second instead of a third."""

    def __init__(self, task: FetchTask, shared: bytes) -> None:
        super().__init__(task)
        self._shared = shared

    def __reduce__(self) -> tuple[Any, ...]:
        task: FetchTask = self.value
        leader = None if task.leader is None else (task.leader.node.id, task.leader.leader_epoch)
        return _restored, (self._shared, task.topic, task.topic_id, task.partition, task.start, task.end, leader)


def _restored(
    shared: bytes,
    topic: str,
    topic_id: Uuid | None,
    partition: int,
    start: int,
    end: int,
    leader: tuple[int, int] | None,
) -> TaskPartition:
    cluster, fetch, columns, fails, brokers = pickle.loads(shared)
    known = None if leader is None else brokers[leader[0]]._replace(leader_epoch=leader[1])
    return TaskPartition(
        FetchTask(cluster, fetch, topic, topic_id, partition, start, end, columns, fails, known), shared
    )


def input_partitions(tasks: Sequence[FetchTask]) -> list[InputPartition]:
    """Return the tasks of one plan as Spark's partitions. All tasks must have the same settings."""
    shared = b""
    if tasks:
        one = tasks[0]
        brokers = {each.leader.node.id: each.leader for each in tasks if each.leader is not None}
        shared = pickle.dumps((one.cluster, one.fetch, one.columns, one.fail_on_data_loss, brokers))
    return [TaskPartition(task, shared) for task in tasks]


def read_partition(partition: InputPartition | None) -> Iterator[Any]:
    """Yield the Arrow record batches of a task. Where there is nothing to read, Spark makes up a partition with the
    value None (4.1: the partition is None). The modules that read are imported here: processes that plan import this
    module too, and every import delays the start of a query."""
    task: FetchTask | None = None if partition is None else partition.value
    if task is None:
        return
    from pyspark_tidelog.source.record_batches import record_batches

    keep_what_is_imported()
    try:
        with message_first(f"read {task.topic_partition}"):
            yield from record_batches(task)
    finally:
        stop_quietly()
