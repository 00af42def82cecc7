"""The log's side of a compaction: a cleaned segment takes the place of those it was made from (`cleaner.swap`).

    begin      .cleaned -> .swap             readers still have the old segments
    proceed    the others -> .deleted        committed: readers have the new one, under its `.swap` names
    proceed    .swap -> no suffix            over the files of the first of the old ones
    proceed    done

Between two steps the directory is synced, off the loop, and the log goes on appending and reading. From the first
rename on there is no safe way back, only forward: what else would change closed segments completes the swap first.
The cleaner drives a swap (`begin`, `proceed`) until somebody can not go on without its end: a truncation takes it over
(`take_over`) and drives it itself, so that it ends whatever becomes of the cleaner; closing finishes it at once
(`finish`). A log that is deleted meanwhile takes its half-done swap with it.

The cleaning read closed segments while the log went on. If the log was truncated, had records deleted or was moved
meanwhile, its generation says so, and what was cleaned is thrown away (`is_wanted`).
"""

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager

from tidelog.ports.errors import DeviceFault, DiskFull, NotFound, StorageFault
from tidelog.ports.files import Ticket
from tidelog.storage.cleaner.swap import commit_swap, remove_cleaned, retire_replaced
from tidelog.storage.directories.operations import Steps
from tidelog.storage.log.log import Log
from tidelog.storage.names import DELETED_SUFFIX, NO_SUFFIX, SWAP_SUFFIX
from tidelog.storage.segment.deleted_segments import DeletedSegment
from tidelog.storage.segment.segment import Segment
from tidelog.storage.segment.settings import index_settings


def swap_in(log: Log, generation: int, base_offset: int, replaced: Sequence[int], now_ms: int) -> bool:
    """Swap the `.cleaned` files at `base_offset` in for the segments that begin at the offsets in `replaced`, waiting
    for the disk; False, and the files are removed, where the log does not want them any more."""
    if not is_wanted(log, generation, replaced):
        remove_cleaned(log.descriptors, log.directory, base_offset)
        return False
    LogSwap(log, base_offset, replaced, now_ms).finish()
    return True


def is_wanted(log: Log, generation: int, replaced: Sequence[int]) -> bool:
    """Tell whether the log still has what was cleaned: in the same generation, next to each other, all of them
    closed."""
    bases = log.segments.base_offsets
    first = log.segments.index_of(replaced[0])
    return generation == log.generation and list(bases[first:-1][: len(replaced)]) == list(replaced)


def is_durable(log: Log, replaced: Sequence[int]) -> bool:
    """Tell whether what is to be replaced lies below the recovery point. Recovery takes gaps between offsets for damage
    in a log that is not compacted (any more), and a hole between segments in any log; but only past the recovery
    point."""
    return log.segments.end_of(log.segments.index_of(replaced[-1]), log.log_end_offset) <= log.flush.recovery_point


class SwapFault(DeviceFault):
    """The fault of a swap that had begun and can not go on: the files are halfway between old and new, and only a
    restart completes them. Renames that lack room do not raise it (`retire_replaced`); the other names become
    shorter."""


@contextmanager
def _committed(directory: str) -> Iterator[None]:
    try:
        yield
    except StorageFault as fault:
        raise SwapFault(directory, f"in the middle of a swap: {fault}") from fault


class LogSwap:
    __slots__ = (
        "_base_offset",
        "_directory",
        "_log",
        "_now_ms",
        "_replaced",
        "_steps",
        "has_begun",
        "is_done",
        "is_taken_over",
    )

    def __init__(self, log: Log, base_offset: int, replaced: Sequence[int], now_ms: int) -> None:
        """Nothing happens yet. `is_wanted` must have been asked, in the same turn as `begin` or `finish`."""
        assert log.swap is None, "one swap at a time"
        self._log = log
        self._directory = log.directory
        self._base_offset = base_offset
        self._replaced = replaced
        self._now_ms = now_ms
        self._steps = self._run()
        self.has_begun = False
        self.is_taken_over = False
        self.is_done = False

    def begin(self) -> Ticket:
        """Take the first step; call `proceed` when the sync that is returned has completed."""
        self._log.swap = self
        with _committed(self._directory):
            next(self._steps)
            self.has_begun = True
            return self._log.fs.begin_sync_directory(self._directory)

    def proceed(self) -> Ticket | None:
        """Go on after the sync has completed; return the next one, or None when there is nothing more to do here."""
        if self.is_taken_over:
            return None
        if self.is_done or self.is_orphan:
            self._end()
            return None
        with _committed(self._directory):
            if self._step():
                return self._log.fs.begin_sync_directory(self._directory)
        self._end()
        return None

    def take_over(self) -> Steps:
        """Do all that is left, off the loop; whoever drove the swap until now has no more to do with it. Begins with a
        sync of its own: syncs of a directory complete in the order in which they were begun, so the other's is over,
        too."""
        self.is_taken_over = True
        with _committed(self._directory):
            yield [self._log.fs.begin_sync_directory(self._directory)]
            while not self.is_orphan and self._step():
                yield [self._log.fs.begin_sync_directory(self._directory)]
        self._end()

    def finish(self) -> None:
        """Do all that is left, waiting for the disk."""
        fs = self._log.fs
        self._log.swap = self
        with _committed(self._directory):
            if self.has_begun:
                fs.sync_directory(self._directory)
            for _ in self._steps:
                fs.sync_directory(self._directory)
        self._end()

    @property
    def is_orphan(self) -> bool:
        """Tell whether the log has been deleted, or moved: its directory has another name."""
        return self._log.directory != self._directory

    def _step(self) -> bool:
        """Take the next step and tell whether there was one; a sync is due then."""
        for _ in self._steps:
            return True
        return False

    def _end(self) -> None:
        self.is_done = True
        self._log.swap = None

    def _run(self) -> Generator[None, None, None]:
        """Take the steps; each yield asks for a sync of the directory."""
        log = self._log
        commit_swap(log.descriptors, self._directory, self._base_offset)
        yield
        retire_replaced(log.descriptors, self._directory, self._base_offset, self._replaced)
        new = self._replace_in_memory()
        yield
        new.change_suffix(NO_SUFFIX)
        yield

    def _replace_in_memory(self) -> Segment:
        log = self._log
        for offset in self._replaced:
            log.segments.remove(log.segments.holding(offset))
            if offset != self._base_offset:
                self._retire(offset)
        new = self._open(self._base_offset, SWAP_SUFFIX)
        log.segments.add(new)
        return new

    def _retire(self, offset: int) -> None:
        """Have a replaced segment under its `.deleted` name removed after its delay. Where there was no room for that
        name, the files are gone already."""
        log, snapshot_path = self._log, None
        try:
            old = self._open(offset, DELETED_SUFFIX)
            snapshot_path = log.snapshots.mark_deleted(offset)
        except (NotFound, DiskFull) as fault:
            log.snapshots.remove(offset)
            if isinstance(fault, NotFound):
                return
        log.deleted.append(DeletedSegment(self._now_ms + log.config.file_delete_delay_ms, old, snapshot_path))

    def _open(self, base_offset: int, suffix: str) -> Segment:
        log = self._log
        return Segment.open(
            log.descriptors, self._directory, base_offset, index_settings(log.config), self._now_ms, suffix
        )
