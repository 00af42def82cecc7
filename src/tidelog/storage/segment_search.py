"""Walking a segment's log from a known position: headers only, a few kilobytes at a time.

The offset index leads close to what is wanted; these go the rest of the way. Nothing is checked but what the walk
itself needs, so that it can neither loop nor leave the file: checksums are for recovery and for consumers.
"""

from collections.abc import Callable, Iterator
from struct import Struct
from typing import Final, NamedTuple

from tidelog.ports.files import File
from tidelog.records.batch import RecordBatch, read_batch
from tidelog.records.errors import RecordError
from tidelog.records.header import BATCH_OVERHEAD, LOG_OVERHEAD, MAGIC, NO_TIMESTAMP
from tidelog.records.record import Record
from tidelog.storage.errors import CorruptSegmentError
from tidelog.storage.kernels_scan import skip_to_offset, skip_to_position, skip_to_time
from tidelog.storage.time_index import TimestampOffset

# Of large batches the headers are read one by one, small ones many at once: copying costs, and so does calling.
SMALL_READ_BYTES: Final = 512
LARGE_READ_BYTES: Final = 4096
# base offset, length, (leader epoch), magic, (checksum, attributes), last offset delta, (base timestamp), max timestamp
_FRAME: Final = Struct(">qi4xb6xi8xq")
MIN_INT64: Final = -(2**63)
_MIN_LENGTH: Final = BATCH_OVERHEAD - LOG_OVERHEAD


class Frame(NamedTuple):
    """Where a batch lies, and the little of its header that searches need."""

    position: int
    size: int
    base_offset: int
    last_offset: int
    max_timestamp: int


class FoundRecord(NamedTuple):
    timestamp: int
    offset: int
    leader_epoch: int  # -1 for none


def first_reaching(file: File, position: int, end: int, offset: int) -> Frame | None:
    """The first batch whose last offset is at least `offset`."""
    return _first(file, position, end, lambda data, _start: skip_to_offset(data, 0, offset))


def last_end_within(file: File, position: int, end: int, limit: int) -> int:
    """Where the last batch ends that does not pass `limit`."""
    found = _first(file, position, end, lambda data, start: skip_to_position(data, 0, limit - start))
    return end if found is None else found.position


def _first(file: File, position: int, end: int, skip: Callable[[bytes, int], int]) -> Frame | None:
    """The batch at which `skip` stops, which is given bytes of the log and where they start."""
    read_bytes = SMALL_READ_BYTES
    while position < end:
        data = _read(file, position, end, read_bytes)
        at = skip(data, position)
        position += at
        if at + BATCH_OVERHEAD <= len(data):
            return _frame(file, data, at, position, end)
        read_bytes = _next_read_bytes(at)
    _check_end(file, position, end)
    return None


def frames(file: File, position: int, end: int, from_timestamp: int = MIN_INT64) -> Iterator[Frame]:
    """The batches from `position` (where one must start) to `end` (where one must end) that have a record at or after
    a time."""
    data, start = b"", position
    while position < end:
        at = skip_to_time(data, position - start, from_timestamp)
        position = start + at
        if at + BATCH_OVERHEAD <= len(data):
            frame = _frame(file, data, at, position, end)
            yield frame
            position += frame.size
        elif position < end:
            read_bytes = _next_read_bytes(at) if data else SMALL_READ_BYTES
            data, start = _read(file, position, end, read_bytes), position
    _check_end(file, position, end)


def _next_read_bytes(passed_bytes: int) -> int:
    """By how far the bytes of the last read have led."""
    return SMALL_READ_BYTES if passed_bytes > LARGE_READ_BYTES else LARGE_READ_BYTES


def _read(file: File, position: int, end: int, size: int) -> bytes:
    data = file.read_at(position, min(size, end - position))
    if len(data) < BATCH_OVERHEAD:
        raise CorruptSegmentError(file.path, position, "the file ends within a batch")
    return data


def _check_end(file: File, position: int, end: int) -> None:
    if position > end:
        raise CorruptSegmentError(file.path, end, "a batch does not end where it should")


def _frame(file: File, data: bytes, at: int, position: int, end: int) -> Frame:
    base_offset, length, magic, last_delta, max_timestamp = _FRAME.unpack_from(data, at)
    size = LOG_OVERHEAD + length
    if magic != MAGIC or length < _MIN_LENGTH or last_delta < 0 or base_offset < 0 or size > end - position:
        raise CorruptSegmentError(file.path, position, f"no batch: magic {magic}, length {length}")
    return Frame(position, size, base_offset, base_offset + last_delta, max_timestamp)


def largest_timestamp(file: File, position: int, end: int, known: TimestampOffset) -> TimestampOffset:
    """The largest timestamp of these batches and the one that is known, the earlier one of two that are equal."""
    for frame in frames(file, position, end):
        if frame.max_timestamp > known.timestamp:
            known = TimestampOffset(frame.max_timestamp, frame.last_offset)
    return known


def latest_from(file: File, position: int, end: int, from_offset: int) -> int:
    """The largest timestamp of the records at `from_offset` or later; -1 where there is none. Of the batch that the
    offset lies in, the header does not tell which of its records the time is of."""
    latest = NO_TIMESTAMP
    for frame in frames(file, position, end):
        if frame.max_timestamp > latest and frame.last_offset >= from_offset:
            is_whole = frame.base_offset >= from_offset
            latest = frame.max_timestamp if is_whole else max(latest, _latest_record(file, frame, from_offset))
    return latest


def _latest_record(file: File, frame: Frame, from_offset: int) -> int:
    times = [each.timestamp for each in _read_records(file, frame)[1] if each.offset >= from_offset]
    return max(times, default=NO_TIMESTAMP)


def first_at_time(file: File, position: int, end: int, timestamp: int, from_offset: int) -> FoundRecord | None:
    """The first record at `from_offset` or later whose timestamp is not before `timestamp`. Only batches that can have
    one are read and inflated."""
    for frame in frames(file, position, end, timestamp):
        if frame.last_offset >= from_offset:
            found = _first_record(file, frame, timestamp, from_offset)
            if found is not None:
                return found
    return None


def _first_record(file: File, frame: Frame, timestamp: int, from_offset: int) -> FoundRecord | None:
    batch, records = _read_records(file, frame)
    for record in records:
        if record.timestamp >= timestamp and record.offset >= from_offset:
            return FoundRecord(record.timestamp, record.offset, batch.header.partition_leader_epoch)
    return None


def _read_records(file: File, frame: Frame) -> tuple[RecordBatch, list[Record]]:
    try:
        batch = read_batch(file.read_at(frame.position, frame.size))
        if batch is None:
            raise CorruptSegmentError(file.path, frame.position, "the file ends within a batch")
        return batch, list(batch.records())
    except RecordError as error:
        raise CorruptSegmentError(file.path, frame.position, error.reason) from error
