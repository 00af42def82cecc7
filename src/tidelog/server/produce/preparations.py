"""The batches that worker processes beside the loop prepare, search or inflate, and those that wait for a worker.

    begin -> waiting -> under way -> `done` with what became of it
                ^           |
                '-----------'   the worker died (once more, then refused), or none could be started (after a pause)

A worker that does not answer in time (it was stopped, or its codec hangs) is killed, and has died like any other.

Few workers, because they are for what is rare: each request has one batch here at a time, so that a request with a
thousand of them, or a client with many, does not stand before everybody else's first.
"""

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tidelog.model.errors import ErrorCode
from tidelog.model.lazy_dataclass import dataclass
from tidelog.ports.errors import TooManyOpenFiles
from tidelog.ports.housekeeping import Event, Failed, Finished, Housekeeping, WorkId
from tidelog.storage.append.batch_pieces import BatchPiece
from tidelog.storage.append.batch_times import TimeAnswer
from tidelog.storage.append.batch_work import BatchJob, BatchResult
from tidelog.storage.append.outcome import Refused
from tidelog.storage.append.preparation import Prepared, Unprepared, refusal

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

WORKERS_MAX: Final = 2
TRIES_MAX: Final = 2
PAUSE_MS: Final = 100
# How long a worker may take. The slowest codec, at its highest level and on a slow machine, needs a small part of it:
# the batch of a megabyte that takes 0.7 s here has 70.
WORK_MS: Final = 60_000
WORK_BYTES_PER_MS: Final = 100  # a large batch gets a further millisecond for each of these

Outcome = Prepared | TimeAnswer | BatchPiece | Refused


@dataclass(eq=False, slots=True)
class Preparation:
    """One batch and who waits for it."""

    job: BatchJob
    done: Callable[[Outcome], None]
    tries: int = 0
    patience: "Patience | None" = None  # while it is under way


class Pause:
    """The pause before another try, in the purgatory, while no worker can be started."""

    def __init__(self, preparations: "Preparations") -> None:
        self._preparations = preparations
        self.is_done = False

    def is_abandoned(self) -> bool:
        return False

    def expire(self) -> None:
        self.is_done = True
        self._preparations.go_on()


class Patience:
    """The time limit of a worker that is busy with a batch, in the purgatory. When it expires the worker is killed."""

    def __init__(self, workers: Housekeeping, work: WorkId) -> None:
        self._workers = workers
        self._work = work
        self.is_done = False

    def is_abandoned(self) -> bool:
        return False

    def expire(self) -> None:
        self.is_done = True
        self._workers.kill(self._work)


class Preparations:
    """All batches that wait for workers or are with one: `broker.preparations`."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._workers: Housekeeping | None = None
        self._waiting: deque[Preparation] = deque()
        self._under_way: dict[WorkId, Preparation] = {}
        self._pause: Pause | None = None

    def employ(self, workers: Housekeeping | None) -> None:
        """Take the workers to use. Without any, every batch is prepared within its turn."""
        self._workers = workers

    @property
    def has_workers(self) -> bool:
        return self._workers is not None

    @property
    def is_busy(self) -> bool:
        """Tell whether workers have batches, and so may have results."""
        return bool(self._under_way)

    @property
    def has_news(self) -> bool:
        """Tell whether results can be collected for which the loop was not woken."""
        return bool(self._under_way) and self._workers is not None and self._workers.has_events

    def __len__(self) -> int:
        return len(self._waiting) + len(self._under_way)

    def begin(self, job: BatchJob, done: Callable[[Outcome], None]) -> None:
        """Queue a batch. `done` gets the outcome in a later turn, unless the broker stops before."""
        self._waiting.append(Preparation(job, done))
        if self._pause is None:
            self._start_waiting()

    def go_on(self) -> None:
        self._pause = None
        self._start_waiting()

    def _start_waiting(self) -> None:
        workers = self._workers
        while workers is not None and self._waiting and len(self._under_way) < WORKERS_MAX:
            preparation = self._waiting.popleft()
            preparation.tries += 1
            work = workers.begin(preparation.job)
            self._under_way[work] = preparation
            preparation.patience = Patience(workers, work)
            work_ms = WORK_MS + len(preparation.job.batch) // WORK_BYTES_PER_MS
            self._broker.purgatory.add(preparation.patience, self._broker.turn.monotonic_ms + work_ms)

    def collect(self) -> None:
        """Hand out what the workers have finished since the last turn, and give them the next batches."""
        assert self._workers is not None
        for event in self._workers.events():
            self._hear(event)
        if self._pause is None:
            self._start_waiting()

    def _hear(self, event: Event) -> None:
        if isinstance(event, Finished):
            result = event.result
            assert isinstance(result, BatchResult)
            self._ended(event.work).done(refusal(result) if isinstance(result, Unprepared) else result)
        elif isinstance(event, Failed):
            self._failed(self._ended(event.work), event)

    def _ended(self, work: WorkId) -> Preparation:
        preparation = self._under_way.pop(work)
        if preparation.patience is not None:
            preparation.patience.is_done = True
        return preparation

    def _failed(self, preparation: Preparation, event: Failed) -> None:
        if isinstance(event.fault, TooManyOpenFiles):
            preparation.tries -= 1
            self._waiting.appendleft(preparation)
            self._rest()
        elif event.worker_died and preparation.tries < TRIES_MAX:
            self._waiting.appendleft(preparation)
        else:
            self._broker.events.preparation_failed(event.reason)
            preparation.done(Refused(ErrorCode.UNKNOWN_SERVER_ERROR, "the batch could not be read; the log says why"))

    def _rest(self) -> None:
        if self._pause is None:
            self._pause = Pause(self)
            self._broker.purgatory.add(self._pause, self._broker.turn.monotonic_ms + PAUSE_MS)

    def stop(self) -> None:
        """End the workers. No batch that is still under way will be appended, and nobody was told that it is."""
        if self._workers is not None:
            self._workers.stop()
        self._workers = None
        self._waiting.clear()
        for work in list(self._under_way):
            self._ended(work)
