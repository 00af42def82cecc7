"""The logs of a broker, over all its log directories; and what is done to many of them together.

    load -> (commit, complete, work, begin_...)* -> close

A fault that a log can not undo takes its directory offline, and with it all its partitions; the other directories go
on. Completions of the FileSystem come in through `complete`, whoever asks for them.

Between load and close nothing waits for the disk. What has to is an operation (`operations`): `begin_...` starts it,
`complete` and `work` carry it on, a piece a turn.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition, Uuid
from tidelog.ports.errors import DiskFull, StorageFault
from tidelog.ports.files import Completion
from tidelog.ports.paths import join, parent_of
from tidelog.storage.directories.deleted_directories import DeletedDirectories
from tidelog.storage.directories.housekeeping import producer_expiry, retention
from tidelog.storage.directories.loading import ConfigOf, LoadProgress, load_logs
from tidelog.storage.directories.log_directory import NO_BROKER_EPOCH, DirectoryFailed, LogDirectory, emptiest
from tidelog.storage.directories.moves import LogMoves, MoveHooks
from tidelog.storage.directories.operations import Operation, Operations, Steps
from tidelog.storage.log.closing import ClosingProgress, closing
from tidelog.storage.log.creation import Creation, CreationHooks, LogCreations
from tidelog.storage.log.flushes import Flushes
from tidelog.storage.log.group_commit import survives
from tidelog.storage.log.loader import LogContext
from tidelog.storage.log.log import Log
from tidelog.storage.log.truncation import Truncations, cut_of, settle
from tidelog.storage.names import DirectoryState, marked_directory

# Pieces of work a turn, each about a file-system call or two: some milliseconds.
DEFAULT_BUDGET: Final = 32


class Logs:
    def __init__(
        self,
        context: LogContext,
        paths: Sequence[str],
        config_of: ConfigOf,
        reserved_bytes: int = 0,
        cordoned: Sequence[str] = (),
    ) -> None:
        self._context = context
        self._config_of = config_of
        self.directories = {path: LogDirectory(context.fs, path, reserved_bytes) for path in paths}
        self.cordoned = list(cordoned)
        self.failures: list[DirectoryFailed] = []  # not reported yet: the server takes them out
        self.flushes = Flushes()
        self.shortages: list[str] = []  # see `take_shortages`
        self._now_ms = 0  # the time of the last call of `complete`
        self.is_closing = False  # nothing is begun any more
        self._operations = Operations(self._operation_failed)
        self._deleted = DeletedDirectories(context.descriptors, self._operations.begin)
        hooks = MoveHooks(
            self._operations.begin, self._fail, self._forget_flushes, self._retire, self._discard, self._note_shortage
        )
        self.moves = LogMoves(context, self.directories, config_of, hooks)
        making = CreationHooks(self._operations.begin, self.find, self._home_of, self.report, self.shortages)
        self._creations = LogCreations(context, self.directories, config_of, self.moves, making)
        self._truncations = Truncations(self._operations)
        self._checkpoints: dict[str, Operation] = {}
        self._retentions: dict[str, Operation] = {}

    # Starting and stopping

    def load(self, now_ms: int) -> Iterator[LoadProgress]:
        """Load all logs, one step a log; see `directories.loading`."""
        progress = LoadProgress(now_ms)
        yield from load_logs(self._context, list(self.directories.values()), self._config_of, progress)
        for path in progress.to_delete:
            self._deleted.add(path, now_ms, now_ms)
        self.moves.resume()
        for directory in self.directories.values():
            self._tell_if_failed(directory)
        yield progress

    @property
    def previous_broker_epoch(self) -> int:
        """The epoch of the broker that stopped in order on all of the directories; -1 when there was none: its replicas
        may have lost what they had acknowledged."""
        epochs = {each.broker_epoch if each.was_clean else NO_BROKER_EPOCH for each in self._online()}
        return epochs.pop() if len(epochs) == 1 else NO_BROKER_EPOCH

    @property
    def is_flushing(self) -> bool:
        """Tell whether anything is under way: a flush, or an operation."""
        return len(self.flushes) > 0 or len(self._operations) > 0

    def begin_closing(self) -> ClosingProgress:
        """Begin, before `close`, to bring to the disk what has to be there, many logs at once (`log.closing`)."""
        progress = ClosingProgress()
        self._context.fs.allow_any_order()
        for directory in self._online():
            progress.logs_total += len(directory.logs) + len(directory.futures)
            self._operations.begin(directory.path, closing(directory, self.flushes.begin, progress))
        return progress

    def close(self, broker_epoch: int, now_ms: int) -> None:
        """Stop in order, without a break; see `closing`."""
        for _ in self.closing(broker_epoch, now_ms):
            pass

    def closing(self, broker_epoch: int, now_ms: int) -> Iterator[None]:
        """Stop in order, a log or a file a step. Nothing may be under way: go on with `complete` and `work` until
        `is_flushing` is false; and nothing may be begun any more."""
        assert not self.is_flushing
        self.is_closing = True
        for directory in self._online():
            try:
                yield from directory.closing(broker_epoch, now_ms)
            except StorageFault as fault:
                self.report(directory.path, fault)
        self._context.descriptors.close()

    # Finding, making, deleting

    def get(self, partition: TopicPartition) -> Log | None:
        for directory in self.directories.values():
            if partition in directory.logs:
                return directory.logs[partition] if directory.is_online else None
        return None

    def find(self, partition: TopicPartition) -> Log | ErrorCode:
        """Return the log, or KAFKA_STORAGE_ERROR for one that is there, but offline or set aside."""
        log = self.get(partition)
        if log is not None:
            return log
        known = any(partition in each.logs or partition in each.corrupt for each in self.directories.values())
        return ErrorCode.KAFKA_STORAGE_ERROR if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def create(self, partition: TopicPartition, topic_id: Uuid, now_ms: int) -> Log | ErrorCode:
        """Return the log, made in the directory that has the fewest where it is not there yet. KAFKA_STORAGE_ERROR also
        while a power loss could bring a deleted log of this name back: `begin_create` waits for that."""
        return self._creations.create(partition, topic_id, now_ms)

    def begin_create(self, wanted: Mapping[TopicPartition, Uuid], now_ms: int) -> Creation:
        """Make many logs off the loop, in this order, each as soon as its name is free (`log.creation`)."""
        return self._creations.begin_create(wanted, now_ms)

    def delete(
        self, partition: TopicPartition, unique: str, now_ms: int, state: DirectoryState = DirectoryState.DELETE
    ) -> None:
        """Rename the log's directory now, and remove it after the delay; STRAY ones are kept. `unique` are 32 random
        hex digits."""
        self.moves.cancel(partition)
        log = self.get(partition)
        if log is None:
            return
        directory = self._directory_of(log)
        path = join(directory.path, marked_directory(*partition, unique, state))
        log.abandon()
        self.flushes.forget([log])
        del directory.logs[partition]
        try:
            self._context.descriptors.drop_under(log.directory)
            self._context.fs.rename(log.directory, path)
        except DiskFull:  # even for a longer name; removing takes no room
            if state is DirectoryState.DELETE:
                self._deleted.remove_in_place(directory, log, path, now_ms)
                return
            path = log.directory
        except StorageFault as fault:
            self._fail(directory, fault)
            return
        log.directory_renamed(path)
        if state is DirectoryState.DELETE:
            self._deleted.add(path, now_ms, now_ms + log.config.file_delete_delay_ms)
        if directory.departure is None or not directory.departing:
            directory.departure = self._operations.begin(directory.path, directory.depart())
        directory.departing[partition] = None
        directory.leaving[partition] = directory.departure

    def begin_truncate(
        self, offsets: Mapping[TopicPartition, int], now_ms: int, *, is_whole: bool = False
    ) -> list[Operation]:
        """Cut these logs at these offsets; or, with `is_whole`, let them begin anew there. Until that is done they take
        no appends (`Log.is_unsettled`). An operation that ends with a fault and leaves its directory online has cut
        nothing: the disk is full, and the follower tries again."""
        begun = []
        for directory in self._online():
            own = {directory.logs[each]: offset for each, offset in offsets.items() if each in directory.logs}
            cuts = [cut_of(log, offset, is_whole=is_whole) for log, offset in own.items()]
            for log in (cut.log for cut in cuts if not cut.takes_anything):
                log.epochs.truncate_from_end(log.log_end_offset)
            if any(cut.takes_anything for cut in cuts):
                cuts = [cut for cut in cuts if cut.takes_anything]
                begun.append(self._truncations.begin(directory, cuts, now_ms))
        return begun

    # Moving between directories

    def alter_directory(self, partition: TopicPartition, path: str, unique: str) -> ErrorCode:
        """Begin to move the log to the directory `path`, as AlterReplicaLogDirs asks (`moves`). `unique` are 32 random
        hex digits. REPLICA_NOT_AVAILABLE where there is no log yet: it will be made there."""
        return self.moves.alter(partition, path, self.find(partition), unique, self.cordoned)

    def step_moves(self, now_ms: int) -> None:
        """Copy a bounded piece, between two turns; everything else of a move is an operation."""
        self.moves.step(now_ms)

    def _home_of(self, partition: TopicPartition) -> LogDirectory | None:
        return self.moves.preferred(partition) or emptiest(self.directories.values(), self.cordoned)

    def _forget_flushes(self, log: Log) -> None:
        self.flushes.forget([log])

    def _note_shortage(self, directory: LogDirectory, fault: StorageFault) -> None:
        directory.note_shortage(fault, self._now_ms)
        self.shortages.append(str(fault))

    def _retire(self, log: Log) -> None:
        self._deleted.add(log.directory, self._now_ms, self._now_ms + log.config.file_delete_delay_ms)

    def _discard(self, path: str) -> None:
        self._deleted.add(path, self._now_ms, self._now_ms)

    # The turn

    def commit(self, logs: Iterable[Log], now_ms: int, *, uses_reserve: bool = False) -> None:
        """Write, at the end of a turn, what these logs have staged. Where it would touch the reserve of a disk nothing
        is written, and all of it is answered KAFKA_STORAGE_ERROR."""
        by_directory: dict[str, list[Log]] = {}
        for log in logs:
            by_directory.setdefault(parent_of(log.directory), []).append(log)
        for path, group in by_directory.items():
            directory = self.directories[path]
            try:
                room, size_bytes = directory.room, sum(log.staged_bytes for log in group)
                has_room = directory.is_online and room.has_room_for(size_bytes, now_ms, uses_reserve=uses_reserve)
            except StorageFault as fault:
                self._fail(directory, fault)
                has_room = False
            for log in group:
                self._commit(directory, log, now_ms, has_room)

    def _commit(self, directory: LogDirectory, log: Log, now_ms: int, has_room: bool) -> None:
        if not has_room or not directory.is_online:
            log.abandon()
            return
        fault = log.commit(now_ms)
        if fault is None:
            self._flush_if_due(directory, log, now_ms)
        elif survives(fault):
            directory.note_shortage(fault, now_ms)
            self.settle(log)
        else:
            self._fail(directory, fault)

    def settle(self, log: Log) -> Operation:
        """Make durable that a failed commit was undone. Until then the log takes no appends."""
        return self._operations.begin(self._directory_of(log).path, settle(log))

    def _flush_if_due(self, directory: LogDirectory, log: Log, now_ms: int) -> None:
        if not self._context.descriptors.may_sync:
            return self._context.flush_queue.pause(log)  # a sync holds its file: until others are done with theirs
        try:
            self.flushes.begin_if_due(log, now_ms)
        except StorageFault as fault:
            self._fail(directory, fault)

    def complete(self, completions: Iterable[Completion], now_ms: int) -> list[Log]:
        """Take the completions, of which some may be of our flushes and operations; return the logs of which more is
        durable now."""
        self._now_ms = now_ms
        advanced: dict[Log, None] = {}
        for completion in completions:
            for directory in self._online():
                # First of all: an operation that goes on below must not wait for what has just completed.
                fault = directory.cleaner_offsets.complete(completion)
                if fault is not None:
                    self._fail(directory, fault)
            self._operations.complete(completion)
            flushed = self.flushes.complete(completion)
            if flushed is None:
                continue
            log, fault = flushed
            directory = self._directory_of(log)
            if fault is not None:
                self._fail(directory, fault)
            elif log.flush.begun is None and directory.is_online:
                if log.topic_partition not in directory.futures:  # nobody waits for a copy to be durable
                    advanced[log] = None
                self._flush_if_due(directory, log, now_ms)
        return list(advanced)

    # From time to time

    def work(self, now_ms: int, budget: int = DEFAULT_BUDGET) -> bool:
        """Do up to `budget` pieces of work, flushes that are due first; tell whether any work is left."""
        self._operations.resume(now_ms)
        left = self._operations.work(self.flush_due(now_ms, budget))
        return left == 0 or self._operations.has_work

    @property
    def has_work(self) -> bool:
        """Tell whether `work` has something to do at once, because an operation was begun or has more pieces."""
        return self._operations.has_work

    def flush_due(self, now_ms: int, budget: int = DEFAULT_BUDGET) -> int:
        """Begin to sync the logs that asked for it, or whose `flush.ms` is over; returns what is left of the budget."""
        if budget > 0 and not self.is_closing:
            for log in self._context.flush_queue.due(now_ms):
                directory = self.directories.get(parent_of(log.directory))
                # The metadata log asks as well, and sees to its syncs itself.
                if directory is not None and directory.is_online and directory.has(log):
                    self._flush_if_due(directory, log, now_ms)
                    budget -= 1
                    if budget <= 0:
                        break
        return budget

    def begin_retention(self, now_ms: int) -> None:
        """Begin to delete what is due. Where the last retention is still under way it goes on instead."""
        for directory in self._online():
            self._begin_unless_under_way(self._retentions, directory, retention(directory, now_ms, self.shortages))
        self.begin_removal(now_ms)

    def begin_removal(self, now_ms: int) -> None:
        """Remove the files of what was deleted (`deleted_directories`)."""
        self._deleted.begin_removal(self._online(), now_ms)

    def begin_checkpoint(self) -> None:
        """Begin to write down recovery points, log starts and high watermarks, unless the last checkpoint is still
        under way."""
        for directory in self._online():
            self._begin_unless_under_way(self._checkpoints, directory, directory.checkpoint())

    def _begin_unless_under_way(self, known: dict[str, Operation], directory: LogDirectory, steps: Steps) -> None:
        last = known.get(directory.path)
        if last is None or last.is_done:
            known[directory.path] = self._operations.begin(directory.path, steps)

    def begin_expiry(self, now_ms: int) -> None:
        """Forget producers that have been silent for too long."""
        for directory in self._online():
            self._operations.begin(directory.path, producer_expiry(directory, now_ms))

    # Failing

    def report(self, path: str, fault: StorageFault) -> None:
        """Take a fault under this log directory, wherever it was met (a read, say): the directory goes offline, unless
        the fault passes by itself."""
        if survives(fault) or self._deleted.explains(fault):
            self.shortages.append(str(fault))
        else:
            self._fail(self.directories[path], fault)

    def take_shortages(self) -> list[str]:
        """Return what could not be done for want of room or descriptors since the last call."""
        taken = self.shortages[:]
        self.shortages.clear()  # the list stays: a retention under way writes into it
        return taken

    def _operation_failed(self, operation: Operation, fault: StorageFault) -> None:
        assert operation.directory is not None, "what is of no directory handles its faults"
        self.report(operation.directory, fault)

    def _fail(self, directory: LogDirectory, fault: StorageFault) -> None:
        if directory.is_online:
            directory.take_offline(fault)
            self._tell_if_failed(directory)

    def _tell_if_failed(self, directory: LogDirectory) -> None:
        if directory.fault is not None:
            self.failures.append(DirectoryFailed(directory.path, directory.fault, list(directory.logs)))
            self.flushes.forget([*directory.logs.values(), *directory.futures.values()])
            self._operations.drop(directory.path, directory.fault)
            self.moves.directory_failed(directory)

    def _directory_of(self, log: Log) -> LogDirectory:
        return self.directories[parent_of(log.directory)]

    def _online(self) -> list[LogDirectory]:
        return [directory for directory in self.directories.values() if directory.is_online]
