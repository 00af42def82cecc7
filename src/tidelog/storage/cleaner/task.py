"""One cleaning under way, as its broker sees it: a worker that hands over segments, and the log that takes them in.

    working     the worker cleans; what it hands over is swapped in, one after the other, in the order of offsets
    finished    the worker is through; the last swaps are still to come, then the checkpoint
    called off  nothing more is swapped in; over when the worker has ended and a swap that had begun is through

A worker says every half second that it is at work, also while it rests. One that has said nothing for too long hangs
(it was stopped, its disk does not answer, there is a bug), and is killed. It is given ten minutes: the sync of a large
segment to a slow disk, in which it can say nothing, takes a part of that. One that was called off has ten seconds:
nobody wants what it does, and a stop of the broker waits for it.

The cleaned segments that were not swapped in are removed, and so is whatever a worker that died has left.
"""

from collections import deque
from contextlib import suppress
from typing import Final

from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclass import dataclass, field
from tidelog.ports.errors import NotFound
from tidelog.ports.files import Completion, Ticket
from tidelog.ports.housekeeping import WorkId
from tidelog.storage.cleaner.job import CleanedSegment, CleaningJob, CleaningResult
from tidelog.storage.cleaner.swap import remove_all_cleaned
from tidelog.storage.directories.log_directory import LogDirectory
from tidelog.storage.log.log import Log
from tidelog.storage.log.swap import LogSwap, SwapFault, is_durable, is_wanted

SILENCE_MS_MAX: Final = 600_000
SILENCE_MS_MAX_CALLED_OFF: Final = 10_000


@dataclass(slots=True)
class CleaningTask:
    log: Log
    directory: LogDirectory
    job: CleaningJob
    work: WorkId
    began_ms: int
    ready: deque[CleanedSegment] = field(default_factory=deque)
    swap: LogSwap | None = None
    ticket: Ticket | None = None  # of the sync that the swap waits for
    result: CleaningResult | None = None
    worker_ended: bool = False
    is_called_off: bool = False
    silence_ms: int = 0  # since its worker said something
    is_killed: bool = False  # for its silence

    @property
    def is_silent(self) -> bool:
        """Tell whether the worker is to be killed: it has said nothing for too long."""
        patience_ms = SILENCE_MS_MAX_CALLED_OFF if self.is_called_off else SILENCE_MS_MAX
        return not self.worker_ended and not self.is_killed and self.silence_ms >= patience_ms

    @property
    def partition(self) -> TopicPartition:
        return self.log.topic_partition

    @property
    def is_current(self) -> bool:
        """Tell whether the log is still the one that the job was made for, and is still to be compacted."""
        return (
            self.log.generation == self.job.generation
            and self.log.config.compacts
            and self.directory.is_online
            and self.directory.logs.get(self.partition) is self.log
        )

    @property
    def is_swapping(self) -> bool:
        return self.ticket is not None

    @property
    def is_complete(self) -> bool:
        """Tell whether every segment is swapped in: the log is clean up to the end offset of the result."""
        return self.result is not None and not self.ready and not self.is_swapping and not self.is_called_off

    @property
    def is_over(self) -> bool:
        return self.worker_ended and not self.is_swapping and (self.is_called_off or self.is_complete)

    def swap_next(self, now_ms: int) -> bool:
        """Begin to swap in the next segment; False when the log does not want it any more. Raises SwapFault when the
        directory is lost."""
        cleaned = self.ready.popleft()
        if not is_wanted(self.log, self.job.generation, cleaned.replaced) or not is_durable(self.log, cleaned.replaced):
            return False
        self.swap = LogSwap(self.log, cleaned.base_offset, cleaned.replaced, now_ms)
        self.ticket = self.swap.begin()
        return True

    def proceed(self, completion: Completion) -> None:
        """Go on after the sync that the swap waited for. A failed sync does not matter where the log is gone anyway."""
        assert self.swap is not None
        self.ticket = None
        if completion.fault is not None and not self.swap.is_orphan:
            raise SwapFault(self.job.directory, f"in the middle of a swap: {completion.fault}")
        self.ticket = self.swap.proceed()

    def remove_left_overs(self) -> None:
        """Remove the segments that were not swapped in, once the worker has ended. The directory may be gone
        meanwhile."""
        self.ready.clear()
        with suppress(NotFound):
            remove_all_cleaned(self.log.descriptors, self.job.directory)
