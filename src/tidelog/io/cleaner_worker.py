"""A cleaner: the process that compacts, one job after another, as its node tells it on standard input.

    python -m tidelog.io.cleaner_worker <process id of the node>

Between two buffers it rests as long as the I/O limit asks, and looks whether the job is still wanted. When the node
closes the socket, or dies, it ends: at once on Linux, elsewhere at the next buffer. It must not outlive the node, or it
would write into a log directory that another broker has locked by then.
"""

import select
import socket
import time
import traceback

from tidelog.io.files import PosixFileSystem
from tidelog.io.housekeeping_frames import Cancel, FailedAsText, failure_as_text
from tidelog.io.worker import NodeGone, Worker, work_for_node
from tidelog.ports.errors import StorageFault
from tidelog.ports.files import FileSystem
from tidelog.ports.housekeeping import Cancelled, Finished, Stepped, WorkId
from tidelog.storage.cleaner.cleaning import Steps, clean_log
from tidelog.storage.cleaner.job import BytesMoved, CleaningJob
from tidelog.storage.cleaner.throttle import Throttle
from tidelog.storage.errors import LogError

NICENESS = 10  # requests come first
REPORT_MS = 500  # how often it reports, also while it rests: a worker that says nothing is taken to hang


class CalledOff(Exception):
    """The node does not want the job any more."""


class CleanerWorker(Worker):
    def __init__(self, channel: socket.socket, fs: FileSystem) -> None:
        super().__init__(channel)
        self._fs = fs

    def carry_out(self, work: WorkId, job: object) -> Finished | Cancelled | FailedAsText:
        assert isinstance(job, CleaningJob)
        steps = clean_log(self._fs, job)
        try:
            return Finished(work, self._go_through(work, steps, job.settings.io_bytes_per_second))
        except CalledOff:
            return Cancelled(work)
        except (LogError, StorageFault, MemoryError) as error:
            return failure_as_text(work, error)
        except NodeGone:
            raise
        except Exception as bug:  # noqa: BLE001 - the partition is set aside, and the stack is printed
            traceback.print_exc()
            return failure_as_text(work, bug)
        finally:
            steps.close()

    def _go_through(self, work: WorkId, steps: Steps, bytes_per_second: float) -> object:
        throttle, moved, reported_ms = Throttle(bytes_per_second, _now_ms()), BytesMoved(0, 0), _now_ms()
        while True:
            try:
                step = next(steps)
            except StopIteration as end:
                self.send(Stepped(work, moved))
                return end.value
            if not isinstance(step, BytesMoved):
                self.send(Stepped(work, step))
                continue
            moved = BytesMoved(moved.read + step.read, moved.written + step.written)
            now_ms = _now_ms()
            if now_ms - reported_ms >= REPORT_MS:
                self.send(Stepped(work, moved))
                moved, reported_ms = BytesMoved(0, 0), now_ms
            self._rest(work, now_ms + throttle.pause_ms(now_ms, step.read + step.written))

    def _rest(self, work: WorkId, until_ms: int) -> None:
        """Rest, listening to the node and reporting from time to time. CalledOff when the node does not want the job
        any more."""
        while True:
            if Cancel(work) in self.messages:  # the Cancel may have come together with the job
                self.messages.clear()
                raise CalledOff
            left_ms = until_ms - _now_ms()
            if self._hear(min(max(0, left_ms), REPORT_MS)):
                self.receive_some()
            elif left_ms <= REPORT_MS:
                return
            else:
                self.send(Stepped(work, BytesMoved(0, 0)))

    def _hear(self, timeout_ms: int) -> bool:
        return bool(select.select([self.channel], [], [], timeout_ms / 1000)[0])


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000


def main() -> None:
    work_for_node(lambda channel: CleanerWorker(channel, PosixFileSystem()), NICENESS)


if __name__ == "__main__":
    main()
