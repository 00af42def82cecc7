"""Housekeeping in processes of their own, each with one job at a time and started when there is a first job for it.

A worker is this program once more (`python -m`), not a fork: it inherits neither sockets nor locks nor memory, only one
end of a socket pair as its standard input. It ends with the node, however that ends: by the end of the socket, and on
Linux at once, by the signal that the kernel sends when its parent dies. What it prints goes to the node's own stderr.

Nothing here waits for a worker. What can not be written to it yet is kept, and written when `events` is called; the
descriptor to watch is that of a selector over all workers, which is readable when any of them can go on.
"""

import os
import selectors
import socket
import sys

import tidelog
from tidelog.io.housekeeping_frames import Begin, Cancel, FailedAsText, FrameDecoder, encode, failure_from_text
from tidelog.ports.errors import TooManyOpenFiles
from tidelog.ports.housekeeping import Cancelled, Event, Failed, Finished, Stepped, WorkId

RECEIVE_BYTES = 1 << 16
STOP_SECONDS = 5  # a worker that is writing has a buffer to finish; after that it is killed
_ENDS = (Finished, Failed, Cancelled)


class WorkerProcess:
    def __init__(self, module: str) -> None:
        """Start the process. OSError where the system has no process or descriptor for it."""
        import subprocess  # many nodes never have a job; the others have imported it before (`deferred_modules`)

        self.socket, theirs = socket.socketpair()
        try:
            with theirs:
                self.process = subprocess.Popen(
                    [sys.executable, "-P", "-m", module, str(os.getpid())],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    env={**os.environ, "PYTHONPATH": _python_path()},
                    start_new_session=True,  # Ctrl-C is for the node, which stops its workers in order
                )
        except OSError:
            self.socket.close()
            raise
        self.socket.setblocking(False)
        self.work: WorkId | None = None
        self.decoder = FrameDecoder()
        self.unsent = bytearray()

    @property
    def wanted(self) -> int:
        return selectors.EVENT_READ | (selectors.EVENT_WRITE if self.unsent else 0)

    def send(self, value: object) -> None:
        self.unsent += encode(value)
        self.flush()

    def flush(self) -> None:
        try:
            while self.unsent:
                del self.unsent[: self.socket.send(self.unsent)]
        except BlockingIOError:
            return
        except OSError:
            self.unsent.clear()  # the process is dead, which reading will show

    def receive(self) -> tuple[list[object], bool]:
        """Return what the worker said, and whether it is still there."""
        values: list[object] = []
        try:
            while data := self.socket.recv(RECEIVE_BYTES):
                values += self.decoder.feed(data)
        except BlockingIOError:
            return values, True
        except OSError:
            return values, False
        return values, False

    def end(self) -> str:
        """Wait for the process, killing it if need be; return how it ended. Its socket is closed, so it has ended or is
        about to."""
        from subprocess import TimeoutExpired

        self.socket.close()
        try:
            status = self.process.wait(0.02)
        except TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        return f"ended by signal {-status}" if status < 0 else f"ended with status {status}"


class WorkerProcesses:
    """The worker processes of one kind. `module` is what a worker runs: see `io.cleaner_worker`. At a stop a worker has
    `stop_seconds` to end by itself."""

    def __init__(self, module: str, stop_seconds: float = STOP_SECONDS) -> None:
        self._module = module
        self._stop_seconds = stop_seconds
        self._selector = selectors.DefaultSelector()
        self._workers: list[WorkerProcess] = []
        self._undelivered: list[Event] = []
        self._next_work = 1

    def begin(self, job: object) -> WorkId:
        work = WorkId(self._next_work)
        self._next_work += 1
        try:
            worker = next((each for each in self._workers if each.work is None), None) or self._start()
        except OSError as error:
            reason = f"no process could be started: {error}"
            self._undelivered.append(Failed(work, reason, TooManyOpenFiles(self._module, reason)))
            return work
        worker.work = work
        self._send(worker, Begin(work, job))
        return work

    def _start(self) -> WorkerProcess:
        worker = WorkerProcess(self._module)
        self._workers.append(worker)
        self._selector.register(worker.socket, worker.wanted, worker)
        return worker

    def _send(self, worker: WorkerProcess, value: object) -> None:
        worker.send(value)
        self._selector.modify(worker.socket, worker.wanted, worker)

    def cancel(self, work: WorkId) -> None:
        for worker in self._workers:
            if worker.work == work:
                self._send(worker, Cancel(work))

    def kill(self, work: WorkId) -> None:
        """Kill the worker of a job, even one that is suspended. `events` notices by the end of its socket."""
        for worker in self._workers:
            if worker.work == work:
                worker.process.kill()

    @property
    def has_events(self) -> bool:
        return bool(self._undelivered)

    def events(self) -> list[Event]:
        events, self._undelivered = self._undelivered, []
        for key, ready in self._selector.select(0):
            worker: WorkerProcess = key.data
            if ready & selectors.EVENT_WRITE:
                worker.flush()
            values, is_there = worker.receive() if ready & selectors.EVENT_READ else ([], True)
            events += [_event(worker, value) for value in values]
            if is_there:
                self._selector.modify(worker.socket, worker.wanted, worker)
            else:
                events += self._bury(worker)
        return events

    def _bury(self, worker: WorkerProcess) -> list[Event]:
        """Remove a worker that has ended; its job has failed. Another worker is started when there is another job."""
        self._workers.remove(worker)
        self._selector.unregister(worker.socket)
        how = worker.end()
        if worker.work is None:
            return []
        return [Failed(worker.work, f"its process {worker.process.pid} {how}", worker_died=True)]

    def fileno(self) -> int:
        return self._selector.fileno()

    @property
    def process_ids(self) -> list[int]:
        return [worker.process.pid for worker in self._workers]

    def stop(self) -> None:
        if self._workers:
            self._end_workers()
        self._selector.close()

    def _end_workers(self) -> None:
        from subprocess import TimeoutExpired

        for worker in self._workers:
            self._selector.unregister(worker.socket)
            worker.socket.close()
        for worker in self._workers:
            try:
                worker.process.wait(self._stop_seconds)
            except TimeoutExpired:
                worker.process.kill()
                worker.process.wait()
        self._workers = []


def _event(worker: WorkerProcess, value: object) -> Event:
    event: object = failure_from_text(value) if isinstance(value, FailedAsText) else value
    if isinstance(event, _ENDS):
        worker.work = None
        return event
    assert isinstance(event, Stepped), f"a worker said {event!r}"
    return event


def _python_path() -> str:
    """Return a PYTHONPATH with which the worker runs the code that its node runs, wherever that was imported from."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(tidelog.__file__)))
    return os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
