"""One move of a log between two log directories, as a machine; `moves` has all moves, and their contract.

    COPYING    -> COMMITTED    the copy is level, and durable as far as the original is:
                               original renamed to `<topic>-<p>.<unique>-delete`; the copy is the log from here on
    COMMITTED  -> PROMOTED     that rename is durable: the copy loses its `-future`
    PROMOTED   -> (over)       that is durable too: the original may be deleted

The one rename of the original decides. It carries the unique part of the copy's own name, so that a start finds
`<p>.<unique>-delete` in one directory and `<p>.<unique>-future` in another, and knows that the copy is the log; without
the first, the copy is only a copy. At no moment are there two directories with the partition's plain name, whatever a
power loss keeps of the renames: the second is made only when the first is durable.

A disk without room for a name is no reason to end any of this. The original keeps its own and goes on until there is
room: it can not go in place, as a deleted log does, because only its new name says that the copy is the log. The copy
goes by its `-future` name meanwhile, as it does between the two renames. One that is not wanted goes in place.

Appends go on all the time. Between the two renames they go to the copy, and no flush of it begins: were the first
rename lost, so would be what came after it, and that may only be what nobody called durable.
"""

from collections.abc import Callable
from enum import Enum

from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclass import dataclass
from tidelog.ports.errors import StorageFault
from tidelog.ports.paths import join
from tidelog.storage.checkpoints.partition_metadata import PARTITION_METADATA
from tidelog.storage.checkpoints.small_files import remove_if_present
from tidelog.storage.directories.future_log import is_level, take_over
from tidelog.storage.directories.log_directory import LogDirectory
from tidelog.storage.directories.operations import GIVE_WAY, PAUSE, Operation, Steps
from tidelog.storage.log.flush import Begun
from tidelog.storage.log.group_commit import survives
from tidelog.storage.log.log import Log
from tidelog.storage.log.truncation import Cut
from tidelog.storage.names import DirectoryState, marked_directory, partition_directory

Note = Callable[[LogDirectory, StorageFault], None]  # called with a shortage after which the step is tried again


class MoveState(Enum):
    COPYING = "copying"
    COMMITTED = "committed"
    PROMOTED = "promoted"


