"""`__cluster_metadata-0` on our own storage: appended to in groups, always synced, read up to the high watermark.

    append (staged)* -> commit: one write -> a sync, off the loop -> `synced_offset` moves
                     -> the quorum says what that commits -> `update_high_watermark`

One sync is under way at a time; what is written meanwhile shares the next. A fault that the log can not undo ends it:
`fault` says which, and the node has to stop, for without its metadata log it knows nothing for certain. A full disk is
no such fault: there is ballast to throw off (`ballast`), and beyond that the node waits for room.

How far the log is durable is written down beside it now and then (`recovery-point-offset-checkpoint`, in the form of
the one that a log directory has). It parts the end that a power loss may tear from what was acknowledged: damage behind
it is cut, damage before it refuses to start. Kafka has no such file here, and passes over ours.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final, NamedTuple

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.ports.errors import DiskFull, StorageFault, TooManyOpenFiles
from tidelog.ports.files import Completion, FileSystem, Lock, Ticket
from tidelog.ports.paths import join, parent_of
from tidelog.records.batch import RecordBatch, batches
from tidelog.server.metadata_log.ballast import TAKEN_FROM_BYTES, MetadataBallast
from tidelog.server.metadata_log.batches import MetadataBatch, read_metadata_batch
from tidelog.server.metadata_log.log_config import MetadataLogConfig
from tidelog.server.metadata_log.snapshots import SnapshotFile, SnapshotId
from tidelog.server.node.descriptor_budget import WAY_OUT
from tidelog.storage.append.outcome import AppendOrigin, Refused
from tidelog.storage.checkpoints.text import RECOVERY_POINT_CHECKPOINT, encode_offsets, write_offsets
from tidelog.storage.directories.failed_sync import is_failed_sync, mark_failed
from tidelog.storage.directories.operations import Operation, Operations, Steps
from tidelog.storage.log.group_commit import survives
from tidelog.storage.log.log import Log
from tidelog.storage.log.reading import FetchIsolation, read
from tidelog.storage.log.truncation import settle

METADATA_PARTITION: Final = TopicPartition("__cluster_metadata", 0)
READ_BYTES: Final = 256 << 10
CHECKPOINT_INTERVAL_MS: Final = 60_000
BALLAST_INTERVAL_MS: Final = 10_000
BALLAST_FIRST_MS: Final = 500


class MetadataShortage(NamedTuple):
    """Something that was not written, because the disk is full; it is tried again by itself."""

    log_dir: str
    wanted_bytes: int  # the free space that ends the shortage
    error: str


class MetadataLog:
    """The metadata log of this node: its log, snapshots and ballast."""

    def __init__(
        self,
        log: Log,
        config: MetadataLogConfig,
        snapshots: list[SnapshotFile],
        lock: Lock | None,
        ballast: MetadataBallast,
    ) -> None:
        """See `loading.load_metadata_log`."""
        self.log = log
        self.config = config
        self.ballast = ballast
        self.snapshots = snapshots  # the oldest first
        self.fault: StorageFault | None = None
        self.is_starved = False  # there was no room for the last write, nor any ballast left
        self.is_unread = False  # there was no descriptor to read it with, until `read_again`
        self._has_told_unread = False
        self.problems: list[str] = []  # that cost no more than time; the server takes them out and logs them
        self.shortages: list[MetadataShortage] = []  # likewise; more room would end these
        self.operations = Operations(self._operation_failed)
        self._lock = lock
        self._syncing: dict[Ticket, None] = {}
        self._checkpointed = log.flush.recovery_point
        self._checkpoint_due_ms: int | None = None
        self._checkpointing: Operation | None = None
        self._ballast_due_ms: int | None = None
        self._ballasting: Operation | None = None

    @property
    def fs(self) -> FileSystem:
        return self.log.fs

    @property
    def directory(self) -> str:
        return self.log.directory

    # Where it stands

    @property
    def end_offset(self) -> int:
        """The offset after everything written; what is staged comes on top."""
        return self.log.log_end_offset

    @property
    def synced_offset(self) -> int:
        return self.log.flush.recovery_point

    @property
    def high_watermark(self) -> int:
        return self.log.high_watermark

    @property
    def latest_snapshot(self) -> SnapshotId | None:
        return self.snapshots[-1].id if self.snapshots else None

    @property
    def last_epoch(self) -> int:
        """The epoch of the last record, or of the newest snapshot where the log has no records."""
        if self.log.epochs.latest_epoch is not None:
            return self.log.epochs.latest_epoch
        return 0 if self.latest_snapshot is None else self.latest_snapshot.epoch

    @property
    def is_busy(self) -> bool:
        """Tell whether something is on its way to the disk."""
        return bool(self._syncing) or len(self.operations) > 0

    # Writing

    def append(self, batch: bytes, epoch: int, wall_ms: int) -> int:
        """Stage one batch; return the offset behind it, as it is once `commit` has written the batch."""
        buffer = memoryview(bytearray(batch))
        staged = self.log.append_as_leader(buffer, 0, len(buffer), epoch, wall_ms, AppendOrigin.RAFT_LEADER)
        if isinstance(staged, Refused):
            raise AssertionError(f"the metadata log refuses a batch of ours: {staged.code.name}: {staged.message}")
        return staged.last_offset + 1

    def commit(self, wall_ms: int) -> bool:
        """Write what is staged and begin its sync; False where nothing of it was written, and all of it is undone."""
        if not self.makes_room():
            self.log.abandon()
            return False
        fault = self.log.commit(wall_ms)
        if fault is not None:
            self._undone(fault)
            return False
        self.is_starved = False
        self._begin_sync(wall_ms)
        return self.fault is None

    def makes_room(self) -> bool:
        """Give the ballast's room back before a write, where the disk is nearly full. False where the log has failed. A
        ballast that can not be removed just now is no reason not to try."""
        self._released(self.ballast.release_if_low)
        return self.fault is None

    def _released(self, release: Callable[[], bool]) -> bool:
        try:
            return self.fault is None and release()
        except StorageFault as fault:
            if survives(fault):
                self._note(fault)
            else:
                self.fail(fault)
            return False

    def _undone(self, fault: StorageFault) -> None:
        """Note a write that failed. After a full disk the log is as it was before, once that is durable."""
        if survives(fault):
            self.note_shortage(fault)
            self.operations.begin(self.directory, settle(self.log))
        else:
            self.fail(fault)

    def note_shortage(self, fault: StorageFault) -> bool:
        """Note that something could not be written for want of room, or of descriptors; return whether the ballast
        makes up for it."""
        self._note(fault)
        is_helped = isinstance(fault, DiskFull) and self._released(self.ballast.release)
        self.is_starved = isinstance(fault, DiskFull) and not is_helped
        return is_helped

    def _note(self, fault: StorageFault) -> None:
        if isinstance(fault, DiskFull):
            self.shortages.append(MetadataShortage(parent_of(self.directory), TAKEN_FROM_BYTES, str(fault)))
        else:
            self.problems.append(str(fault))

    def _begin_sync(self, wall_ms: int) -> None:
        try:
            if self.log.flush.is_due(self.log, wall_ms):
                self._syncing.update(dict.fromkeys(self.log.flush.begin(self.log)))
        except StorageFault as fault:
            self.fail(fault)

    def complete(self, completions: Iterable[Completion], wall_ms: int) -> bool:
        """Take in the log's own syncs and operations among the completions; return whether `synced_offset` moved."""
        before = self.synced_offset
        for completion in completions:
            self.operations.complete(completion)
            if self._syncing.pop(completion.ticket, completion) is None:
                fault = self.log.flush.complete(self.log, completion)
                if fault is not None:
                    self.fail(fault)
                elif completion.fault is not None:
                    self.note_shortage(completion.fault)
        if not self._syncing and self.fault is None:
            self._begin_sync(wall_ms)
        return self.synced_offset > before and self.fault is None

    def update_high_watermark(self, offset: int) -> None:
        assert self.high_watermark <= offset <= self.synced_offset, "only what is synced is committed"
        self.log.update_high_watermark(offset)

    def fail(self, fault: StorageFault) -> None:
        """Stop using the log because of a fault. The first fault is kept as the reason."""
        if self.fault is None:
            self.fault = fault
            self.log.abandon()
            if is_failed_sync(fault):
                mark_failed(self.fs, parent_of(self.directory))

    # Reading

    def read(self, offset: int, isolation: FetchIsolation = FetchIsolation.HIGH_WATERMARK) -> list[MetadataBatch]:
        """Return some batches from `offset` on, which begins one; none at the end of what may be read."""
        return [read_metadata_batch(batch) for batch in self.read_encoded(offset, isolation)]

    def read_encoded(self, offset: int, isolation: FetchIsolation) -> list[RecordBatch]:
        """Return the same batches undecoded, with nothing checked but the frames."""
        answer = read(self.log, offset, READ_BYTES, isolation)
        assert answer.code is ErrorCode.NONE, f"offset {offset}: {answer.code.name}"
        found = list(batches(answer.read_all()))
        self._has_told_unread = False
        return found

    def note_unread(self, shortage: TooManyOpenFiles) -> None:
        """Note that the log could not be read for want of a descriptor. That is told once, until something was read
        again."""
        self.is_unread = True
        if not self._has_told_unread:
            self._has_told_unread = True
            self.problems.append(f"{shortage}; {WAY_OUT}")

    def read_again(self) -> None:
        self.is_unread = False

    # From time to time

    def checkpoint_if_due(self, now_ms: int) -> None:
        """Write down how far the log is durable, once a minute while that moves."""
        if self.fault is not None or self.log.flush.checkpoint == self._checkpointed:
            self._checkpoint_due_ms = None
        elif self._checkpoint_due_ms is None:
            self._checkpoint_due_ms = now_ms + CHECKPOINT_INTERVAL_MS
        elif now_ms >= self._checkpoint_due_ms and (self._checkpointing is None or self._checkpointing.is_done):
            self._checkpoint_due_ms = None
            self._checkpointing = self.operations.begin(self.directory, self._checkpoint_steps())

    def _checkpoint_steps(self) -> Steps:
        offset = self.log.flush.checkpoint
        contents = encode_offsets({METADATA_PARTITION: offset})
        yield [self.fs.begin_replace(join(self.directory, RECOVERY_POINT_CHECKPOINT), contents)]
        self._checkpointed = offset

    def take_ballast_if_due(self, now_ms: int) -> None:
        """Take the ballast (again) when there is room; every ten seconds the disk is looked at."""
        if self.ballast.is_held or self.fault is not None:
            return
        if self._ballast_due_ms is None:
            self._ballast_due_ms = now_ms + BALLAST_FIRST_MS  # a start has better things to do
        elif now_ms >= self._ballast_due_ms and (self._ballasting is None or self._ballasting.is_done):
            self._ballast_due_ms = now_ms + BALLAST_INTERVAL_MS
            if self.ballast.can_be_taken:
                self._ballasting = self.operations.begin(self.directory, self.ballast.taking())

    def _operation_failed(self, _operation: Operation, fault: StorageFault) -> None:
        """Note that a checkpoint, snapshot or ballast could not be written. Without room that costs time at the next
        start and nothing else."""
        if survives(fault):
            self._note(fault)
        else:
            self.fail(fault)

    # The end of it

    def close(self, wall_ms: int) -> None:
        """Close the log in order; nothing may be under way."""
        assert not self.is_busy
        if self.makes_room():
            with suppress(DiskFull):  # the records are on disk; the next start has more to scan
                self.log.close(wall_ms)
                path = join(self.directory, RECOVERY_POINT_CHECKPOINT)
                write_offsets(self.fs, path, {METADATA_PARTITION: self.log.flush.checkpoint})
        self.release()

    def release(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None
