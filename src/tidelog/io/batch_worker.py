"""A batch worker: the process that prepares produced batches, and searches or inflates stored ones, where that would
take too long for a turn of its node.

    python -m tidelog.io.batch_worker <process id of the node>

It touches no file. A batch that brings it down (the codecs are native code, and a batch is a stranger's) does not bring
the node down.
"""

import traceback

from tidelog.io.housekeeping_frames import FailedAsText, failure_as_text
from tidelog.io.worker import Worker, work_for_node
from tidelog.ports.housekeeping import Finished, WorkId
from tidelog.storage.append.batch_work import BatchJob, do_batch_job

NICENESS = 5  # a client waits for this, but the requests of all others come first


class BatchWorker(Worker):
    def carry_out(self, work: WorkId, job: object) -> Finished | FailedAsText:
        assert isinstance(job, BatchJob)
        try:
            return Finished(work, do_batch_job(job))
        except Exception as bug:  # noqa: BLE001 - the batch is refused, and the stack is printed
            traceback.print_exc()
            return failure_as_text(work, bug)


def main() -> None:
    work_for_node(BatchWorker, NICENESS)


if __name__ == "__main__":
    main()
