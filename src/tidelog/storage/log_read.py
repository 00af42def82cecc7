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
from tidelog.storage.log import Log
from tidelog.storage.segment import Segment
from tidelog.storage.transaction_index import AbortedTxn

# The timestamps of ListOffsets that are questions of their own.
LATEST_TIMESTAMP: Final = -1
EARLIEST_TIMESTAMP: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL_TIMESTAMP: Final = -4
LATEST_TIERED_TIMESTAMP: Final = -5
EARLIEST_PENDING_UPLOAD_TIMESTAMP: Final = -6
UNKNOWN_OFFSET: Final = -1
_OFFSET_BYTES: Final = 8


class FetchIsolation(Enum):
    """How far a reader may go."""

    LOG_END = "log end"  # followers
    HIGH_WATERMARK = "high watermark"  # consumers
    TXN_COMMITTED = "last stable offset"  # consumers that read committed


@dataclass(slots=True)
class LogRead:
    """`segment` is None where there is nothing to send: at the end of what may be read, or with an error."""

    code: ErrorCode = ErrorCode.NONE
    segment: Segment | None = None
    position: int = 0
    size_bytes: int = 0
    base_offset: int = UNKNOWN_OFFSET  # of the first batch
    aborted: list[AbortedTxn] = field(default_factory=list)

    def file_range(self) -> FileRange | None:
        """To be sent; pins the file until it is released."""
        return None if self.segment is None else self.segment.file_range(self.position, self.size_bytes)

    def is_cached(self) -> bool:
        """Whether sending it would probably not wait for the disk."""
        return self.segment is None or self.segment.is_cached(self.position, self.size_bytes)

    def begin_warm(self) -> Ticket:
        """Bring it into the page cache, off the loop. Only of a read that has something."""
        assert self.segment is not None
        return self.segment.begin_warm(self.position, self.size_bytes)

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


def read(log: Log, offset: int, max_bytes: int, isolation: FetchIsolation, *, min_one_batch: bool = True) -> LogRead:
    """The batches from the one that holds `offset` on, of one segment."""
    if not log.log_start_offset <= offset <= log.log_end_offset:
        return LogRead(ErrorCode.OFFSET_OUT_OF_RANGE)
    bound = upper_bound(log, isolation)
    if offset >= bound:
        return LogRead()
    index = log.segments.index_of(offset)
    while index < len(log.segments) and log.segments[index].base_offset < bound:
        segment = log.segments[index]
        max_position = _position_of_bound(log, index, bound)
        located = segment.locate(offset, max_bytes, max_position, min_one_batch=min_one_batch)
        if located is not None:
            return _answer(log, offset, bound, index, LogRead(ErrorCode.NONE, segment, *located), isolation)
        index += 1  # compaction took the end of this segment: the next record is in the next one
    return LogRead()


def _position_of_bound(log: Log, index: int, bound: int) -> int | None:
    """Where reading has to stop in this segment; None: at its end. The bound lies between batches, as high watermark
    and last stable offset are ends and beginnings of batches."""
    if bound >= log.segments.end_of(index, log.log_end_offset):
        return None
    return log.segments[index].position_of(bound)


def _answer(log: Log, offset: int, bound: int, index: int, found: LogRead, isolation: FetchIsolation) -> LogRead:
    if not found.size_bytes:
        return LogRead()
    if isolation is FetchIsolation.TXN_COMMITTED:
        found.aborted = _aborted(log, offset, min(bound, _end_of_read(log, index, found)), index)
    return found


def _end_of_read(log: Log, index: int, found: LogRead) -> int:
    """The offset of the first batch behind the answer."""
    segment = log.segments[index]
    end = found.position + found.size_bytes
    if end >= segment.size_bytes:
        return log.segments.end_of(index, log.log_end_offset)
    return int.from_bytes(segment.read(end, _OFFSET_BYTES), "big")  # a batch begins with its base offset


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
    """The first record that is not before `timestamp`, or the answer to one of the special ones. What lies beyond the
    caller's bound (high watermark, last stable offset) is for it to turn down, and `LATEST_TIMESTAMP` to lower."""
    match timestamp:
        case _ if timestamp == LATEST_TIMESTAMP:
            return OffsetAtTime(NO_TIMESTAMP, log.log_end_offset, _epoch(log.epochs.latest_epoch))
        case _ if timestamp in (EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP):
            epoch = log.epochs.epoch_for_offset(log.log_start_offset)
            return OffsetAtTime(NO_TIMESTAMP, log.log_start_offset, _epoch(epoch))
        case _ if timestamp in (LATEST_TIERED_TIMESTAMP, EARLIEST_PENDING_UPLOAD_TIMESTAMP):
            return NOT_FOUND  # nothing of this log is anywhere else
        case _ if timestamp == MAX_TIMESTAMP:
            return _latest_time(log)
        case _:
            return _first_at(log, timestamp)


def _epoch(epoch: int | None) -> int:
    return NO_PARTITION_LEADER_EPOCH if epoch is None else epoch


def _first_at(log: Log, timestamp: int) -> OffsetAtTime:
    for segment in log.segments.from_offset(log.log_start_offset):
        if segment.max_timestamp >= timestamp:
            found = segment.find_by_timestamp(timestamp, log.log_start_offset)
            if found is not None:
                return OffsetAtTime(*found)
    return NOT_FOUND


def _latest_time(log: Log) -> OffsetAtTime:
    """The record with the largest timestamp, the first one of several; of those that can be read. (Kafka may name one
    below the log start, which a fetch would find out of range.)"""
    start = log.log_start_offset
    latest = max(segment.max_timestamp_from(start) for segment in log.segments.from_offset(start))
    return NOT_FOUND if latest < 0 else _first_at(log, latest)
