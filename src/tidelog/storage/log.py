"""One partition's log: its segments, producers and epochs, and the offsets that bound what may be read.

    log start offset <= last stable offset <= high watermark <= log end offset
                        recovery point: anywhere, everything below it is on disk

Appends are staged and then committed together (`log_append`), reads are bounded by one of the offsets above
(`log_read`), old segments go by `retention`, bytes reach the disk by `flush`. Here is what all of them share: rolling,
truncating, and the moves of the offsets.

`generation` counts what makes a cleaning that is under way worthless: truncation, deleted records, a move. Whoever
prepares new segments beside the log compares it before swapping them in.

A StorageFault that leaves any of this means that the log directory has to go offline (`log_directory`); the state in
memory is then that of a log which nobody uses any more.
"""

from collections.abc import Sequence
from typing import NamedTuple
from zlib import crc32

from tidelog.config.topic_config import TopicConfig
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition, Uuid
from tidelog.ports.errors import StorageFault
from tidelog.ports.files import FileSystem
from tidelog.storage.append_rules import AppendRules
from tidelog.storage.appended import AppendOrigin, Refused
from tidelog.storage.descriptors import Descriptors
from tidelog.storage.flush import Flush
from tidelog.storage.follower_check import check_follower
from tidelog.storage.leader_epochs import LeaderEpochs
from tidelog.storage.log_append import Append, GroupCommit
from tidelog.storage.log_segments import LogSegments
from tidelog.storage.producer_replay import rebuild_producers, snapshot_at_roll
from tidelog.storage.producer_snapshots import ProducerSnapshots, take_snapshot, truncate_fully
from tidelog.storage.producer_state import ProducerState
from tidelog.storage.producer_verification import VerificationGuard
from tidelog.storage.segment import Incoming, Segment
from tidelog.storage.segment_indexes import IndexSettings
from tidelog.storage.small_files import remove_if_present
from tidelog.storage.validation import validate_and_assign


class DeletedSegment(NamedTuple):
    """Renamed, and waiting: a reader that asked for it just before may still open it."""

    due_ms: int
    segment: Segment
    snapshot_path: str | None


