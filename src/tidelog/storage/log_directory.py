"""One of the broker's log directories: its lock, its checkpoints, the logs in it, and whether it still works.

    online -> offline      at the first fault of its disk that can not be undone; for good, until a restart

Directories fail one by one: what is here shares nothing with another. A full disk is not a failure. Below the reserve
(`log.dir.reserved.bytes`) appends are refused, turn by turn, so they resume by themselves when there is room.

The checkpoints are written as a whole, for all logs of the directory, off the loop (`offsets_checkpoint`). Some steps
wait for them: a log is cut only when its recovery point is lower on disk (`lower`), a segment goes only when the log
start behind it is there.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final

from tidelog.model.ids import TopicPartition, Uuid
from tidelog.ports.durable import make_directory_durably
from tidelog.ports.errors import AlreadyExists, StorageFault
from tidelog.ports.files import FileSystem, Lock
from tidelog.ports.paths import join
from tidelog.storage.checkpoint_errors import CorruptCheckpointError, CorruptCleanShutdownError
from tidelog.storage.checkpoints import (
    CLEANER_OFFSET_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    read_offsets,
)
from tidelog.storage.clean_shutdown import read_clean_shutdown, remove_clean_shutdown, write_clean_shutdown
from tidelog.storage.cleaner.cleaner_offsets import CleanerOffsets
from tidelog.storage.errors import LogError
from tidelog.storage.log import Log
from tidelog.storage.log_loader import StoredOffsets
from tidelog.storage.meta_properties import MetaProperties, read_meta_properties
from tidelog.storage.offsets_checkpoint import Offsets, OffsetsCheckpoint
from tidelog.storage.operations import GIVE_WAY, Operation, Steps

LOCK_NAME = ".lock"
NO_BROKER_EPOCH = -1
PLENTY_BYTES: Final = 1 << 30
GRANT_BYTES: Final = 64 << 20
GRANT_TIMES: Final = 1_000


class LogDirectory:
    def __init__(self, fs: FileSystem, path: str, reserved_bytes: int = 0) -> None:
        self.fs = fs
        self.path = path
        self.reserved_bytes = reserved_bytes
        self.fault: StorageFault | None = None  # why it is offline
        self.logs: dict[TopicPartition, Log] = {}
        self.futures: dict[TopicPartition, Log] = {}  # copies of logs of other directories, under way (`log_moves`)
        self.corrupt: dict[TopicPartition, LogError] = {}  # set aside, untouched
        self.problems: list[str] = []  # found wrong at the start, and dealt with
        self.meta: MetaProperties | None = None
        self.was_clean = False
        self.broker_epoch = NO_BROKER_EPOCH  # of the broker that stopped here in order
        self.cleaner_offsets = CleanerOffsets(fs, path)
        self._lock: Lock | None = None
        self._granted_bytes = self._granted_times = 0  # see `has_room_for`
        self.leaving: dict[TopicPartition, Operation] = {}  # deleted, but a power loss may still bring them back
        self.moved_away: dict[TopicPartition, None] = {}  # to another directory, but not durably yet (`log_move`)
        self.departing: dict[TopicPartition, None] = {}  # of those, the ones that wait for the next `departure`
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
        """The first fault is the reason; the logs stay listed, so that it is known what went with the directory."""
        if self.fault is None:
            self.fault = fault
            for log in self.logs.values():
                log.abandon()

    # Starting

    def open(self) -> None:
        """LockHeld when another process has the directory; its name and the owner's pid are in the message."""
        with suppress(AlreadyExists):
            make_directory_durably(self.fs, self.path)
        self._lock = self.fs.lock(join(self.path, LOCK_NAME))
        self.meta = read_meta_properties(self.fs, self.path)
        self._read_clean_shutdown()
        self._recovery_points.durable = self._read(RECOVERY_POINT_CHECKPOINT)
        self._log_starts.durable = self._read(LOG_START_OFFSET_CHECKPOINT)
        self._high_watermarks.durable = self._read(REPLICATION_OFFSET_CHECKPOINT)
        self.cleaner_offsets.load(self._read(CLEANER_OFFSET_CHECKPOINT))

    def _read_clean_shutdown(self) -> None:
        """Removed, durably, before anything else happens here: it speaks of the last stop and of no other."""
        try:
            marker = read_clean_shutdown(self.fs, self.path)
        except CorruptCleanShutdownError as error:
            self.problems.append(f"{error}; taken for an unclean stop")
            marker = None
        self.was_clean = marker is not None
        if marker is not None and marker.broker_epoch is not None:
            self.broker_epoch = marker.broker_epoch
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

    # Space

    def has_room_for(self, size_bytes: int) -> bool:
        """Whether an append leaves the reserve alone. The system is not asked each time: where there is plenty, a part
        of it is granted in advance, and asked about again when that is used up or some time later. Somebody else may
        fill the disk meanwhile; then a write fails, and is undone."""
        if size_bytes <= self._granted_bytes and self._granted_times:
            self._granted_bytes -= size_bytes
            self._granted_times -= 1
            return True
        spare_bytes = self.fs.space(self.path).usable_bytes - self.reserved_bytes - size_bytes
        self._granted_bytes = GRANT_BYTES if spare_bytes >= PLENTY_BYTES else 0
        self._granted_times = GRANT_TIMES
        return spare_bytes >= 0

    def _all_logs(self) -> dict[TopicPartition, Log]:
        """Those with an entry in the checkpoints. No partition is in both: nothing is moved to where it is."""
        return {**self.logs, **self.futures} if self.futures else self.logs

    def has(self, log: Log) -> bool:
        return self._all_logs().get(log.topic_partition) is log

    # Checkpoints

    def checkpoint(self) -> Steps:
        """All three, one after the other."""
        yield from self._recovery_points.write(self._current_recovery_points)
        yield GIVE_WAY
        yield from self.checkpoint_log_starts()
        yield GIVE_WAY
        yield from self._high_watermarks.write(self._current_high_watermarks)

    def checkpoint_log_starts(self) -> Steps:
        yield from self._log_starts.write(self._current_log_starts)

    def _current_recovery_points(self) -> Offsets:
        """A log that was set aside keeps what it had: it is what its damage was found by. So does one that a power loss
        may bring back."""
        offsets = {each: log.flush.checkpoint for each, log in self._all_logs().items()}
        return offsets | self._kept(self._recovery_points)

    def _current_log_starts(self) -> Offsets:
        """Every start but 0: which segments are there is no proof of where the log starts after a crash."""
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
        """Before logs are cut: recovery must not take for durable what comes in place of what is cut, nor begin the log
        behind its end. The logs must say no more themselves by now (`start_limits`): the next checkpoint would take it
        back. Costs nothing where the checkpoints are low enough."""
        logs = self._all_logs()
        claims = [(logs[each].flush.checkpoint, limit) for each, limit in durable.items() if each in logs]
        assert all(claim <= limit for claim, limit in claims), "a log calls durable what is to be cut"
        assert any(limits is starts for limits in self.start_limits), "a log may start behind its cut"
        yield from self._recovery_points.lower(durable, self._current_recovery_points)
        yield from self._log_starts.lower(starts, self._current_log_starts)
        yield from self.cleaner_offsets.begin_lower(durable)

    def forget(self, partitions: Iterable[TopicPartition]) -> Steps:
        """Before logs of these names are made anew: the checkpoints speak of older ones. A name that has a log again
        when the turn has come is left alone: whoever made it has waited for the same."""
        yield from self._recovery_points.wait()
        yield from self._recovery_points.lower(self._nothing_for(partitions), self._current_recovery_points)
        yield from self._log_starts.wait()
        yield from self._log_starts.lower(self._nothing_for(partitions), self._current_log_starts)
        yield from self.cleaner_offsets.begin_lower(self._nothing_for(partitions))

    def depart(self) -> Steps:
        """All that are deleted in a turn, together. The new names first: a log that comes back under its own needs its
        offsets."""
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
        """Whether a log of this name can be made at once: no checkpoint speaks of an older one."""
        known = self._recovery_points.may_exceed(partition, 0) or self._log_starts.may_exceed(partition, 0)
        return partition not in self.leaving and not known and not self.cleaner_offsets.get(partition)

    # Stopping

    def close(self, broker_epoch: int, now_ms: int) -> None:
        """Everything durable, then the checkpoints, then the marker that says so. No marker where a log was set aside:
        the next start must look at it again."""
        for log in self._all_logs().values():
            log.close(now_ms)
        self._recovery_points.write_now(self._current_recovery_points())
        self._log_starts.write_now(self._current_log_starts())
        self._high_watermarks.write_now(self._current_high_watermarks())
        if not self.corrupt:
            write_clean_shutdown(self.fs, self.path, broker_epoch)
        self.release()

    def release(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None


def emptiest(directories: Iterable[LogDirectory], cordoned: Iterable[str] = ()) -> LogDirectory | None:
    """Where a new partition goes: to the online directory with the fewest, in the order of `log.dirs` among equals."""
    shut = list(cordoned)
    open_ones = [each for each in directories if each.is_online and each.path not in shut and "*" not in shut]
    return min(open_ones, key=lambda each: len(each.logs) + len(each.futures) + len(each.corrupt), default=None)
