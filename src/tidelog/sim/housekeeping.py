"""Housekeeping in the simulation: the jobs are generators, and chance says which of them takes its next step.

    housekeeping = SimHousekeeping(fs, seed, clean_log)
    housekeeping.step()        one step of one of the jobs
    housekeeping.kill(work)    its worker dies on the spot, and leaves its files as they are
    housekeeping.refusals = 5  no worker can be started for the next five jobs

A worker sees the disks through a FileSystem of its own, which fails for good once the worker, the process or the
machine is dead. So what a generator does on its way out (clearing up) does not happen after a death, as it would not.
"""

from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Any

from tidelog.ports.errors import HandleClosed, StorageFault, TooManyOpenFiles
from tidelog.ports.housekeeping import NOT_WATCHABLE, Cancelled, Event, Failed, Finished, Stepped, WorkId
from tidelog.sim.entropy import stream
from tidelog.sim.files import SimFileSystem

JobSteps = Generator[object, None, object]
Run = Callable[[Any, Any], JobSteps]  # the FileSystem of the worker, and the job


class WorkerFiles:
    """The file system of a worker, which works as long as the worker lives."""

    def __init__(self, fs: SimFileSystem) -> None:
        self._fs = fs
        self._process = fs.process
        self.is_dead = False

    def __getattr__(self, name: str) -> Any:
        if self.is_dead or self._fs.process != self._process:
            raise HandleClosed(name)
        return getattr(self._fs, name)


class _Worker:
    def __init__(self, files: WorkerFiles, steps: JobSteps) -> None:
        self.files = files
        self.steps = steps
        self.is_cancelled = False


class SimHousekeeping:
    def __init__(self, fs: SimFileSystem, seed: int, run: Run) -> None:
        self._fs = fs
        self._random = stream(seed, f"{fs.owner}/housekeeping")
        self._run = run
        self._workers: dict[WorkId, _Worker] = {}
        self._events: list[Event] = []
        self._undelivered: list[Event] = []  # of jobs for which no worker could be started
        self._next_work = 1
        self.refusals = 0

    # The simulation's side

    @property
    def is_readable(self) -> bool:
        """Tell whether `fileno`, were there one, would be readable: a worker has said something."""
        return bool(self._events)

    @property
    def under_way(self) -> list[WorkId]:
        return list(self._workers)

    def step(self) -> bool:
        """Let one job, picked by chance, take its next step; return whether there was one."""
        if not self._workers:
            return False
        self._step(self._random.choice(list(self._workers)))
        return True

    def _step(self, work: WorkId) -> None:
        worker = self._workers[work]
        if worker.is_cancelled:
            self._end(work, Cancelled(work))
            worker.steps.close()
            return
        try:
            said = next(worker.steps)
            if said is not None:
                self._events.append(Stepped(work, said))
        except StopIteration as end:
            self._end(work, Finished(work, end.value))
        except StorageFault as fault:
            self._end(work, Failed(work, str(fault), fault))
        except HandleClosed:
            raise
        except Exception as error:  # noqa: BLE001 - as a real worker answers
            self._end(work, Failed(work, f"{type(error).__name__}: {error}"))

    def _end(self, work: WorkId, event: Event) -> None:
        del self._workers[work]
        self._events.append(event)

    def kill(self, work: WorkId) -> None:
        if work not in self._workers:
            return
        self._workers[work].files.is_dead = True
        self._bury(work)
        self._events.append(Failed(work, "its simulated process was killed", worker_died=True))

    def _bury(self, work: WorkId) -> None:
        with suppress(HandleClosed):
            self._workers.pop(work).steps.close()

    # The port

    def begin(self, job: object) -> WorkId:
        work = WorkId(self._next_work)
        self._next_work += 1
        if self.refusals:
            self.refusals -= 1
            self._undelivered.append(Failed(work, "no process", TooManyOpenFiles("worker", "no process")))
            return work
        files = WorkerFiles(self._fs)
        self._workers[work] = _Worker(files, self._run(files, job))
        return work

    def cancel(self, work: WorkId) -> None:
        if work in self._workers:
            self._workers[work].is_cancelled = True

    @property
    def has_events(self) -> bool:
        return bool(self._undelivered)

    def events(self) -> list[Event]:
        events = self._undelivered + self._events
        self._undelivered, self._events = [], []
        return events

    def fileno(self) -> int:
        return NOT_WATCHABLE

    def stop(self) -> None:
        for work in self.under_way:
            self._bury(work)
