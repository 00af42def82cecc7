"""One partition's log: its segments, producers and epochs, and the offsets that bound what may be read.

    log start offset <= last stable offset <= high watermark <= log end offset
                        recovery point: anywhere, everything below it is on disk

Appends are staged and then committed together (`group_commit`), reads are bounded by one of the offsets above
(`reading`), old segments go by `retention`, bytes reach the disk by `flush`. Here is what all of them share: rolling,
truncating, and the moves of the offsets.

`generation` counts what makes a cleaning that is under way worthless: truncation, deleted records, a move. Whoever
prepares new segments beside the log compares it before swapping them in.

A StorageFault that leaves any of this means that the log directory has to go offline (`log_directory`); the state in
memory is then that of a log which nobody uses any more.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from tidelog.config.topic_config import TopicConfig
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition, Uuid
from tidelog.ports.errors import DiskFull, StorageFault
from tidelog.ports.files import FileSystem
from tidelog.storage.append.follower_check import check_follower
from tidelog.storage.append.outcome import AppendOrigin, Refused, refused_while_cut
from tidelog.storage.append.rules import AppendRules, append_rules
from tidelog.storage.append.validation import validate_and_assign
from tidelog.storage.log.flush import Flush
from tidelog.storage.log.group_commit import Append, GroupCommit
from tidelog.storage.log.leader_epochs import LeaderEpochs
from tidelog.storage.log.read_positions import ReadPositions
from tidelog.storage.log.segments import LogSegments
from tidelog.storage.names import MAX_INT64
from tidelog.storage.producers.replay import snapshot_at_roll
from tidelog.storage.producers.snapshots import ProducerSnapshots, take_snapshot
from tidelog.storage.producers.state import ProducerState
from tidelog.storage.producers.verification import VerificationGuard
from tidelog.storage.segment.deleted_segments import DeletedSegment, delete_expired
from tidelog.storage.segment.descriptors import Descriptors
from tidelog.storage.segment.segment import Segment
from tidelog.storage.segment.settings import index_settings, roll_jitter_ms

if TYPE_CHECKING:
    from tidelog.storage.log.swap import LogSwap

NEVER_TRUNCATED: Final = MAX_INT64
NO_EPOCH: Final = -1


class Log:
    __slots__ = (
        "_group",
        "_next_epoch",
        "config",
        "deleted",
        "descriptors",
        "directory",
        "epochs",
        "flush",
        "generation",
        "high_watermark",
        "is_being_cleaned",
        "is_to_be_cut_back",
        "log_end_offset",
        "log_start_offset",
        "on_start_moved",
        "positions",
        "producers",
        "rules",
        "segments",
        "snapshots",
        "swap",
        "topic_id",
        "topic_partition",
        "truncated_to",
        "unsettled",
        "unsynced_snapshots",
    )

    def __init__(
        self,
        directory: str,
        topic_partition: TopicPartition,
        config: TopicConfig,
        rules: AppendRules,
        descriptors: Descriptors,
        segments: LogSegments,
        producers: ProducerState,
        snapshots: ProducerSnapshots,
        epochs: LeaderEpochs,
        flush: Flush,
        log_start_offset: int,
        log_end_offset: int,
    ) -> None:
        """See `loader`, which makes every log."""
        self.directory = directory
        self.topic_partition = topic_partition
        self.topic_id: Uuid | None = None  # None: the log has no topic id on disk yet
        self.config = config
        self.rules = rules
        self.descriptors = descriptors
        self.segments = segments
        self.producers = producers
        self.snapshots = snapshots
        self.epochs = epochs
        self.flush = flush
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset
        self.high_watermark = log_start_offset
        self.generation = 0
        self.is_being_cleaned = False  # by a worker, whose sources retention leaves where they are
        self.swap: LogSwap | None = None  # under way: nobody else may touch the closed segments
        self.positions = ReadPositions()
        self.on_start_moved: Callable[[], None] | None = None  # called when the log start moves, by retention too
        self.truncated_to = NEVER_TRUNCATED  # the lowest end it was cut to since its copier looked (`future_log`)
        self.deleted: list[DeletedSegment] = []
        self.unsynced_snapshots: list[int] = []  # offsets of those written since the last flush
        self.is_to_be_cut_back = False  # there was no descriptor to take back what a failed commit wrote
        self.unsettled = 0  # cuts that are under way, or not durable yet
        self._group: GroupCommit | None = None
        self._next_epoch = NO_EPOCH  # an epoch that was begun while something was staged: it begins after the commit

    @property
    def is_unsettled(self) -> bool:
        """Tell whether a cut is not durable yet. Nothing is appended, flushed or rolled then: a power loss that undoes
        the cut would leave old records amid new ones. Reading goes on: every step of a cut leaves a whole log."""
        return self.unsettled > 0

    @property
    def fs(self) -> FileSystem:
        return self.descriptors.fs

    @property
    def size_bytes(self) -> int:
        return self.segments.size_bytes

    def reconfigure(self, config: TopicConfig) -> None:
        """Take over the topic's new settings, for what is appended, rolled, flushed and retained from now on. The size
        of an active segment's indexes stays what it was when they were made."""
        self.config = config
        self.rules = append_rules(config, self.rules.inflater)

    # Appending

    def append_as_leader(
        self,
        buffer: memoryview,
        start: int,
        end: int,
        leader_epoch: int,
        now_ms: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        *,
        guard: VerificationGuard | None = None,
        transaction_version: int | None = None,
        allows_zstd: bool = True,
        is_inline: bool = False,
    ) -> Append | Refused:
        """Stage the batch in `buffer[start:end]`, which must stay as it is until `commit`. With `is_inline` the answer
        may be TooHeavy: then the batch has to be prepared (`append.preparation`)."""
        if self.unsettled:
            return refused_while_cut(self.directory)
        group = self.staging()
        validated = validate_and_assign(
            buffer,
            start,
            end,
            group.end_offset,
            now_ms,
            leader_epoch,
            self.rules,
            origin,
            allows_zstd=allows_zstd,
            is_inline=is_inline,
        )
        if isinstance(validated, Refused):
            return validated
        return group.stage(validated, origin, now_ms, guard, transaction_version)

    def append_as_follower(
        self, buffer: memoryview, start: int, end: int, leader_epoch: int, now_ms: int, *, allows_gaps: bool = True
    ) -> Append | Refused:
        """Stage whole batches that a leader sent, at the offsets that they have there."""
        if self.unsettled:
            return refused_while_cut(self.directory)
        group = self.staging()
        first_offset = group.end_offset
        checked = check_follower(buffer, start, end, first_offset, leader_epoch, allows_gaps=allows_gaps)
        if isinstance(checked, Refused):
            return checked
        if not checked.batches:
            return Append(first_offset, first_offset - 1, code=ErrorCode.NONE)
        return group.stage_replicated(checked, now_ms)

    def staging(self) -> GroupCommit:
        """Return the appends of this turn."""
        if self._group is None:
            self._group = GroupCommit(self)
        return self._group

    @property
    def staged_bytes(self) -> int:
        return 0 if self._group is None else self._group.size_bytes

    @property
    def is_staging(self) -> bool:
        """Tell whether appends of this turn wait for `commit`."""
        return self._group is not None

    def commit(self, now_ms: int) -> StorageFault | None:
        """Write what is staged, in one write a segment; see `GroupCommit.commit`."""
        group, self._group = self._group, None
        fault = None if group is None else group.commit(now_ms)
        if self._next_epoch != NO_EPOCH:
            self.begin_epoch(self._next_epoch)
        return fault

    def abandon(self) -> None:
        """Answer what is staged KAFKA_STORAGE_ERROR and write nothing of it."""
        group, self._group = self._group, None
        if group is not None:
            group.fail()
        if self._next_epoch != NO_EPOCH:
            self.begin_epoch(self._next_epoch)

    @property
    def acknowledgeable_offset(self) -> int:
        """The offset below which appends may be answered, and from which a follower may ask its leader for more. With
        `flush.messages=1` that is what has been synced; otherwise what has been written."""
        return self.flush.recovery_point if self.config.flush_messages == 1 else self.log_end_offset

    # What a commit is made of (`group_commit`)

    def roll_files(self, base_offset: int, now_ms: int) -> None:
        """Make a new active segment, unless an empty one begins there already."""
        active = self.segments.active
        if active.size_bytes == 0 and active.base_offset == base_offset:
            return
        active.seal()
        try:
            self.segments.add(self.create_segment(base_offset, now_ms))
        except StorageFault:
            active.is_sealed = False  # it stays the active one
            raise
        self.flush.ask(self)

    def create_segment(self, base_offset: int, now_ms: int, is_made: bool = False) -> Segment:
        """Make a segment. Its name is durable with the next flush. Until then a power loss may take it, and leave that
        of a later one: recovery sees the hole, which lies past the recovery point, and cuts there."""
        settings = index_settings(self.config)
        segment = Segment.create(self.descriptors, self.directory, base_offset, settings, now_ms, is_made=is_made)
        segment.roll_jitter_ms = roll_jitter_ms(self.topic_partition, base_offset, self.config.segment_jitter_ms)
        return segment

    def assign_epoch(self, leader_epoch: int, start_offset: int) -> None:
        """Note that a batch of this epoch was written at this offset."""
        if leader_epoch >= 0 and leader_epoch != self.epochs.latest_epoch:
            self.epochs.assign(leader_epoch, start_offset)

    def begin_epoch(self, leader_epoch: int) -> None:
        """Let a new leader's epoch begin where the log ends, before its first record. Where something is staged, which
        is of the epoch before, it begins after the commit."""
        if self._group is not None and self._group.end_offset > self.log_end_offset:
            self._next_epoch = leader_epoch
            return
        self._next_epoch = NO_EPOCH
        self.assign_epoch(leader_epoch, self.log_end_offset)

    def advance_end(self, log_end_offset: int, now_ms: int) -> None:
        self.log_end_offset = log_end_offset
        self.flush.note_append(self, now_ms)

    def cut_back(self) -> None:
        """Take back what a failed commit wrote beyond the end of the log. To be settled (`truncation.settle`) before
        the next append: after a power loss it could return, and lie where other records have been acknowledged
        since."""
        self.delete_segments(self.segments.beyond(self.log_end_offset))
        self.segments.active.truncate_to(self.log_end_offset)

    # Rolling, truncating, deleting

    def roll(self, now_ms: int) -> None:
        """Roll whatever the segment's size and age, unless it is empty, or the log too new. Nothing may be staged."""
        assert self._group is None
        assert not self.unsettled
        if self.segments.active.base_offset == self.log_end_offset:
            return
        if self.flush.is_new:
            self.flush.ask(self)
            return
        self.roll_files(self.log_end_offset, now_ms)
        snapshot_at_roll(self, self.log_end_offset)

    def finish_swap(self) -> None:
        """Complete a swap that has begun, waiting for the disk, before anybody else changes closed segments."""
        if self.swap is not None:
            self.swap.finish()

    def end_if_truncated_to(self, offset: int) -> int:
        """The offset at which a truncation ends: a batch that begins before `offset` and reaches it goes whole."""
        if not self.segments.first.base_offset <= offset < self.log_end_offset:
            return min(offset, self.log_end_offset)
        cut = self.segments.holding(offset).locate(offset, 1)
        return offset if cut is None else min(offset, cut.base_offset)

    def set_end(self, end_offset: int) -> None:
        """Note that the log was cut at this offset."""
        self.log_end_offset = end_offset
        self.truncated_to = min(self.truncated_to, end_offset)
        self.log_start_offset = min(self.log_start_offset, end_offset)
        self.high_watermark = min(self.high_watermark, end_offset)
        self.epochs.truncate_from_end(end_offset)
        self.flush.truncate(end_offset, self.segments.active.base_offset)

    def delete_segments(self, segments: Sequence[Segment]) -> int:
        """Delete these, the last first, so that a crash leaves no hole. After a fault the rest can be deleted again."""
        for segment in reversed(segments):
            self.snapshots.remove(segment.base_offset)
            segment.delete()
            self.segments.remove(segment)
        return len(segments)

    def begin_at(self, offset: int) -> None:
        """Note that the log is empty, and the next record gets this offset."""
        self.epochs.clear()
        self.log_start_offset = self.log_end_offset = self.high_watermark = offset
        self.truncated_to = 0
        self.flush.truncate(offset, offset)

    def advance_log_start(self, offset: int) -> bool:
        """Hide the records below `offset`, but never past the high watermark; tell whether the start moved. Their
        segments go with the next retention."""
        offset = min(offset, self.high_watermark)
        if offset <= self.log_start_offset:
            return False
        self.generation += 1
        self.log_start_offset = offset
        self.epochs.truncate_from_start(offset)
        self.producers.advance_log_start(offset, self.snapshots.latest)
        if self.on_start_moved is not None:
            self.on_start_moved()
        return True

    def delete_records(self, offset: int) -> ErrorCode:
        """Delete the records below `offset`, as DeleteRecords asks; -1 is everything up to the high watermark."""
        target = self.high_watermark if offset == -1 else offset
        if not 0 <= target <= self.high_watermark:
            return ErrorCode.OFFSET_OUT_OF_RANGE
        self.advance_log_start(target)
        return ErrorCode.NONE

    # How far readers may go

    def update_high_watermark(self, offset: int) -> int:
        """Set the high watermark, but within the log whatever the leader says; return what it became."""
        self.high_watermark = max(self.log_start_offset, min(offset, self.log_end_offset))
        self.producers.advance_high_watermark(self.high_watermark)
        return self.high_watermark

    @property
    def last_stable_offset(self) -> int:
        """The offset below which every transaction is decided, for good."""
        unstable = self.producers.first_unstable_offset
        if unstable is None or unstable >= self.high_watermark:
            return self.high_watermark
        return max(unstable, self.log_start_offset)

    # Closing

    def close(self, now_ms: int) -> None:
        """Bring everything to the disk, the producers in a snapshot, so that the next start has nothing to scan. Raises
        DiskFull where there was no room for all indexes, or for a cut: the next start has to scan."""
        self.abandon()
        if self.is_untouched:
            return
        if self.is_unsettled:
            raise DiskFull(self.directory, "there was no room to cut it")
        self.finish_swap()
        with suppress(DiskFull):  # the next start replays the last segment instead
            take_snapshot(self.producers, self.snapshots)
        self.segments.active.seal()  # so that its indexes are synced as well
        self.flush.now(self)
        for segment in self.segments:
            segment.close()
        while delete_expired(self, now_ms):
            pass

    @property
    def is_untouched(self) -> bool:
        """Tell whether it never had a record, nor anything synced: whatever a power loss takes of it is made anew."""
        return self.flush.is_new and not self.log_end_offset and not self.size_bytes

    def directory_renamed(self, directory: str) -> None:
        """Take over the new name of the partition's directory: it is to be deleted, or has been moved."""
        self.generation += 1
        self.directory = self.snapshots.directory = directory
        for segment in [*self.segments, *(each.segment for each in self.deleted)]:
            segment.directory_renamed(directory)
