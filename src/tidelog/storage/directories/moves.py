"""Moves of logs between the log directories of a broker, as AlterReplicaLogDirs asks for them.

    alter -> step* -> a Moved in `done`

`step` does a bounded piece of work and never waits for the disk: a slice is copied out of pages that are in memory
(cold ones are warmed first), and all that has to wait is an operation of the logs (`operations`). What a move is made
of is in `move`, how the copy follows its original in `future_log`, and what a start makes of left-overs in
`partition_directories`.

A fault of the source before the commit leaves the partition to its directory, and the copy where it is: after a
restart it goes on. A fault of the target ends the move. A full target waits.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from tidelog.config.topic_config import TopicConfig
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclass import dataclass
from tidelog.ports.errors import StorageFault
from tidelog.ports.files import Ticket
from tidelog.ports.paths import join, name_of, parent_of
from tidelog.storage.directories.future_log import (
    copy_slice,
    create_future,
    cut_to_follow,
    file_of,
    follow,
    next_slice,
    reconcile,
)
from tidelog.storage.directories.log_directory import LogDirectory
from tidelog.storage.directories.move import Move, MoveState, Note
from tidelog.storage.directories.move_pace import Pace
from tidelog.storage.directories.operations import Operation, Steps
from tidelog.storage.errors import LogError
from tidelog.storage.log.group_commit import survives
from tidelog.storage.log.loader import LogContext
from tidelog.storage.log.log import Log
from tidelog.storage.log.reading import LogRead
from tidelog.storage.log.truncation import settle, truncation
from tidelog.storage.names import NAME_BYTES_MAX, DirectoryState, marked_directory, unique_of

SLICE_BYTES: Final = 1 << 20
RETRY_MS: Final = 1_000


class Moved(NamedTuple):
    """The end of a move, to be told to the server. `error` says why, where the move was not completed."""

    partition: TopicPartition
    path: str
    error: str | None = None


@dataclass(slots=True)
class MoveHooks:
    """The functions by which a move acts on the logs around it."""

    begin: Callable[[str | None, Steps], Operation]  # an operation of the log directory with this path
    fail: Callable[[LogDirectory, StorageFault], None]
    forget: Callable[[Log], None]  # it is no longer the partition's log: its flushes are of no interest
    retire: Callable[[Log], None]  # its directory is to be deleted after `file.delete.delay.ms`
    discard: Callable[[str], None]  # a directory that was never in use: deleted as soon as may be
    note: Note  # there was no room for something, which is tried again


def _always(_partition: TopicPartition, _path: str) -> bool:
    return True


class LogMoves:
    def __init__(
        self,
        context: LogContext,
        directories: Mapping[str, LogDirectory],
        config_of: Callable[[str], TopicConfig],
        hooks: MoveHooks,
    ) -> None:
        self._context = context
        self._directories = directories
        self._config_of = config_of
        self._hooks = hooks
        self.may_commit: Callable[[TopicPartition, str], bool] = (
            _always  # asked when a copy is level: the controller may have to know first
        )
        self.slice_bytes = SLICE_BYTES
        self.done: list[Moved] = []  # not reported yet: the server takes them out
        # The copy is the log from now on: whoever holds the original changes over before the next append.
        self.committed: list[TopicPartition] = []
        self._moves: dict[TopicPartition, Move] = {}  # the next one to copy first
        self._preferred: dict[TopicPartition, str] = {}
        self._pace = Pace()

    def limit(self, bytes_per_second: int, now_ms: int) -> None:
        """Set `replica.alter.log.dirs.io.max.bytes.per.second`, for all moves together; 0 stops the copying."""
        self._pace = Pace(bytes_per_second, now_ms)

    # Asking

    @property
    def is_active(self) -> bool:
        return bool(self._moves)

    def is_moving(self, partition: TopicPartition) -> bool:
        """Tell whether the log is being moved. The cleaner leaves it alone then: it would clean what is copied and
        deleted."""
        return partition in self._moves

    def future_lag(self, partition: TopicPartition) -> int | None:
        """The number of offsets by which the copy is behind, for DescribeLogDirs; None when there is no copy."""
        move = self._moves.get(partition)
        return None if move is None or move.state is not MoveState.COPYING else move.lag

    def deadline_ms(self, now_ms: int) -> int | None:
        """The time at which `step` has something to do, if nothing completes before; None where it waits for a
        completion."""
        moves = [each for each in self._moves.values() if each.state is MoveState.COPYING and not each.is_busy]
        due = [self._due_ms(move, now_ms) for move in moves]
        return min((each for each in due if each is not None), default=None)

    def _due_ms(self, move: Move, now_ms: int) -> int | None:
        if now_ms < move.retry_ms <= now_ms + RETRY_MS:
            return move.retry_ms
        if move.future is None:
            is_waiting = move.partition in move.target.leaving or move.partition in move.target.futures
        else:
            is_waiting = move.is_level or move.future.is_unsettled
        if is_waiting or move.current.is_unsettled:
            return None  # it waits for an operation, a flush, or the controller
        return self._pace.until_ms if self._pace.rests(now_ms) else now_ms

    # Beginning and ending

    def alter(
        self, partition: TopicPartition, path: str, found: Log | ErrorCode, unique: str, cordoned: Sequence[str]
    ) -> ErrorCode:
        """See `Logs.alter_directory`; `found` is the log, or why there is none."""
        target = self._directories.get(path)
        if len(marked_directory(*partition, unique, DirectoryState.FUTURE)) > NAME_BYTES_MAX:
            return ErrorCode.INVALID_TOPIC_EXCEPTION
        if target is None:
            return ErrorCode.LOG_DIR_NOT_FOUND
        if not target.is_online:
            return ErrorCode.KAFKA_STORAGE_ERROR
        if path in cordoned or "*" in cordoned:
            return ErrorCode.INVALID_REPLICA_ASSIGNMENT
        if isinstance(found, Log):
            return self._move(found, target, unique)
        if found is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            self._preferred[partition] = path
            return ErrorCode.REPLICA_NOT_AVAILABLE
        return found

    def preferred(self, partition: TopicPartition) -> LogDirectory | None:
        """Return the directory for a log that was asked to be moved before it was made; None where nobody asked, or it
        is offline."""
        directory = self._directories.get(self._preferred.get(partition, ""))
        return directory if directory is not None and directory.is_online else None

    def _move(self, current: Log, target: LogDirectory, unique: str) -> ErrorCode:
        """Begin the move, or go on with the same one. A move under way to another directory is cancelled."""
        partition = current.topic_partition
        self._preferred.pop(partition, None)
        move = self._moves.get(partition)
        if move is not None and move.target is target:
            return ErrorCode.NONE
        if move is not None and move.state is not MoveState.COPYING:
            return ErrorCode.REPLICA_NOT_AVAILABLE  # for some milliseconds: the last move is being completed
        self.cancel(partition)
        source = self._directories[parent_of(current.directory)]
        if source is target:
            return ErrorCode.NONE
        if not all(each.is_online for each in self._directories.values()):
            return ErrorCode.KAFKA_STORAGE_ERROR  # an offline one may have a copy already, which would come back
        current.generation += 1  # a cleaning under way is over; the next comes when the move is
        cleaned_to = source.cleaner_offsets.get(partition)
        self._moves[partition] = Move(partition, source, target, current, unique, cleaned_to)
        return ErrorCode.NONE

    def resume(self) -> None:
        """Go on with the copies that a restart has found, after the logs are loaded and before anything is appended."""
        for target in self._directories.values():
            for partition, future in list(target.futures.items()):
                source = next((each for each in self._directories.values() if partition in each.logs), None)
                if target.is_online and source is not None and source.is_online:
                    self._resume(source, target, source.logs[partition], future)

    def _resume(self, source: LogDirectory, target: LogDirectory, current: Log, future: Log) -> None:
        unique = unique_of(name_of(future.directory))
        cleaned_to = source.cleaner_offsets.get(current.topic_partition)
        move = Move(current.topic_partition, source, target, current, unique, cleaned_to, future)
        self._moves[move.partition] = move
        if current.topic_id == future.topic_id:
            reconcile(current, future)
        else:
            self._end(move, "the copy is of another topic of the same name")

    def cancel(self, partition: TopicPartition) -> bool:
        """Cancel the move and tell whether there was one. A committed move is not cancelled: it has happened."""
        move = self._moves.get(partition)
        if move is None or move.state is not MoveState.COPYING:
            return False
        self._end(move, "cancelled")
        return True

    def _end(self, move: Move, reason: str) -> None:
        """End a move whose copy is not wanted. (Should a power loss bring its name back, the move goes on after the
        restart.)"""
        del self._moves[move.partition]
        self.done.append(Moved(move.partition, move.target.path, reason))
        self._hooks.begin(None, self._discarding(move))

    def _discarding(self, move: Move) -> Steps:
        """Discard the copy once its operation is over, which uses the directory's present name."""
        if move.operation is not None:
            yield move.operation
        future = move.future
        if future is None or not move.target.is_online:
            return
        del move.target.futures[move.partition]
        self._hooks.forget(future)
        try:
            yield from move.discard(future, self._hooks.note)
        except StorageFault as fault:
            self._hooks.fail(move.target, fault)
        if move.target.is_online:
            self._hooks.retire(future)

    def directory_failed(self, directory: LogDirectory) -> None:
        """End the moves into a directory that failed, and those out of it that are not committed."""
        for move in list(self._moves.values()):
            if move.target is directory or (move.source is directory and move.state is MoveState.COPYING):
                del self._moves[move.partition]
                self.done.append(Moved(move.partition, move.target.path, f"{directory.path} is offline"))

    # Working

    def step(self, now_ms: int) -> None:
        """Copy at most one slice of one move. Call this between two turns: nothing of what is copied may be staged."""
        for move in list(self._moves.values()):
            is_copying = self._moves.get(move.partition) is move and move.state is MoveState.COPYING
            if is_copying and not move.is_busy and self._step(move, now_ms):
                if self._moves.get(move.partition) is move:
                    self._moves[move.partition] = self._moves.pop(move.partition)  # the others come first now
                return

    def _step(self, move: Move, now_ms: int) -> bool:
        """Advance one move; tell whether a slice was copied."""
        if move.current.staged_bytes or move.current.is_unsettled or now_ms < move.retry_ms <= now_ms + RETRY_MS:
            return False
        if move.operation is not None and move.operation.fault is not None:
            self._try_again(move, now_ms)
            return False
        if move.future is None:
            self._create(move, now_ms)
            return False
        move.cut = cut_to_follow(move.current, move.future)
        if move.cut is not None:
            self._wait(move, move.target, truncation(move.target, [move.cut], now_ms, []))
            return False
        follow(move.current, move.future)
        has_copied = not move.is_level and self._copy(move, move.future, now_ms)
        if move.is_level:
            self._finish(move, move.future, now_ms)
        return has_copied

    def _try_again(self, move: Move, now_ms: int) -> None:
        """Repeat an operation for which there was no room, after a while; any other fault has ended the move."""
        move.operation, move.retry_ms = None, now_ms + RETRY_MS
        if move.cut is not None:
            move.current.truncated_to = min(move.current.truncated_to, move.cut.offset)

    def _wait(self, move: Move, directory: LogDirectory, steps: Steps) -> None:
        move.operation = self._hooks.begin(directory.path, steps)

    def _create(self, move: Move, now_ms: int) -> None:
        target, partition = move.target, move.partition
        if partition in target.leaving or partition in target.futures:
            return  # the copy of an earlier move is still there
        if not target.is_free(partition):
            self._wait(move, target, target.forget([partition]))
            return
        path = join(target.path, marked_directory(*partition, move.unique, DirectoryState.FUTURE))
        try:
            future = create_future(self._context, move.current, path, self._config_of(partition.topic), now_ms)
        except StorageFault as fault:
            if survives(fault):
                self._end(move, str(fault))
                self._hooks.discard(path)
            else:
                self._hooks.fail(target, fault)
            return
        move.future = target.futures[partition] = future

    def _copy(self, move: Move, future: Log, now_ms: int) -> bool:
        if future.is_unsettled or self._pace.rests(now_ms):
            return False
        try:
            found = next_slice(move.current, future, self.slice_bytes)
            if found.segment is None:
                return False
            if not move.is_warm and self._warm(move, found):
                return False
            move.is_warm = False
            if not self._has_room(move, found.size_bytes, now_ms):
                return False
            fault = copy_slice(move.current, future, found, now_ms)
        except LogError as error:
            self._end(move, str(error))
            return False
        except StorageFault as fault_of_source:
            if not survives(fault_of_source):
                self._hooks.fail(move.source, fault_of_source)
            return False
        if fault is not None:
            self._target_fault(move, future, fault, now_ms)
            return False
        self._pace.note(found.size_bytes, now_ms)
        return True

    def _warm(self, move: Move, found: LogRead) -> bool:
        """Begin to read the slice into the page cache; False where it is there already."""
        file = file_of(move.current, found)
        if file.is_cached(found.position, found.size_bytes):
            return False
        ticket = self._context.fs.begin_warm(file, found.position, found.size_bytes)
        self._wait(move, move.source, _warming(move, ticket))
        return True

    def _has_room(self, move: Move, size_bytes: int, now_ms: int) -> bool:
        try:
            has_room = move.target.room.has_room_for(size_bytes, now_ms)
        except StorageFault as fault:
            self._hooks.fail(move.target, fault)
            return False
        if not has_room:
            move.retry_ms = now_ms + RETRY_MS
        return has_room

    def _target_fault(self, move: Move, future: Log, fault: StorageFault, now_ms: int) -> None:
        if survives(fault):
            move.retry_ms = now_ms + RETRY_MS
            self._wait(move, move.target, settle(future))
        else:
            self._hooks.fail(move.target, fault)

    def _finish(self, move: Move, future: Log, now_ms: int) -> None:
        """Make a copy that is level durable, then commit the move; one step each time it is called."""
        if future.flush.begun is not None or not self.may_commit(move.partition, move.target.path):
            return
        if move.needs_flush:
            future.flush.ask(future)
        elif move.needs_checkpoint:
            self._wait(move, move.target, move.checkpointing())
        else:
            operation = self._hooks.begin(None, self._completion(move))
            if not operation.is_done:
                move.source.leaving[move.partition] = operation
            if move.state is not MoveState.COPYING:
                self.committed.append(move.partition)
            else:
                move.retry_ms = now_ms + RETRY_MS

    def _completion(self, move: Move) -> Steps:
        """Commit the move and complete it. After a fault of the source nobody knows whether the original still has its
        plain name. The copy has gone on, so it gets that name; should both be there at the next start, that is found
        and told."""
        try:
            move.commit()
            self._hooks.forget(move.current)
            yield [move.current.fs.begin_sync_directory(move.source.path)]
        except StorageFault as fault:
            is_to_be_tried_again = survives(fault) and move.state is MoveState.COPYING
            (self._hooks.note if is_to_be_tried_again else self._hooks.fail)(move.source, fault)
        move.source.leaving.pop(move.partition, None)
        if move.state is MoveState.COPYING or not move.target.is_online:
            return
        try:
            yield from move.promote(self._hooks.note)
        except StorageFault as fault:
            self._hooks.fail(move.target, fault)
        if move.target.fault is not None:
            return  # the original may be all that is left
        self._moves.pop(move.partition, None)
        self._hooks.retire(move.current)
        self.done.append(Moved(move.partition, move.target.path))
        if move.target.is_online:
            self._hooks.begin(move.target.path, move.hand_over_cleaned())
        if move.source.is_online:
            self._hooks.begin(move.source.path, move.take_leave())


def _warming(move: Move, ticket: Ticket) -> Steps:
    yield [ticket]
    move.is_warm = True
