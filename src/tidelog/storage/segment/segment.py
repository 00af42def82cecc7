"""A segment: a stretch of the log in one file, with its indexes beside it.

    create / open -> append* -> seal -> (read until) change_suffix(".deleted") -> delete
                       ^ truncate_to makes a sealed one appendable again

- The `.log` is the truth: an append is one write of it, and then, in memory only, what follows for the indexes.
- Durability: `flush` of the segment that is appended to syncs its log. The first one after `seal` syncs the indexes
  too, so that behind the recovery point everything is durable, and in front of it everything is rebuilt.
- No file is held open: each use asks the descriptors. One thread, as everywhere.
"""

from collections.abc import Sequence
from typing import Final

from tidelog.ports.errors import DiskFull
from tidelog.ports.files import Buffer, FileRange, Ticket
from tidelog.records.header import NO_TIMESTAMP
from tidelog.storage.append.outcome import AppendedBatch
from tidelog.storage.errors import SegmentOverflowError
from tidelog.storage.names import LOG_SUFFIX, MAX_INT32, NO_SUFFIX, SEGMENT_KINDS
from tidelog.storage.segment.descriptors import Descriptors
from tidelog.storage.segment.facts import Located, Room
from tidelog.storage.segment.files import SegmentFiles
from tidelog.storage.segment.indexes import DEFAULT_INDEX_SETTINGS, IndexSettings, SegmentIndexes
from tidelog.storage.segment.log_file import SegmentLog
from tidelog.storage.segment.scan import ScannedChunk
from tidelog.storage.segment.search import (
    FoundRecord,
    Frame,
    first_ending_past,
    first_reaching,
    frame_at,
    frames,
    largest_timestamp,
)
from tidelog.storage.segment.time_search import Search, finish, first_at_time, latest_from
from tidelog.storage.segment.transaction_index import AbortedTxn

__all__ = ["IndexSettings", "Located", "Segment"]

NO_ROOM: Final = -1


