"""One of the broker's log directories: its lock, its checkpoints, the logs in it, and whether it still works.

    online -> offline      at the first fault of its disk that can not be undone; for good, until a restart

Directories fail one by one: what is here shares nothing with another. A full disk is not a failure. Below the reserve
(`log.dir.reserved.bytes`) appends are refused, turn by turn, so they resume by themselves when there is room.

The checkpoints are written as a whole, for all logs of the directory, off the loop (`offsets_checkpoint`). Some steps
wait for them: a log is cut only when its recovery point is lower on disk (`lower`), a segment goes only when the log
start behind it is there.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from tidelog.model.ids import TopicPartition, Uuid
from tidelog.ports.durable import make_directory_durably
from tidelog.ports.errors import AlreadyExists, DiskFull, StorageFault, SyncFailed, TooManyOpenFiles
from tidelog.ports.files import FileSystem, Lock, Ticket
from tidelog.ports.paths import join
from tidelog.storage.checkpoints.clean_shutdown import read_clean_shutdown, remove_clean_shutdown, write_clean_shutdown
from tidelog.storage.checkpoints.errors import CorruptCheckpointError, CorruptCleanShutdownError
from tidelog.storage.checkpoints.meta_properties import MetaProperties, read_meta_properties
from tidelog.storage.checkpoints.offsets_checkpoint import Offsets, OffsetsCheckpoint
from tidelog.storage.checkpoints.text import (
    CLEANER_OFFSET_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    read_offsets,
)
from tidelog.storage.cleaner.cleaner_offsets import CleanerOffsets
from tidelog.storage.directories.disk_room import DiskRoom
from tidelog.storage.directories.failed_sync import (
    is_failed_sync,
    is_marked_failed,
    is_marked_intact,
    mark_failed,
    mark_intact,
    rewrite_log_dir,
)
from tidelog.storage.directories.operations import GIVE_WAY, Operation, Steps
from tidelog.storage.errors import LogError
from tidelog.storage.log.loader import StoredOffsets
from tidelog.storage.log.log import Log

LOCK_NAME = ".lock"
NO_BROKER_EPOCH = -1


class DirectoryFailed(NamedTuple):
    """The failure of a log directory, to be told to the controller: the partitions need other leaders."""

    path: str
    fault: StorageFault
    partitions: list[TopicPartition]


class LogDirectory:
    def __init__(self, fs: FileSystem, path: str, reserved_bytes: int = 0) -> None:
        self.fs = fs
        self.path = path
        self.room = DiskRoom(fs, path, reserved_bytes)
        self.fault: StorageFault | None = None  # why it is offline
        self.logs: dict[TopicPartition, Log] = {}
        self.futures: dict[TopicPartition, Log] = {}  # copies, being filled, of logs in other directories (`moves`)
        self.corrupt: dict[TopicPartition, LogError] = {}  # damaged logs, which are left untouched and out of use
        self.problems: list[str] = []  # found wrong at the start, and dealt with
        self.meta: MetaProperties | None = None
        self.was_clean = False
        self.is_doubtful = False  # a sync may have failed before: the page cache shows what the disk never got
        self.stays_doubtful = False  # there was no room to make all of that good: the next start tries again
        self.broker_epoch = NO_BROKER_EPOCH  # of the broker that stopped here in order
        self.cleaner_offsets = CleanerOffsets(fs, path)
        self._lock: Lock | None = None
        self.leaving: dict[TopicPartition, Operation] = {}  # deleted, but a power loss may still bring them back
        self.being_made: dict[TopicPartition, Ticket] = {}  # logs whose first files a helper makes (`log.creation`)
        self.moved_away: dict[TopicPartition, None] = {}  # to another directory, but not durably yet (`move`)
        self.departing: dict[TopicPartition, None] = {}  # deleted logs that wait for the next `departure`
        self.departure: Operation | None = None
        self.start_limits: list[Offsets] = []  # of logs that are about to be cut, perhaps below their start
        self._recovery_points = OffsetsCheckpoint(fs, join(path, RECOVERY_POINT_CHECKPOINT))
        self._log_starts = OffsetsCheckpoint(fs, join(path, LOG_START_OFFSET_CHECKPOINT))
        self._high_watermarks = OffsetsCheckpoint(fs, join(path, REPLICATION_OFFSET_CHECKPOINT))

    @property
    def is_online(self) -> bool:
        return self.fault is None

    @property
    def directory_id(self) -> Uuid | None:
        return None if self.meta is None else self.meta.directory_id

    def take_offline(self, fault: StorageFault) -> None:
        """Take the directory offline. The first fault is the reason; the logs stay listed, so that it is known what
        went with it."""
        if self.fault is None:
            self.fault = self._marked(fault) if is_failed_sync(fault) else fault
            for log in self.logs.values():
                log.abandon()

    def _marked(self, fault: StorageFault) -> StorageFault:
        if mark_failed(self.fs, self.path):
            return fault
        advice = "that could not be noted there: restart the machine before the broker, or acknowledged records may go"
        return SyncFailed(fault.path, f"{fault.detail}; and {advice}")

    def note_shortage(self, fault: StorageFault, now_ms: int) -> None:
        if isinstance(fault, DiskFull):
            self.room.note_full(now_ms)

    def is_short_of_room(self, now_ms: int) -> bool:
        """Tell whether the disk is known to be short of room. A disk that does not answer is not; whoever writes to it
        finds out."""
        try:
            return self.room.is_low(now_ms)
        except StorageFault:
            return False

    # Starting

    def open(self) -> None:
        """Lock the directory and read its small files. Raises LockHeld, with the directory and the owner's pid in the
        message, when another process has it."""
        with suppress(AlreadyExists):
            make_directory_durably(self.fs, self.path)
        self._lock = self.fs.lock(join(self.path, LOCK_NAME))
        self.meta = read_meta_properties(self.fs, self.path)
        self._read_clean_shutdown()
        self._recovery_points.durable = self._read(RECOVERY_POINT_CHECKPOINT)
        self._log_starts.durable = self._read(LOG_START_OFFSET_CHECKPOINT)
        self._high_watermarks.durable = self._read(REPLICATION_OFFSET_CHECKPOINT)
        self.cleaner_offsets.load(self._read(CLEANER_OFFSET_CHECKPOINT))
        self._look_at_mark()

    def _look_at_mark(self) -> None:
        """Write again what a failed sync may have lost. A missing mark, as on a full disk or after an older release,
        counts as a failed sync after an unclean stop."""
        is_intact, is_failed = is_marked_intact(self.fs, self.path), is_marked_failed(self.fs, self.path)
        self.is_doubtful = is_failed or (not is_intact and not self.was_clean)
        if self.is_doubtful:
            self.was_clean = False
            try:
                rewrite_log_dir(self.fs, self.path)
            except (DiskFull, TooManyOpenFiles) as fault:
                self.stays_doubtful = True
                what = "what an earlier sync may have lost could not all be written again, which the next start does"
                self.problems.append(f"{self.path}: {what}: {fault}")
                return
            if is_failed:
                self.problems.append(f"{self.path}: a sync has failed before; what it may have lost is written again")
        elif not is_intact:
            self._mark_intact()

    def _mark_intact(self) -> None:
        with suppress(DiskFull, TooManyOpenFiles):  # the next unclean stop counts as doubtful then
            mark_intact(self.fs, self.path)

    def settle_doubt(self) -> None:
        """Mark the directory intact after all logs were loaded and written again: the page cache holds nothing any more
        that the disk has not."""
        if self.is_doubtful and not self.stays_doubtful:
            self._mark_intact()
            self.is_doubtful = False

    def _read_clean_shutdown(self) -> None:
        try:
            marker = read_clean_shutdown(self.fs, self.path)
        except CorruptCleanShutdownError as error:
            self.problems.append(f"{error}; taken for an unclean stop")
            marker = None
        self.was_clean = marker is not None
        if marker is not None and marker.broker_epoch is not None:
            self.broker_epoch = marker.broker_epoch

    def remove_clean_shutdown(self) -> None:
        """Remove the marker, durably, before anything happens to a log: it speaks of the last stop alone. Call this
        only when the start is sure to go on, because a start that is refused must change nothing."""
        remove_clean_shutdown(self.fs, self.path)

    def _read(self, name: str) -> dict[TopicPartition, int]:
        try:
            return read_offsets(self.fs, join(self.path, name))
        except CorruptCheckpointError as error:
            self.problems.append(f"{error}; read as empty")
            self.was_clean = self.was_clean and name != RECOVERY_POINT_CHECKPOINT
            return {}

    def stored_offsets(self, partition: TopicPartition) -> StoredOffsets:
        return StoredOffsets(
            self._recovery_points.durable.get(partition, 0),
            self._log_starts.durable.get(partition, 0),
            self._high_watermarks.durable.get(partition, 0),
        )

    def _all_logs(self) -> dict[TopicPartition, Log]:
        """Return the logs that have entries in the checkpoints, copies included. No partition is in both: nothing is
        moved to the directory it is in."""
        return {**self.logs, **self.futures} if self.futures else self.logs

    def has(self, log: Log) -> bool:
        return self._all_logs().get(log.topic_partition) is log

    # Checkpoints

    def checkpoint(self) -> Steps:
        """Write all three checkpoints, one after the other."""
        yield from self._recovery_points.write(self._current_recovery_points)
        yield GIVE_WAY
        yield from self.checkpoint_log_starts()
        yield GIVE_WAY
        yield from self._high_watermarks.write(self._current_high_watermarks)

    def checkpoint_log_starts(self) -> Steps:
        yield from self._log_starts.write(self._current_log_starts)

    def _current_recovery_points(self) -> Offsets:
        """Return the recovery points to write down. A log that was set aside keeps its old one, by which its damage was
        found, and so does a deleted log that a power loss may bring back."""
        offsets = {each: log.flush.checkpoint for each, log in self._all_logs().items()}
        return offsets | self._kept(self._recovery_points)

    def _current_log_starts(self) -> Offsets:
        """Return every start but 0: the segments that are there after a crash are no proof of where the log starts."""
        starts = {each: log.log_start_offset for each, log in self._all_logs().items() if log.log_start_offset}
        for limits in self.start_limits:
            for partition, limit in limits.items():
                if starts.get(partition, 0) > limit:
                    starts[partition] = limit
        return starts | self._kept(self._log_starts)

    def _current_high_watermarks(self) -> Offsets:
        return {each: log.high_watermark for each, log in self._all_logs().items()}

    def _kept(self, checkpoint: OffsetsCheckpoint) -> Offsets:
        kept = [*self.corrupt, *self.moved_away, *self.leaving]
        return {each: checkpoint.durable[each] for each in kept if each in checkpoint.durable}

    def durable_log_start(self, partition: TopicPartition) -> int:
        return self._log_starts.durable.get(partition, 0)

    def lower(self, durable: Mapping[TopicPartition, int], starts: Mapping[TopicPartition, int]) -> Steps:
        """Lower the checkpoints before logs are cut: recovery must not take for durable what comes in place of what is
        cut, nor begin the log behind its end. The logs must claim no more themselves by now (`start_limits`), or the
        next checkpoint would write the old offsets again. Costs nothing where the checkpoints are low enough."""
        logs = self._all_logs()
        claims = [(logs[each].flush.checkpoint, limit) for each, limit in durable.items() if each in logs]
        assert all(claim <= limit for claim, limit in claims), "a log calls durable what is to be cut"
        assert any(limits is starts for limits in self.start_limits), "a log may start behind its cut"
        yield from self._recovery_points.lower(durable, self._current_recovery_points)
        yield from self._log_starts.lower(starts, self._current_log_starts)
        yield from self.cleaner_offsets.begin_lower(durable)

    def forget(self, partitions: Iterable[TopicPartition]) -> Steps:
        """Remove what the checkpoints say of older logs of these names, before logs are made anew under them. A name
        that has a log again by the time of the write is left alone: whoever made that log has waited for the same."""
        yield from self._recovery_points.wait()
        yield from self._recovery_points.lower(self._nothing_for(partitions), self._current_recovery_points)
        yield from self._log_starts.wait()
        yield from self._log_starts.lower(self._nothing_for(partitions), self._current_log_starts)
        yield from self.cleaner_offsets.begin_lower(self._nothing_for(partitions))

    def depart(self) -> Steps:
        """Make the deletions of a turn durable, all together, and forget their offsets. The new names come first: a log
        that comes back under its own name needs its offsets."""
        yield GIVE_WAY
        gone, self.departing = self.departing, {}
        try:
            yield [self.fs.begin_sync_directory(self.path)]
            yield from self.forget(gone)
        finally:
            for partition in gone:
                self.leaving.pop(partition, None)

    def _nothing_for(self, partitions: Iterable[TopicPartition]) -> Offsets:
        logs = self._all_logs()
        return {each: 0 for each in partitions if each not in logs}

    def is_free(self, partition: TopicPartition) -> bool:
        """Tell whether a log of this name can be made at once: no deleted log can come back, and no checkpoint speaks
        of one."""
        known = self._recovery_points.may_exceed(partition, 0) or self._log_starts.may_exceed(partition, 0)
        return partition not in self.leaving and not known and not self.cleaner_offsets.get(partition)

    # Stopping

    def closing(self, broker_epoch: int, now_ms: int) -> Iterator[None]:
        """Make everything durable, then the checkpoints, then the marker that says so; each step is a log or a file.
        There is no marker where a log was set aside, where a doubt is left, or where there was no room or descriptor
        for all of it: the next start must look again. DiskFull or TooManyOpenFiles is raised for that when everything
        else is done."""
        shortage: StorageFault | None = None
        for log in list(self._all_logs().values()):
            try:
                log.close(now_ms)
            except (DiskFull, TooManyOpenFiles) as fault:
                shortage = fault
            yield
        try:
            self._recovery_points.write_now(self._current_recovery_points())
            yield
            self._log_starts.write_now(self._current_log_starts())
            yield
            self._high_watermarks.write_now(self._current_high_watermarks())
            yield
            if not self.corrupt and shortage is None and not self.stays_doubtful:
                write_clean_shutdown(self.fs, self.path, broker_epoch)
        except (DiskFull, TooManyOpenFiles) as fault:
            shortage = fault
        self.release()
        if shortage is not None:
            raise shortage

    def release(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None


def emptiest(directories: Iterable[LogDirectory], cordoned: Iterable[str] = ()) -> LogDirectory | None:
    """Return the directory for a new partition: the online one with the fewest, in the order of `log.dirs` among
    equals."""
    shut = list(cordoned)
    open_ones = [each for each in directories if each.is_online and each.path not in shut and "*" not in shut]
    return min(open_ones, key=_count, default=None)


def _count(directory: LogDirectory) -> int:
    return len(directory.logs) + len(directory.being_made) + len(directory.futures) + len(directory.corrupt)