class Log:
    __slots__ = (
        "_group",
        "config",
        "deleted",
        "descriptors",
        "directory",
        "epochs",
        "flush",
        "generation",
        "high_watermark",
        "log_end_offset",
        "log_start_offset",
        "producers",
        "rules",
        "segments",
        "snapshots",
        "topic_id",
        "topic_partition",
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
        """See `log_loader`."""
        self.directory = directory
        self.topic_partition = topic_partition
        self.topic_id: Uuid | None = None  # not known to a log that nobody has named it to yet
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
        self.deleted: list[DeletedSegment] = []
        self.unsynced_snapshots: list[int] = []  # offsets of those written since the last flush
        self._group: GroupCommit | None = None

    @property
    def fs(self) -> FileSystem:
        return self.descriptors.fs

    @property
    def size_bytes(self) -> int:
        return self.segments.size_bytes

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
    ) -> Append | Refused:
        """Stage the batch in `buffer[start:end]`, which must stay as it is until `commit`."""
        group = self._staging()
        validated = validate_and_assign(
            buffer, start, end, group.end_offset, now_ms, leader_epoch, self.rules, origin, allows_zstd=allows_zstd
        )
        if isinstance(validated, Refused):
            return validated
        return group.stage(validated, origin, now_ms, guard, transaction_version)

    def append_as_follower(
        self, buffer: memoryview, start: int, end: int, leader_epoch: int, now_ms: int, *, allows_gaps: bool = True
    ) -> Append | Refused:
        """Stage whole batches that a leader sent, at the offsets that they have there."""
        group = self._staging()
        first_offset = group.end_offset
        checked = check_follower(buffer, start, end, first_offset, leader_epoch, allows_gaps=allows_gaps)
        if isinstance(checked, Refused):
            return checked
        if not checked.batches:
            return Append(first_offset, first_offset - 1, code=ErrorCode.NONE)
        return group.stage_replicated(checked, now_ms)

    def _staging(self) -> GroupCommit:
        if self._group is None:
            self._group = GroupCommit(self)
        return self._group

    @property
    def staged_bytes(self) -> int:
        return 0 if self._group is None else self._group.size_bytes

    def commit(self, now_ms: int) -> StorageFault | None:
        """Write what is staged, in one write a segment; see `GroupCommit.commit`."""
        group, self._group = self._group, None
        return None if group is None else group.commit(now_ms)

    def abandon(self) -> None:
        """Answer what is staged KAFKA_STORAGE_ERROR and write nothing of it."""
        group, self._group = self._group, None
        if group is not None:
            group.fail()

    @property
    def acknowledgeable_offset(self) -> int:
        """Appends below it may be answered, and a follower may ask its leader for what comes next. With
        `flush.messages=1` that is what has been synced; otherwise what has been written."""
        return self.flush.recovery_point if self.config.flush_messages == 1 else self.log_end_offset

    # What a commit is made of (`log_append`)

    def should_roll(self, incoming: Incoming, now_ms: int) -> bool:
        config = self.config
        return self.segments.active.should_roll(now_ms, incoming, config.segment_bytes_max, config.segment_ms_max)

    def roll_files(self, base_offset: int, now_ms: int) -> None:
        """A new active segment; an empty one that begins there already will do."""
        active = self.segments.active
        if active.size_bytes == 0 and active.base_offset == base_offset:
            return
        active.seal()
        self.segments.add(self.create_segment(base_offset, now_ms))
        self.flush.is_asked_for = True

    def create_segment(self, base_offset: int, now_ms: int) -> Segment:
        """Its name is durable, and so are those before it: after a power loss no segment is missing in the middle."""
        settings = index_settings(self.config)
        segment = Segment.create(self.descriptors, self.directory, base_offset, settings, now_ms)
        segment.roll_jitter_ms = roll_jitter_ms(self.topic_partition, base_offset, self.config.segment_jitter_ms)
        self.fs.sync_directory(self.directory)
        return segment

    def assign_epoch(self, leader_epoch: int, start_offset: int) -> None:
        """Also what a new leader does before its first record: its epoch begins where the log ends."""
        if leader_epoch >= 0 and leader_epoch != self.epochs.latest_epoch:
            self.epochs.assign(leader_epoch, start_offset)

    def advance_end(self, log_end_offset: int, now_ms: int) -> None:
        self.log_end_offset = log_end_offset
        self.flush.note_append(now_ms)

    def cut_back(self) -> None:
        """Take back what a failed commit wrote beyond the end of the log, durably: were it to return after a power
        loss, it would lie where other records have been acknowledged since."""
        beyond = self.segments.beyond(self.log_end_offset)
        self.delete_segments(beyond)
        if self.segments.active.truncate_to(self.log_end_offset) or beyond:
            self.segments.active.flush()
            self.fs.sync_directory(self.directory)

    # Rolling, truncating, deleting

    def roll(self, now_ms: int) -> None:
        """Whatever the segment's size and age, unless it is empty. Nothing may be staged."""
        assert self._group is None
        if self.segments.active.base_offset == self.log_end_offset:
            return
        self.roll_files(self.log_end_offset, now_ms)
        snapshot_at_roll(self, self.log_end_offset)

    def truncate_to(self, offset: int, now_ms: int) -> bool:
        """Drop the records from `offset` on (and those that share a batch with it); whether there were any.

        The recovery point must have been lowered on disk before (`LogDirectory.prepare_truncation`): otherwise what
        comes in place of these records would count as synced.
        """
        assert self._group is None
        if offset >= self.log_end_offset:
            self.epochs.truncate_from_end(self.log_end_offset)
            return False
        if offset < self.segments.first.base_offset:
            self.truncate_fully_and_start_at(offset, now_ms)
            return True
        self.generation += 1
        end_offset = self.end_if_truncated_to(offset)
        names_changed = bool(self.delete_segments(self.segments.beyond(offset)))
        self.segments.active.truncate_to(offset)
        self.segments.active.flush_cut()
        self._set_end(end_offset)
        known = len(self.snapshots.offsets)
        rebuild_producers(self, now_ms)
        if names_changed or len(self.snapshots.offsets) != known:
            self.fs.sync_directory(self.directory)  # a segment or snapshot that came back would contradict the log
        return True

    def end_if_truncated_to(self, offset: int) -> int:
        """Where a truncation really ends: a batch that begins before `offset` and reaches it goes as a whole."""
        if not self.segments.first.base_offset <= offset < self.log_end_offset:
            return min(offset, self.log_end_offset)
        cut = self.segments.holding(offset).locate(offset, 1)
        return offset if cut is None else min(offset, cut.base_offset)

    def _set_end(self, end_offset: int) -> None:
        self.log_end_offset = end_offset
        self.log_start_offset = min(self.log_start_offset, end_offset)
        self.high_watermark = min(self.high_watermark, end_offset)
        self.epochs.truncate_from_end(end_offset)
        self.flush.truncate(end_offset, self.segments.active.base_offset)

    def delete_segments(self, segments: Sequence[Segment]) -> int:
        """At once, the last first, so that a crash leaves a log without holes."""
        for segment in reversed(segments):
            self.segments.remove(segment)
            self.snapshots.remove(segment.base_offset)
            segment.delete()
        return len(segments)

    def truncate_fully_and_start_at(self, offset: int, now_ms: int) -> None:
        """Drop everything; the next record gets this offset. The same must have been done before as for truncate_to."""
        assert self._group is None
        self.generation += 1
        self.delete_segments(list(self.segments))
        truncate_fully(self.producers, self.snapshots, offset)
        self.epochs.clear()
        self.segments.add(self.create_segment(offset, now_ms))
        self.fs.sync_directory(self.directory)
        self.log_start_offset = self.log_end_offset = self.high_watermark = offset
        self.flush.truncate(offset, offset)
        self.flush.recovery_point = self.flush.indexes_durable_to = offset

    def advance_log_start(self, offset: int) -> bool:
        """Records below `offset` are gone for readers, by retention or DeleteRecords; their segments go with the next
        retention. Never past the high watermark; whether it moved."""
        offset = min(offset, self.high_watermark)
        if offset <= self.log_start_offset:
            return False
        self.generation += 1
        self.log_start_offset = offset
        self.epochs.truncate_from_start(offset)
        self.producers.advance_log_start(offset, self.snapshots.latest)
        return True

    def delete_records(self, offset: int) -> ErrorCode:
        """DeleteRecords: -1 is everything up to the high watermark."""
        target = self.high_watermark if offset == -1 else offset
        if not 0 <= target <= self.high_watermark:
            return ErrorCode.OFFSET_OUT_OF_RANGE
        self.advance_log_start(target)
        return ErrorCode.NONE

    # How far readers may go

    def update_high_watermark(self, offset: int) -> int:
        """Between the start and the end of the log, whatever the leader says; returns what it became."""
        self.high_watermark = max(self.log_start_offset, min(offset, self.log_end_offset))
        self.producers.advance_high_watermark(self.high_watermark)
        return self.high_watermark

    @property
    def last_stable_offset(self) -> int:
        """Below it every transaction is decided, for good."""
        unstable = self.producers.first_unstable_offset
        if unstable is None or unstable >= self.high_watermark:
            return self.high_watermark
        return max(unstable, self.log_start_offset)

    # The end of it

    def close(self, now_ms: int) -> None:
        """Everything on disk, and the producers in a snapshot, so that the next start has nothing to scan."""
        self.abandon()
        take_snapshot(self.producers, self.snapshots)
        self.segments.active.seal()  # so that its indexes are synced as well
        self.flush.now(self)
        for segment in self.segments:
            segment.close()
        self.delete_expired_files(now_ms)

    def delete_expired_files(self, now_ms: int) -> int:
        """Segments that retention took away and whose `file.delete.delay.ms` is over; how many."""
        due = [each for each in self.deleted if each.due_ms <= now_ms]
        self.deleted = [each for each in self.deleted if each.due_ms > now_ms]
        for each in due:
            each.segment.delete()
            if each.snapshot_path is not None:
                remove_if_present(self.fs, each.snapshot_path)
        return len(due)

    def directory_renamed(self, directory: str) -> None:
        """The partition's directory has another name: it is to be deleted, or has been moved."""
        self.generation += 1
        self.directory = self.snapshots.directory = directory
        for segment in [*self.segments, *(each.segment for each in self.deleted)]:
            segment.directory_renamed(directory)


def index_settings(config: TopicConfig) -> IndexSettings:
    return IndexSettings(config.index_interval_bytes, config.segment_index_bytes)


def roll_jitter_ms(topic_partition: TopicPartition, base_offset: int, jitter_ms: int) -> int:
    """By how much earlier than `segment.ms` a segment rolls. Spread by a hash, not by chance: a restart or another
    replica comes to the same."""
    return crc32(f"{topic_partition} {base_offset}".encode()) % jitter_ms if jitter_ms else 0
