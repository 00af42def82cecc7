"""Who is the first of a job to reach for the cluster, and so the one that says at once that nobody is there."""

import pytest
from pyspark import TaskContext

from pyspark_tidelog.kafka.first_contact import is_first_contact
from pyspark_tidelog.spark.job_properties import BATCH_ID


@pytest.mark.parametrize(
    ("task", "attempt", "properties", "batch_id", "is_first"),
    [
        (0, 0, {}, None, True),  # of a batch job
        (0, 0, {BATCH_ID: "0"}, None, True),  # of a new query
        (1, 0, {}, None, False),
        (0, 1, {}, None, False),
        (0, 0, {BATCH_ID: "7"}, None, False),  # a write in foreachBatch has it too
        (0, 0, {}, 7, False),  # write_exactly_once through Spark Connect
    ],
)
def test_in_a_task(task: int, attempt: int, properties: dict[str, str], batch_id: int | None, is_first: bool) -> None:
    context = TaskContext._getOrCreate()
    context._partitionId, context._attemptNumber, context._localProperties = task, attempt, properties
    try:
        assert is_first_contact(batch_id) is is_first
    finally:
        TaskContext._setTaskContext(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(("batch_id", "is_first"), [(None, True), (0, True), (1, False)])
def test_on_the_driver(batch_id: int | None, is_first: bool) -> None:
    assert is_first_contact(batch_id) is is_first
