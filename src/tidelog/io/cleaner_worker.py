"""A cleaner: the process that compacts, one job after another, as its node tells it on standard input.

    python -m tidelog.io.cleaner_worker <process id of the node>

Between two buffers it rests as long as the I/O limit asks, and looks whether the job is still wanted. When the node
closes the socket, or dies, it ends: at once on Linux, elsewhere at the next buffer. It must not outlive the node, or it
would write into a log directory that another broker has locked by then.
"""

import ctypes
import os
import select
import signal
import socket
import sys
import time
import traceback

from tidelog.io.files import PosixFileSystem
from tidelog.io.housekeeping_frames import Begin, Cancel, FailedAsText, FrameDecoder, encode, failure_as_text
from tidelog.ports.errors import StorageFault
from tidelog.ports.files import FileSystem
from tidelog.ports.housekeeping import Cancelled, Finished, Stepped, WorkId
from tidelog.storage.cleaner.cleaning import Steps, clean_log
from tidelog.storage.cleaner.job import BytesMoved, CleaningJob
from tidelog.storage.cleaner.throttle import Throttle
from tidelog.storage.errors import LogError

NICENESS = 10  # requests come first
REPORT_MS = 500  # how often it says how many bytes it has moved
PR_SET_PDEATHSIG = 1  # of prctl(2)
RECEIVE_BYTES = 1 << 16


class NodeGone(Exception):
    """There is nobody left to work for."""


class CalledOff(Exception):
    """The job is not wanted any more."""


class CleanerWorker:
    def __init__(self, channel: socket.socket, fs: FileSystem) -> None:
        self._channel = channel
        self._fs = fs
        self._decoder = FrameDecoder()
        self._messages: list[object] = []

    def run(self) -> None:
        """Until the node is gone."""
        while True:
            message = self._receive()
            if isinstance(message, Begin):
                assert isinstance(message.job, CleaningJob)
                self._send(self._carry_out(message.work, message.job))

    def _carry_out(self, work: WorkId, job: CleaningJob) -> Finished | Cancelled | FailedAsText:
        steps = clean_log(self._fs, job)
        try:
            return Finished(work, self._go_through(work, steps, job.settings.io_bytes_per_second))
        except CalledOff:
            return Cancelled(work)
        except (LogError, StorageFault, MemoryError) as error:
            return failure_as_text(work, error)
        except NodeGone:
            raise
        except Exception as bug:  # noqa: BLE001 - the partition is set aside, and the stack is seen
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
                self._send(Stepped(work, moved))
                return end.value
            if not isinstance(step, BytesMoved):
                self._send(Stepped(work, step))
                continue
            moved = BytesMoved(moved.read + step.read, moved.written + step.written)
            now_ms = _now_ms()
            if now_ms - reported_ms >= REPORT_MS:
                self._send(Stepped(work, moved))
                moved, reported_ms = BytesMoved(0, 0), now_ms
            self._rest(work, now_ms + throttle.pause_ms(now_ms, step.read + step.written))

    def _rest(self, work: WorkId, until_ms: int) -> None:
        """Listening. CalledOff when the node does not want the job any more."""
        while True:
            if Cancel(work) in self._messages:  # it may have come together with the job
                self._messages.clear()
                raise CalledOff
            if not self._hear(max(0, until_ms - _now_ms())):
                return
            self._receive_some()

    def _hear(self, timeout_ms: int) -> bool:
        return bool(select.select([self._channel], [], [], timeout_ms / 1000)[0])

    def _receive(self) -> object:
        while not self._messages:
            self._receive_some()
        return self._messages.pop(0)

    def _receive_some(self) -> None:
        try:
            data = self._channel.recv(RECEIVE_BYTES)
        except ConnectionError as error:
            raise NodeGone from error
        if not data:
            raise NodeGone
        self._messages += self._decoder.feed(data)

    def _send(self, value: object) -> None:
        try:
            self._channel.sendall(encode(value))
        except ConnectionError as error:
            raise NodeGone from error


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000


def end_with_parent(parent: int) -> None:
    """The signal is for a parent that dies from now on; one that was dead before is noticed by its id."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        raise SystemExit(0)


def main() -> None:
    end_with_parent(int(sys.argv[1]))
    os.nice(NICENESS)
    with socket.socket(fileno=os.dup(0)) as channel:
        channel.setblocking(True)
        try:
            CleanerWorker(channel, PosixFileSystem()).run()
        except NodeGone:
            return


if __name__ == "__main__":
    main()
