"""Reading one log: by offset, bounded by what the reader may see; and by time.

Nothing is copied: a read is answered with a place in a segment, from which `file_range` sends and `read_all` reads.
The first batch is always whole, even beyond `max_bytes`, and may begin below the offset that was asked for.
"""

from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple

from tidelog.model.errors import ErrorCode
from tidelog.ports.files import FileRange, Ticket
from tidelog.records.header import NO_PARTITION_LEADER_EPOCH, NO_TIMESTAMP
from tidelog.storage.log.log import Log
from tidelog.storage.log.read_positions import BatchPosition
from tidelog.storage.names import MAX_INT32
from tidelog.storage.segment.search import Frame
from tidelog.storage.segment.segment import Segment
from tidelog.storage.segment.time_search import Search, finish, warm
from tidelog.storage.segment.transaction_index import AbortedTxn

# The timestamps of ListOffsets with a meaning of their own.
LATEST_TIMESTAMP: Final = -1
EARLIEST_TIMESTAMP: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL_TIMESTAMP: Final = -4
LATEST_TIERED_TIMESTAMP: Final = -5
EARLIEST_PENDING_UPLOAD_TIMESTAMP: Final = -6
UNKNOWN_OFFSET: Final = -1
PLENTY: Final = MAX_INT32


class FetchIsolation(Enum):
    """The bound up to which a reader may go."""

    LOG_END = "log end"  # followers
    HIGH_WATERMARK = "high watermark"  # consumers
    TXN_COMMITTED = "last stable offset"  # consumers that read committed


@dataclass(slots=True)
class LogRead:
    """The answer to a read. `segment` is None where there is nothing to send: at the end of what may be read, or with
    an error."""

    code: ErrorCode = ErrorCode.NONE
    segment: Segment | None = None
    position: int = 0
    size_bytes: int = 0
    base_offset: int = UNKNOWN_OFFSET  # of the first batch
    end_offset: int = UNKNOWN_OFFSET  # where a reader goes on
    aborted: list[AbortedTxn] = field(default_factory=list)
    is_at_end: bool = False  # there is nothing beyond the offset that the reader may see

    @property
    def may_pin(self) -> bool:
        """Tell whether the answer may be sent as a range: not where too many files are pinned by ranges already."""
        return self.segment is None or self.segment.log.may_pin

    def cached_range(self) -> FileRange | None:
        """Return the range to send, which pins the file until it is released; None where sending it would probably wait
        for the disk. Call this only for an answer that has bytes, and may be pinned."""
        assert self.segment is not None
        return self.segment.log.cached_range(self.position, self.size_bytes)

    def file_range(self) -> FileRange:
        """Return the range to send, even where sending it would wait for the disk."""
        assert self.segment is not None
        return self.segment.file_range(self.position, self.size_bytes)

    def is_cached(self) -> bool:
        """Tell whether reading the answer would probably not wait for the disk."""
        return self.segment is None or self.segment.log.is_cached(self.position, self.size_bytes)

    def begin_warm(self) -> Ticket:
        """Bring the answer, which must have bytes, into the page cache, off the loop."""
        assert self.segment is not None
        return self.segment.log.begin_warm(self.position, self.size_bytes)

    def read_all(self) -> bytes:
        return b"" if self.segment is None else self.segment.read(self.position, self.size_bytes)


class OffsetAtTime(NamedTuple):
    timestamp: int
    offset: int
    leader_epoch: int


NOT_FOUND: Final = OffsetAtTime(NO_TIMESTAMP, UNKNOWN_OFFSET, NO_PARTITION_LEADER_EPOCH)


def upper_bound(log: Log, isolation: FetchIsolation) -> int:
    match isolation:
        case FetchIsolation.LOG_END:
            return log.log_end_offset
        case FetchIsolation.HIGH_WATERMARK:
            return log.high_watermark
        case FetchIsolation.TXN_COMMITTED:
            return log.last_stable_offset


