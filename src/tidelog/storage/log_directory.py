"""One of the broker's log directories: its lock, its checkpoints, the logs in it, and whether it still works.

    online -> offline      at the first fault of its disk that can not be undone; for good, until a restart

Directories fail one by one: what is here shares nothing with another. A full disk is not a failure. Below the reserve
(`log.dir.reserved.bytes`) appends are refused, turn by turn, so they resume by themselves when there is room.

The checkpoints are written as a whole, for all logs of the directory, and wait for the disk: a few small files once a
minute. Before a truncation it must be so: see `prepare_truncation`.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress

from tidelog.model.ids import TopicPartition, Uuid
from tidelog.ports.durable import make_directory_durably
from tidelog.ports.errors import AlreadyExists, StorageFault
from tidelog.ports.files import FileSystem, Lock
from tidelog.ports.paths import join
from tidelog.storage.checkpoint_errors import CorruptCheckpointError, CorruptCleanShutdownError
from tidelog.storage.checkpoints import (
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    read_offsets,
    write_offsets,
)
from tidelog.storage.clean_shutdown import read_clean_shutdown, remove_clean_shutdown, write_clean_shutdown
from tidelog.storage.errors import LogError
from tidelog.storage.log import Log
from tidelog.storage.log_loader import StoredOffsets
from tidelog.storage.meta_properties import MetaProperties, read_meta_properties

LOCK_NAME = ".lock"
NO_BROKER_EPOCH = -1


class LogDirectory:
    def __init__(self, fs: FileSystem, path: str, reserved_bytes: int = 0) -> None:
        self.fs = fs
        self.path = path
        self.reserved_bytes = reserved_bytes
        self.fault: StorageFault | None = None  # why it is offline
        self.logs: dict[TopicPartition, Log] = {}
        self.corrupt: dict[TopicPartition, LogError] = {}  # set aside, untouched
        self.problems: list[str] = []  # found wrong at the start, and dealt with
        self.meta: MetaProperties | None = None
        self.was_clean = False
        self.broker_epoch = NO_BROKER_EPOCH  # of the broker that stopped here in order
        self._lock: Lock | None = None
        self._recovery_points: dict[TopicPartition, int] = {}  # the three as they are on disk
        self._log_starts: dict[TopicPartition, int] = {}
        self._high_watermarks: dict[TopicPartition, int] = {}

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
        self._recovery_points = self._read(RECOVERY_POINT_CHECKPOINT)
        self._log_starts = self._read(LOG_START_OFFSET_CHECKPOINT)
        self._high_watermarks = self._read(REPLICATION_OFFSET_CHECKPOINT)

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
            self._recovery_points.get(partition, 0),
            self._log_starts.get(partition, 0),
            self._high_watermarks.get(partition, 0),
        )

    # Space

    def has_room_for(self, size_bytes: int) -> bool:
        """Whether an append leaves the reserve alone."""
        return self.fs.space(self.path).usable_bytes - size_bytes >= self.reserved_bytes

    # Checkpoints

    def checkpoint_recovery_points(self) -> None:
        self._write_recovery_points({each: log.flush.checkpoint for each, log in self.logs.items()})

    def _write_recovery_points(self, offsets: Mapping[TopicPartition, int]) -> None:
        """A log that was set aside keeps what it had: it is what its damage was found by."""
        kept = {each: self._recovery_points[each] for each in self.corrupt if each in self._recovery_points}
        self._recovery_points = self._write(RECOVERY_POINT_CHECKPOINT, {**offsets, **kept})

    def checkpoint_log_starts(self) -> None:
        """Every start but 0: which segments are there is no proof of where the log starts after a crash."""
        starts = {each: log.log_start_offset for each, log in self.logs.items() if log.log_start_offset}
        kept = {each: self._log_starts[each] for each in self.corrupt if each in self._log_starts}
        if self._log_starts != {**starts, **kept}:
            self._log_starts = self._write(LOG_START_OFFSET_CHECKPOINT, {**starts, **kept})

    def checkpoint_high_watermarks(self) -> None:
        marks = {each: log.high_watermark for each, log in self.logs.items()}
        self._high_watermarks = self._write(REPLICATION_OFFSET_CHECKPOINT, marks)

    def _write(self, name: str, offsets: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
        write_offsets(self.fs, join(self.path, name), offsets)
        return offsets

    def durable_log_start(self, partition: TopicPartition) -> int:
        return self._log_starts.get(partition, 0)

    def prepare_truncation(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Before logs are cut at these offsets (or made anew, at 0): recovery must not take for durable what comes in
        place of what is cut. Costs nothing where the checkpoints are low enough already."""
        offsets = dict(offsets)
        for partition, offset in offsets.items():
            log = self.logs.get(partition)
            if log is not None:
                offsets[partition] = log.end_if_truncated_to(offset)
                log.flush.recovery_point = min(log.flush.recovery_point, offsets[partition])
        if any(self._recovery_points.get(each, 0) > offset for each, offset in offsets.items()):
            points = {each: log.flush.checkpoint for each, log in self.logs.items()}
            self._write_recovery_points(
                {**points, **{each: min(points.get(each, 0), o) for each, o in offsets.items()}}
            )
        if any(self._log_starts.get(each, 0) > offset for each, offset in offsets.items()):
            starts = {each: min(start, offsets.get(each, start)) for each, start in self._log_starts.items()}
            self._log_starts = self._write(LOG_START_OFFSET_CHECKPOINT, starts)

    # Stopping

    def close(self, broker_epoch: int, now_ms: int) -> None:
        """Everything durable, then the checkpoints, then the marker that says so. No marker where a log was set aside:
        the next start must look at it again."""
        for log in self.logs.values():
            log.close(now_ms)
        self.checkpoint_recovery_points()
        self.checkpoint_log_starts()
        self.checkpoint_high_watermarks()
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
    return min(open_ones, key=lambda each: len(each.logs) + len(each.corrupt), default=None)
