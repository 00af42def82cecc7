"""The logs of a broker, over all its log directories; and what is done to many of them together.

    load -> (commit, complete, flush, retain, checkpoint)* -> close

A fault that a log can not undo takes its directory offline, and with it all its partitions; the other directories go
on. Completions of the FileSystem come in through `complete`, whoever asks for them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition, Uuid
from tidelog.ports.errors import StorageFault
from tidelog.ports.files import Completion, Ticket
from tidelog.ports.paths import join, parent_of
from tidelog.storage.log import Log
from tidelog.storage.log_append import survives
from tidelog.storage.log_directory import NO_BROKER_EPOCH, LogDirectory, emptiest
from tidelog.storage.log_loader import LogContext, create_log
from tidelog.storage.logs_loading import ConfigOf, LoadProgress, load_logs
from tidelog.storage.names import DirectoryState, marked_directory, partition_directory
from tidelog.storage.retention import apply_retention, delete_old_segments


class DirectoryFailed(NamedTuple):
    """For the controller: the partitions need other leaders."""

    path: str
    fault: StorageFault
    partitions: list[TopicPartition]


class DeletedDirectory(NamedTuple):
    due_ms: int
    path: str


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
        self.failures: list[DirectoryFailed] = []  # not told to anybody yet: the server takes them out
        self._flushes: dict[Ticket, Log] = {}
        self._deleted: list[DeletedDirectory] = []

    # Starting and stopping

    def load(self, now_ms: int) -> Iterator[LoadProgress]:
        """One step a log; see `logs_loading`."""
        progress = LoadProgress(now_ms)
        yield from load_logs(self._context, list(self.directories.values()), self._config_of, progress)
        self._deleted += [DeletedDirectory(now_ms, path) for path in progress.to_delete]
        for directory in self.directories.values():
            self._tell_if_failed(directory)
        yield progress

    @property
    def previous_broker_epoch(self) -> int:
        """Of the broker that stopped in order on all of the directories; -1 when there was none: its replicas may
        have lost what they had acknowledged."""
        epochs = {each.broker_epoch if each.was_clean else NO_BROKER_EPOCH for each in self._online()}
        return epochs.pop() if len(epochs) == 1 else NO_BROKER_EPOCH

    @property
    def is_flushing(self) -> bool:
        return bool(self._flushes)

    def close(self, broker_epoch: int, now_ms: int) -> None:
        """In order. No flush may be under way: go on completing them until `is_flushing` is false."""
        assert not self._flushes
        for directory in self._online():
            try:
                directory.close(broker_epoch, now_ms)
            except StorageFault as fault:
                self._fail(directory, fault)
        self._context.descriptors.close()

    # Finding, making, deleting

    def get(self, partition: TopicPartition) -> Log | None:
        for directory in self.directories.values():
            if partition in directory.logs:
                return directory.logs[partition] if directory.is_online else None
        return None

    def find(self, partition: TopicPartition) -> Log | ErrorCode:
        """KAFKA_STORAGE_ERROR for a log that is there, but offline or set aside."""
        log = self.get(partition)
        if log is not None:
            return log
        known = any(partition in each.logs or partition in each.corrupt for each in self.directories.values())
        return ErrorCode.KAFKA_STORAGE_ERROR if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def create(self, partition: TopicPartition, topic_id: Uuid, now_ms: int) -> Log | ErrorCode:
        """The log, new or not, in the directory that has the fewest."""
        found = self.find(partition)
        if found != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return found
        directory = emptiest(self.directories.values(), self.cordoned)
        if directory is None or not directory.has_room_for(0):
            return ErrorCode.KAFKA_STORAGE_ERROR
        path = join(directory.path, partition_directory(*partition))
        try:
            directory.prepare_truncation({partition: 0})  # a log of the same name may have been here
            config = self._config_of(partition.topic)
            log = create_log(self._context, path, partition, topic_id, config, now_ms)
        except StorageFault as fault:
            self.report(directory.path, fault)
            return ErrorCode.KAFKA_STORAGE_ERROR
        directory.logs[partition] = log
        return log

    def delete(self, partition: TopicPartition, unique: str, now_ms: int) -> None:
        """Renamed now, gone after the delay. `unique` are 32 hex digits of chance."""
        log = self.get(partition)
        if log is None:
            return
        directory = self._directory_of(log)
        path = join(directory.path, marked_directory(*partition, unique, DirectoryState.DELETE))
        log.abandon()
        self._flushes = {ticket: each for ticket, each in self._flushes.items() if each is not log}
        del directory.logs[partition]
        try:
            self._context.descriptors.drop_under(log.directory)
            self._context.fs.rename(log.directory, path)
        except StorageFault as fault:
            self._fail(directory, fault)
            return
        log.directory_renamed(path)
        self._deleted.append(DeletedDirectory(now_ms + log.config.file_delete_delay_ms, path))

    def truncate(self, offsets: Mapping[TopicPartition, int], now_ms: int) -> None:
        """Cut these logs at these offsets; waits for the disk once a directory."""
        for directory in self._online():
            own = {each: offset for each, offset in offsets.items() if each in directory.logs}
            try:
                directory.prepare_truncation(own)
                for partition, offset in own.items():
                    directory.logs[partition].truncate_to(offset, now_ms)
            except StorageFault as fault:
                self._fail(directory, fault)

    # The turn

    def commit(self, logs: Iterable[Log], now_ms: int) -> None:
        """The end of a turn: write what these logs have staged. Below the reserve of a disk nothing is written, and
        all of it is answered KAFKA_STORAGE_ERROR."""
        by_directory: dict[str, list[Log]] = {}
        for log in logs:
            by_directory.setdefault(parent_of(log.directory), []).append(log)
        for path, group in by_directory.items():
            directory = self.directories[path]
            try:
                has_room = directory.is_online and directory.has_room_for(sum(log.staged_bytes for log in group))
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
        elif not survives(fault):
            self._fail(directory, fault)

    def _flush_if_due(self, directory: LogDirectory, log: Log, now_ms: int) -> None:
        try:
            if log.flush.is_due(log, now_ms):
                self._flushes.update(dict.fromkeys(log.flush.begin(log), log))
        except StorageFault as fault:
            self._fail(directory, fault)

    def complete(self, completions: Iterable[Completion], now_ms: int) -> list[Log]:
        """Those of our flushes among them; returns the logs of which more is durable now."""
        advanced: dict[Log, None] = {}
        for completion in completions:
            log = self._flushes.pop(completion.ticket, None)
            if log is None:
                continue
            directory = self._directory_of(log)
            fault = log.flush.complete(log, completion)
            if fault is not None:
                self._fail(directory, fault)
            elif log.flush.begun is None and directory.is_online:
                advanced[log] = None
                self._flush_if_due(directory, log, now_ms)
        return list(advanced)

    # From time to time

    def flush_due(self, now_ms: int) -> None:
        """Begin to sync the logs whose `flush.ms` is over."""
        for directory in self._online():
            for log in directory.logs.values():
                self._flush_if_due(directory, log, now_ms)

    def retain(self, now_ms: int) -> None:
        """Delete what is due; see `retention` for the order."""
        for directory in self._online():
            try:
                for log in directory.logs.values():
                    apply_retention(log, now_ms)
                directory.checkpoint_log_starts()
                for partition, log in directory.logs.items():
                    delete_old_segments(log, directory.durable_log_start(partition), now_ms)
                    log.delete_expired_files(now_ms)
            except StorageFault as fault:
                self.report(directory.path, fault)
        self._delete_directories(now_ms)

    def _delete_directories(self, now_ms: int) -> None:
        due = [each for each in self._deleted if each.due_ms <= now_ms]
        self._deleted = [each for each in self._deleted if each.due_ms > now_ms]
        for each in due:
            try:
                for name in self._context.fs.list_directory(each.path):
                    self._context.descriptors.remove(join(each.path, name))
                self._context.fs.remove_directory(each.path)
            except StorageFault as fault:
                self.report(parent_of(each.path), fault)

    def checkpoint(self) -> None:
        for directory in self._online():
            try:
                directory.checkpoint_recovery_points()
                directory.checkpoint_log_starts()
                directory.checkpoint_high_watermarks()
            except StorageFault as fault:
                self.report(directory.path, fault)

    def expire_producers(self, now_ms: int) -> None:
        for directory in self._online():
            for log in directory.logs.values():
                log.producers.expire(now_ms)

    # Failing

    def report(self, path: str, fault: StorageFault) -> None:
        """A fault under this log directory, wherever it was met (a read, say): offline, unless it passes by itself."""
        if not survives(fault):
            self._fail(self.directories[path], fault)

    def _fail(self, directory: LogDirectory, fault: StorageFault) -> None:
        if directory.is_online:
            directory.take_offline(fault)
            self._tell_if_failed(directory)

    def _tell_if_failed(self, directory: LogDirectory) -> None:
        if directory.fault is not None:
            self.failures.append(DirectoryFailed(directory.path, directory.fault, list(directory.logs)))
            gone = {id(log) for log in directory.logs.values()}
            self._flushes = {ticket: log for ticket, log in self._flushes.items() if id(log) not in gone}

    def _directory_of(self, log: Log) -> LogDirectory:
        return self.directories[parent_of(log.directory)]

    def _online(self) -> list[LogDirectory]:
        return [directory for directory in self.directories.values() if directory.is_online]