def read(
    log: Log,
    offset: int,
    max_bytes: int,
    isolation: FetchIsolation,
    *,
    min_one_batch: bool = True,
    may_wait: bool = True,
) -> LogRead:
    """Return the batches of one segment, from the one that holds `offset` on. Unless it `may_wait` for the disk, raises
    ColdRead where an index or a header is not in the page cache."""
    if not log.log_start_offset <= offset <= log.log_end_offset:
        return LogRead(ErrorCode.OFFSET_OUT_OF_RANGE)
    bound = upper_bound(log, isolation)
    if offset >= bound:
        return LogRead(is_at_end=True)
    descriptors = log.descriptors
    descriptors.may_wait = may_wait
    try:
        return _read(log, offset, bound, max_bytes, isolation, min_one_batch)
    finally:
        descriptors.may_wait = True


def _read(log: Log, offset: int, bound: int, max_bytes: int, isolation: FetchIsolation, min_one_batch: bool) -> LogRead:
    segments = log.segments
    index = segments.index_of(offset)
    while index < len(segments) and segments[index].base_offset < bound:
        start = _start(log, segments[index], offset)
        if start is None:
            index += 1  # compaction took the end of this segment: the next record is in the next one
            continue
        found = _extent(log, index, start, bound, max_bytes, min_one_batch)
        if isolation is FetchIsolation.TXN_COMMITTED and found.size_bytes:
            found.aborted = _aborted(log, offset, found.end_offset, index)
        return found
    return LogRead()


def _start(log: Log, segment: Segment, offset: int) -> BatchPosition | None:
    """Return the position at which a reader at `offset` begins; None where the segment ends before that."""
    known = log.positions.find(offset, segment)
    if known is not None:
        return known if known.position < segment.size_bytes else None
    frame = segment.first_reaching(offset)
    if frame is None:
        return None
    known = BatchPosition(segment, frame.position, frame.base_offset, frame.size, frame.last_offset)
    log.positions.note(offset, known)
    return known


def _end_of_readable(log: Log, index: int, bound: int) -> int:
    """The position at which reading has to stop in this segment. The bound lies between batches, because high watermark
    and last stable offset are ends and beginnings of batches."""
    segment = log.segments[index]
    if bound >= log.segments.end_of(index, log.log_end_offset):
        return segment.size_bytes
    start = _start(log, segment, bound)
    return segment.size_bytes if start is None else start.position


def _extent(log: Log, index: int, start: BatchPosition, bound: int, max_bytes: int, min_one_batch: bool) -> LogRead:
    """Return as many whole batches from `start` on as fit, and note where the next one lies, for when its reader comes
    back."""
    segment, position = start.segment, start.position
    end, limit = _end_of_readable(log, index, bound), position + max_bytes
    if position >= end:
        return LogRead()
    if end <= limit:
        end_offset = min(bound, log.segments.end_of(index, log.log_end_offset))
        after = BatchPosition(segment, end, end_offset, 0, UNKNOWN_OFFSET)
    else:
        if not start.size_bytes:
            frame = segment.frame_at(position)
            start = BatchPosition(segment, position, frame.base_offset, frame.size, frame.last_offset)
        end = position + start.size_bytes
        if start.size_bytes > max_bytes and not min_one_batch:
            return LogRead()
        over = None if end >= limit else _first_over(segment, end, limit, start.size_bytes)
        if over is None:
            end_offset = start.last_offset + 1
            after = BatchPosition(segment, end, end_offset, 0, UNKNOWN_OFFSET)
        else:
            end, end_offset = over.position, over.base_offset
            after = BatchPosition(segment, end, end_offset, over.size, over.last_offset)
    log.positions.note(end_offset, after)
    return LogRead(ErrorCode.NONE, segment, position, end - position, start.base_offset, end_offset)


def _first_over(segment: Segment, position: int, limit: int, size_before: int) -> Frame | None:
    """Return the first batch from `position` on that does not fit. Where batches are large it is the very next one,
    which its header tells without the index."""
    if limit - position <= size_before:
        frame = segment.frame_at(position)
        if frame.position + frame.size > limit:
            return frame
    return segment.first_ending_past(position, segment.size_bytes, limit)