class Segment:
    __slots__ = (
        "_files",
        "_first_timestamp",
        "_indexes_are_synced",
        "created_ms",
        "indexes",
        "is_sealed",
        "log",
        "roll_jitter_ms",
        "version",
    )

    def __init__(self, files: SegmentFiles, settings: IndexSettings, size_bytes: int, now_ms: int) -> None:
        """See `create` and `open`."""
        self._files = files
        self.log = SegmentLog(files, size_bytes)
        self._first_timestamp: int | None = None  # not read yet
        self._indexes_are_synced = True
        self.indexes = SegmentIndexes(files, settings)
        self.is_sealed = False
        self.created_ms = now_ms
        self.roll_jitter_ms = 0
        self.version = 0  # counts what moves batches: positions remembered under an older version are wrong

    @classmethod
    def create(
        cls,
        descriptors: Descriptors,
        directory: str,
        base_offset: int,
        settings: IndexSettings = DEFAULT_INDEX_SETTINGS,
        now_ms: int = 0,
        suffix: str = NO_SUFFIX,
        is_made: bool = False,
    ) -> "Segment":
        """Make an empty segment. Raises AlreadyExists when there is a log of that name, unless the empty file `is_made`
        already."""
        files = SegmentFiles(descriptors, directory, base_offset, suffix)
        files.create_log(is_made=is_made)
        segment = cls(files, settings, 0, now_ms)
        segment._start_indexes()
        return segment

    @classmethod
    def open(
        cls,
        descriptors: Descriptors,
        directory: str,
        base_offset: int,
        settings: IndexSettings = DEFAULT_INDEX_SETTINGS,
        now_ms: int = 0,
        suffix: str = NO_SUFFIX,
    ) -> "Segment":
        """Open a segment that is there; raises NotFound. Costs one `stat`; everything else is read when it is
        needed."""
        files = SegmentFiles(descriptors, directory, base_offset, suffix)
        size_bytes = descriptors.fs.stat(files.path(LOG_SUFFIX)).size
        return cls(files, settings, size_bytes, now_ms)

    # Facts

    @property
    def base_offset(self) -> int:
        return self._files.base_offset

    @property
    def path(self) -> str:
        """The path of the log."""
        return self.log.path

    @property
    def suffix(self) -> str:
        return self._files.state

    @property
    def size_bytes(self) -> int:
        """The size of the log alone."""
        return self.log.size_bytes

    @property
    def max_timestamp(self) -> int:
        """The largest timestamp; -1 where no record has one."""
        return self.indexes.largest().timestamp

    def largest_timestamp(self) -> int:
        """The time by which retention goes: the records' time, or the file's where they have none."""
        return self.max_timestamp if self.max_timestamp >= 0 else self.modified_ms()

    def modified_ms(self) -> int:
        return self.log.modified_ms()

    def first_timestamp(self) -> int:
        """The max timestamp of the first batch; -1 when it has none, or there is no batch."""
        if self._first_timestamp is None and self.size_bytes:
            self._first_timestamp = next(frames(self.log, 0, self.size_bytes)).max_timestamp
        return NO_TIMESTAMP if self._first_timestamp is None else self._first_timestamp

    def next_offset(self) -> int:
        """The offset after the last batch; the base offset of an empty segment. Walks from the last index entry."""
        offset, start = self.base_offset, self.indexes.offset.last_entry().position
        for frame in frames(self.log, start, self.size_bytes):
            offset = frame.last_offset + 1
        return offset

    # Appending

    def can_hold(self, last_offset: int) -> bool:
        """Tell whether the offset is near enough to the base for 32 bits."""
        return self.indexes.offset.can_hold(last_offset)

    def room(self, now_ms: int, segment_bytes: int, segment_ms: int) -> Room:
        """Return how much more belongs in here: by size, by age, as long as there is room in the indexes, and as far as
        the offsets are near enough to the base for 32 bits."""
        last_offset = self.base_offset + MAX_INT32
        if self.indexes.is_full:
            return Room(NO_ROOM, last_offset)
        room_bytes, lifetime_ms = segment_bytes - self.size_bytes, segment_ms - self.roll_jitter_ms
        if not self.size_bytes:
            return Room(room_bytes, last_offset)
        # By the records' own time where they have one, so that a log that is copied rolls as the original did.
        first_timestamp = self.first_timestamp()
        if first_timestamp >= 0:
            return Room(room_bytes, last_offset, first_timestamp + lifetime_ms)
        return Room(room_bytes if now_ms - self.created_ms <= lifetime_ms else NO_ROOM, last_offset)

    def room_at_most(self) -> Room:
        """Return the room that the 32 bits of offsets and positions leave, whatever the settings."""
        return Room(MAX_INT32 - self.size_bytes, self.base_offset + MAX_INT32)

    def append(self, pieces: Sequence[Buffer], batches: Sequence[AppendedBatch]) -> None:
        """Write the pieces, which are these batches one after another. See `SegmentLog.append` for faults; after one,
        flush before the next append."""
        assert not self.is_sealed, f"{self.path}: append after seal"
        position, last_offset = self.size_bytes, batches[-1].last_offset
        size_bytes = sum(batch.size_bytes for batch in batches)
        if not self.can_hold(last_offset) or position + size_bytes > MAX_INT32:
            raise SegmentOverflowError(self.path, f"offset {last_offset}, {size_bytes} bytes at position {position}")
        self.indexes.spill()  # before the log is written: a fault here has nothing to undo
        self.log.append(pieces, size_bytes)
        self._indexes_are_synced = False
        self.indexes.note_appended(position, batches)

    def append_aborted(self, aborted: AbortedTxn) -> None:
        """Note that an abort marker has been appended here."""
        self._indexes_are_synced = False
        self.indexes.note_aborted(aborted)

    # Reading

    def locate(
        self, offset: int, max_bytes: int, max_position: int | None = None, *, min_one_batch: bool = True
    ) -> Located | None:
        """Return the whole batches to send to a reader at `offset`: at most `max_bytes`, unless already the first is
        larger and `min_one_batch` asks for it all the same; never past `max_position`, at which a batch must end. None
        when the segment ends before the offset."""
        first = self.first_reaching(offset)
        if first is None:
            return None
        end = self.size_bytes if max_position is None else max_position
        first_end = first.position + first.size
        if first_end > end or (first.size > max_bytes and not min_one_batch):
            return Located(first.position, 0, first.base_offset)
        limit = first.position + max_bytes
        if limit < end:
            over = None if limit <= first_end else self.first_ending_past(first_end, end, limit)
            end = first_end if over is None else over.position
        return Located(first.position, end - first.position, first.base_offset)

    def first_reaching(self, offset: int) -> Frame | None:
        """Return the batch that holds the offset, or the next one that there is."""
        start = self.indexes.offset.lookup(offset).position
        return first_reaching(self.log, start, self.size_bytes, offset)

    def first_ending_past(self, position: int, end: int, limit: int) -> Frame | None:
        """Return the first batch from `position` on that ends past `limit`."""
        start = max(position, self.indexes.offset.lookup_position(limit).position)
        return first_ending_past(self.log, start, end, limit)

    def frame_at(self, position: int) -> Frame:
        """Return the batch that starts there."""
        return frame_at(self.log, position, self.size_bytes)

    def position_of(self, offset: int) -> int | None:
        """The position at which the batch starts that holds the offset, or the next one that there is."""
        frame = self.first_reaching(offset)
        return None if frame is None else frame.position

    def read(self, position: int, size_bytes: int) -> bytes:
        """Read from the log; fewer bytes mean the end of the segment."""
        return self.log.read(position, size_bytes)

    def file_range(self, position: int, size_bytes: int) -> FileRange:
        """Return a range for sendfile, which pins the file until it is released."""
        return self.log.file_range(position, size_bytes)

    def search_time(self, timestamp: int, from_offset: int) -> Search[FoundRecord | None]:
        """Search for the first record from `from_offset` on that is not before the time."""
        return first_at_time(self.log, self.indexes, self.size_bytes, timestamp, from_offset)

    def find_by_timestamp(self, timestamp: int, from_offset: int) -> FoundRecord | None:
        """Return what `search_time` finds, at once."""
        return finish(self.search_time(timestamp, from_offset))

    def search_latest(self, from_offset: int) -> Search[int]:
        """Search for the largest timestamp among the records at `from_offset` or later; -1 where there is none."""
        return latest_from(self.log, self.indexes, self.size_bytes, from_offset)

    def collect_aborted(self, fetch_offset: int, upper_bound_offset: int) -> tuple[list[AbortedTxn], bool]:
        """See `TransactionIndex.collect`."""
        return self.indexes.transaction.collect(fetch_offset, upper_bound_offset)

    # Truncating

    def truncate_to(self, offset: int) -> int:
        """Drop the batches that reach the offset, also one that begins before it; return how many bytes that was.

        Not synced: the caller lowers the recovery point first, and recovery tells old epochs from new. Indexes come
        first: an index that lacks entries is only slow, one that has too many is wrong.
        """
        position, before = self.position_of(offset), self.size_bytes
        self.version += 1
        self.indexes.truncate_to(offset)
        self.is_sealed = self._indexes_are_synced = False
        if position is not None or self.log.is_torn:
            self.log.truncate(before if position is None else position)
        position = self.size_bytes
        self._first_timestamp = self._first_timestamp if position else None
        largest = self.indexes.time.last_entry()
        start = self.indexes.offset.lookup(largest.offset).position
        self.indexes.correct_largest(largest_timestamp(self.log, start, position, largest))
        return before - position

    # Recovering: see `recover_segment`, which scans the log and calls these in order

    def forget_indexes(self) -> None:
        """Drop the indexes, to build them anew from what a scan of the log finds."""
        self.version += 1
        self.indexes.reset()
        self._start_indexes()
        self._files.has_new_names = True
        self._first_timestamp = None

    def index_scanned(self, chunk: ScannedChunk) -> None:
        """Add the batches that a scan has found next to the indexes."""
        batches = chunk.batches
        last_offset, end = batches.last_offsets[-1], chunk.position + batches.end
        if not self.can_hold(last_offset) or end > MAX_INT32:
            raise SegmentOverflowError(self.path, f"offset {last_offset}, which ends at position {end}")
        self.indexes.spill()
        self.indexes.note_batches(chunk.position, batches)

    def keep_scanned(self, valid_bytes: int) -> None:
        """End the recovery after the scan: truncate the log behind what it found valid, and write the indexes."""
        self.log.truncate(valid_bytes)
        self._write_indexes()

    def _start_indexes(self) -> None:
        """Have the files of the indexes written, however little there will be in them."""
        self.indexes.is_written = self._indexes_are_synced = False

    # Durability

    def seal(self) -> None:
        """Seal the segment when the log rolls: nothing more is appended here. The indexes are written, and the next
        flush syncs them."""
        self._write_indexes()
        self.is_sealed = True

    def _write_indexes(self) -> bool:
        """Write the indexes; tell whether their files have everything. Where there is no room the entries wait in
        memory, and are found there; each flush tries again, and until then recovery would scan the segment
        (`Flush.checkpoint`)."""
        try:
            self.indexes.write()
        except DiskFull:
            return False
        return True

    @property
    def lacks_indexes(self) -> bool:
        """Tell whether the segment is sealed, and there was no room for its indexes so far."""
        return self.is_sealed and not self.indexes.is_written

    @property
    def is_flushed(self) -> bool:
        """Tell whether a flush would have nothing to do."""
        return not self._paths_to_sync() and not self._files.has_new_names

    def _paths_to_sync(self) -> list[str]:
        kinds = [] if self.log.is_synced else [LOG_SUFFIX]
        if self.is_sealed and not self._indexes_are_synced and self._write_indexes():
            kinds += self.indexes.kinds()
        return [self._files.path(kind) for kind in kinds]

    def begin_flush(self, tickets: list[Ticket]) -> None:
        """Begin the syncs and add each to `tickets` at once: what was begun before a shortage is to be waited for all
        the same."""
        descriptors = self._files.descriptors
        for path in self._paths_to_sync():
            tickets.append(descriptors.fs.begin_sync(descriptors.open(path)))  # noqa: PERF401 - one by one
        if self._files.has_new_names:
            tickets.append(descriptors.fs.begin_sync_directory(self._files.directory))
        self._mark_flushed()

    def flush(self) -> None:
        """Sync everything, waiting for the disk."""
        descriptors = self._files.descriptors
        for path in self._paths_to_sync():
            descriptors.open(path).sync()
        if self._files.has_new_names:
            descriptors.fs.sync_directory(self._files.directory)
        self._mark_flushed()

    def begin_flush_cut(self, tickets: list[Ticket]) -> None:
        """Begin to sync log and indexes after `truncate_to`: a power loss must not bring batches and entries back
        before newer ones."""
        try:
            self.is_sealed = True
            self.begin_flush(tickets)
        finally:
            self.is_sealed = False

    def _mark_flushed(self) -> None:
        self.log.is_synced = True
        self._files.has_new_names = False
        self._indexes_are_synced = self._indexes_are_synced or (self.is_sealed and self.indexes.is_written)

    def close(self) -> None:
        """Write the index entries that wait, and give the descriptors back. Not a flush."""
        self.indexes.write()
        self._files.drop()

    # Names

    def change_suffix(self, suffix: str) -> None:
        """Rename all files. Durable after a sync of the directory, which the next flush does."""
        self._files.change_state(suffix)

    def directory_renamed(self, directory: str) -> None:
        """Take over the new name of the partition's directory."""
        self._files.move_to(directory)

    def delete(self) -> None:
        """Remove all files. Bytes that are being sent stay readable until they are sent."""
        for kind in SEGMENT_KINDS:
            self._files.remove(kind)
