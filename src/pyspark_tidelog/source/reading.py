"""What a task's worker is sent, and what it does. Workers are used again for other tasks and other queries: nothing is
kept between two.
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
    """Spark pickles each by itself. What all tasks of a plan share is pickled once, before: for ten thousand tasks that
    is the difference between a third of a second and a tenth of it."""

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
    """Of one plan: their settings are the same."""
    shared = b""
    if tasks:
        one = tasks[0]
        brokers = {each.leader.node.id: each.leader for each in tasks if each.leader is not None}
        shared = pickle.dumps((one.cluster, one.fetch, one.columns, one.fail_on_data_loss, brokers))
    return [TaskPartition(task, shared) for task in tasks]


def read_partition(partition: InputPartition | None) -> Iterator[Any]:
    """Arrow record batches. Where there is nothing to read, Spark makes up a partition of None (4.1: it is None). What
    reads them is imported here: the processes that plan come this far too, and a query starts the later for all that
    they import."""
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