def readable_bytes(log: Log, offset: int, isolation: FetchIsolation) -> int:
    """The number of bytes that a reader at `offset`, which is in range, could be sent; `PLENTY` where they go on in
    another segment: such a reader is behind, and not kept waiting for more. Raises ColdRead where only the disk
    knows."""
    bound = upper_bound(log, isolation)
    if offset >= bound:
        return 0
    segments = log.segments
    index = segments.index_of(offset)
    if bound > segments.end_of(index, log.log_end_offset):
        return PLENTY
    descriptors = log.descriptors
    descriptors.may_wait = False
    try:
        start = _start(log, segments[index], offset)
        return 0 if start is None else max(0, _end_of_readable(log, index, bound) - start.position)
    finally:
        descriptors.may_wait = True


def _aborted(log: Log, offset: int, bound: int, index: int) -> list[AbortedTxn]:
    """The aborted transactions that overlap the answer. Their markers may lie in later segments."""
    collected: list[AbortedTxn] = []
    for segment in (log.segments[i] for i in range(index, len(log.segments))):
        aborted, is_complete = segment.collect_aborted(offset, bound)
        collected += aborted
        if is_complete:
            break
    return collected


def offset_for_time(log: Log, timestamp: int) -> OffsetAtTime:
    """Return the first record that is not before `timestamp`, or the answer to a special one; waits for the disk."""
    return finish(search_offset(log, timestamp))


def search_offset(log: Log, timestamp: int) -> Search[OffsetAtTime]:
    """Do what `offset_for_time` does, in steps. The caller has to turn down an answer beyond its bound (high watermark,
    last stable offset), and to lower that for `LATEST_TIMESTAMP`."""
    known = known_offset(log, timestamp)
    if known is not None:
        return known
    if timestamp == MAX_TIMESTAMP:
        return (yield from _latest_time(log))
    return (yield from _first_at(log, timestamp))


def known_offset(log: Log, timestamp: int) -> OffsetAtTime | None:
    """Return the answer for the timestamps where nothing has to be searched; None for others."""
    match timestamp:
        case _ if timestamp == LATEST_TIMESTAMP:
            return OffsetAtTime(NO_TIMESTAMP, log.log_end_offset, _epoch(log.epochs.latest_epoch))
        case _ if timestamp in (EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP):
            epoch = log.epochs.epoch_for_offset(log.log_start_offset)
            return OffsetAtTime(NO_TIMESTAMP, log.log_start_offset, _epoch(epoch))
        case _ if timestamp in (LATEST_TIERED_TIMESTAMP, EARLIEST_PENDING_UPLOAD_TIMESTAMP):
            return NOT_FOUND  # nothing of this log is anywhere else
        case _:
            return None


def _epoch(epoch: int | None) -> int:
    return NO_PARTITION_LEADER_EPOCH if epoch is None else epoch


def _first_at(log: Log, timestamp: int) -> Search[OffsetAtTime]:
    start = log.log_start_offset
    for segment in log.segments.from_offset(start):
        largest = yield from warm(segment.indexes.largest)
        if largest.timestamp >= timestamp:
            found = yield from segment.search_time(timestamp, start)
            if found is not None:
                return OffsetAtTime(*found)
        yield None
    return NOT_FOUND


def _latest_time(log: Log) -> Search[OffsetAtTime]:
    """Return the record with the largest timestamp, the first one of several, among those that can be read. (Kafka may
    name one below the log start, which a fetch would find out of range.)"""
    start, latest = log.log_start_offset, NO_TIMESTAMP
    for segment in log.segments.from_offset(start):
        if segment.base_offset < start:
            latest = max(latest, (yield from segment.search_latest(start)))
        else:
            latest = max(latest, (yield from warm(segment.indexes.largest)).timestamp)
        yield None
    if latest < 0:
        return NOT_FOUND
    found = yield from _first_at(log, latest)
    return found if found.offset >= 0 else (yield from _latest_time_of_records(log))


def _latest_time_of_records(log: Log) -> Search[OffsetAtTime]:
    """Do what `_latest_time` does, where the largest timestamp that the indexes know is of a batch without records:
    compaction keeps the header of a batch, with its timestamps, where its offset matters."""
    start, latest = log.log_start_offset, NO_TIMESTAMP
    for segment in log.segments.from_offset(start):
        latest = max(latest, (yield from segment.search_latest(start)))
        yield None
    return NOT_FOUND if latest < 0 else (yield from _first_at(log, latest))