@dataclass(slots=True)
class Move:
    partition: TopicPartition
    source: LogDirectory
    target: LogDirectory
    current: Log  # the original
    unique: str
    cleaned_to: int | None  # the original's cleaner offset when the copying began
    future: Log | None = None  # None: not made yet
    state: MoveState = MoveState.COPYING
    operation: Operation | None = None  # what the move waits for
    cut: Cut | None = None  # the cut of the copy that `operation` carries out, if that is what it does
    is_warm: bool = False  # the slice to be copied next is in the page cache
    is_checkpointed: bool = False  # the copy's offsets were written down after it was level once
    retry_ms: int = 0  # when to go on after the disk was full

    @property
    def lag(self) -> int:
        start = self.current.log_start_offset if self.future is None else self.future.log_end_offset
        return max(0, self.current.log_end_offset - start)

    @property
    def is_busy(self) -> bool:
        return self.operation is not None and not self.operation.is_done

    @property
    def is_level(self) -> bool:
        return self.future is not None and is_level(self.current, self.future)

    @property
    def needs_flush(self) -> bool:
        """Tell whether the original is durable where the copy is not: records, epochs, or the copy's own name."""
        assert self.future is not None
        flush = self.future.flush
        is_behind = flush.recovery_point < self.current.flush.recovery_point
        return is_behind or bool(flush.unsynced_names) or bool(flush.unsynced_files) or self.future.epochs.is_dirty

    @property
    def needs_checkpoint(self) -> bool:
        """Tell whether a crash would bring back records in the copy that stay deleted in the original."""
        start = min(self.source.durable_log_start(self.partition), self.current.log_start_offset)
        return not self.is_checkpointed or self.target.durable_log_start(self.partition) < start

    def checkpointing(self) -> Steps:
        yield from self.target.checkpoint()
        self.is_checkpointed = True

    @property
    def _deleted_name(self) -> str:
        return marked_directory(*self.partition, self.unique, DirectoryState.DELETE)

    def commit(self) -> None:
        """Give the original its new name, which `LogMoves._completion` makes durable. A fault is of the source; with
        one that passes by itself nothing has happened."""
        future = self.future
        assert future is not None
        assert self.is_level
        path = join(self.source.path, self._deleted_name)
        self.current.descriptors.drop_under(self.current.directory)
        self.current.fs.rename(self.current.directory, path)
        self.state = MoveState.COMMITTED
        take_over(self.current, future)
        self.current.directory_renamed(path)
        self.source.moved_away[self.partition] = None  # its offsets stay as they are: it may come back
        del self.source.logs[self.partition], self.target.futures[self.partition]
        self.target.logs[self.partition] = future
        future.flush.begun = Begun(0, 0)  # while one is under way no other begins

    @property
    def is_in_use(self) -> bool:
        """Tell whether the copy is the log: it is neither deleted nor offline."""
        return self.target.is_online and self.target.logs.get(self.partition) is self.future

    def promote(self, note: Note) -> Steps:
        """Give the copy the plain name; ends when that is durable. A fault is of the target."""
        future = self.future
        assert future is not None
        held_by = future.flush.begun  # by `commit`
        while self.is_in_use and self.state is MoveState.COMMITTED:
            # What is on its way to the disk goes by the old name.
            if future.is_unsettled:
                yield GIVE_WAY
            elif future.swap is not None:
                yield from future.swap.take_over()
            elif future.flush.begun is not held_by:
                yield PAUSE  # a flush that was begun since there was no room
            elif self._is_renamed(future, note):
                self.state = MoveState.PROMOTED
            else:
                held_by = future.flush.begun = None  # the original's new name is durable: so may be what follows it
                yield PAUSE
        future.flush.begun = None
        if self.state is MoveState.PROMOTED:
            future.flush.ask(future)
            yield [future.fs.begin_sync_directory(self.target.path)]

    def _is_renamed(self, future: Log, note: Note) -> bool:
        path = join(self.target.path, partition_directory(*self.partition))
        try:
            future.descriptors.drop_under(future.directory)
            future.fs.rename(future.directory, path)
        except StorageFault as fault:
            if not survives(fault):
                raise
            note(self.target, fault)
            return False
        future.directory_renamed(path)
        return True

    def discard(self, future: Log, note: Note) -> Steps:
        """Give the copy, which is not wanted, the name of a deleted directory. Where there is no room for that it keeps
        its own, but loses its topic id and is nobody's copy from then on: were the move to go on after a power loss,
        half of its files might be gone. A fault is of the target."""
        path = join(self.target.path, self._deleted_name)
        while self.target.is_online:
            try:
                future.descriptors.drop_under(future.directory)
                try:
                    future.fs.rename(future.directory, path)
                except StorageFault as fault:
                    if not survives(fault):
                        raise
                    note(self.target, fault)
                    remove_if_present(future.fs, join(future.directory, PARTITION_METADATA))
                    yield [future.fs.begin_sync_directory(future.directory)]
                else:
                    future.directory_renamed(path)
                return
            except StorageFault as fault:
                if not survives(fault):
                    raise
            yield PAUSE

    def take_leave(self) -> Steps:
        """Remove the log from the source's checkpoints, because it is durably gone from there."""
        self.source.moved_away.pop(self.partition, None)
        yield from self.source.forget([self.partition])

    def hand_over_cleaned(self) -> Steps:
        """Write down for the copy how far it is clean: as far as the original was when the copying began, unless that
        was truncated since."""
        left = self.source.cleaner_offsets.get(self.partition)
        if self.cleaned_to is not None and left is not None and self.is_in_use:
            cleaned_to = min(self.cleaned_to, left)
            yield from self.target.cleaner_offsets.begin_put(self.partition, cleaned_to, self.target.logs)
