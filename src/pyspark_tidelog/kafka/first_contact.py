"""Tells whether a Spark job connects to its cluster for the first time. Then an address that does not answer is most
likely wrong, and the user is told at once. Later the address is known to be right and the broker is away: a job waits
for it as long as for anything else (`kafka.default.api.timeout.ms`).

A read makes its first contact when it is planned, so its tasks always wait. A write is planned without the cluster:
only the first attempt of its first task counts as first contact. Later attempts of that task wait, and so do all other
tasks: an executor that loses its broker for a moment must not fail the job.

A plan is not told which job it is for: a read inside of `foreachBatch` is planned like any other. But Spark plans in a
process that it uses again, for as long as it is not idle for a minute. So a process remembers which addresses it has
reached, and its later plans wait for those.
"""

from typing import Final

_reached: Final[set[str]] = set()  # bootstrap addresses that have answered this process


def was_reached(bootstrap: str) -> bool:
    """Tell whether a plan of this process has reached the cluster at these addresses before."""
    return bootstrap in _reached


def note_reached(bootstrap: str) -> None:
    """Remember that the cluster at these addresses has answered."""
    _reached.add(bootstrap)


def is_first_contact(batch_id: int | None = None) -> bool:
    """Tell whether this task, or this call on the driver, is the first of its job to connect. `batch_id`: the number of
    the micro-batch, where it is known; a task also gets it from Spark."""
    from pyspark import TaskContext

    context = TaskContext.get()
    if context is None:
        return not batch_id
    from pyspark_tidelog.spark.job_properties import BATCH_ID

    # `foreachBatch` hands the number of the micro-batch to the jobs that it starts.
    batch_id = batch_id or int(context.getLocalProperty(BATCH_ID) or 0)
    return not (batch_id or context.partitionId() or context.attemptNumber())
