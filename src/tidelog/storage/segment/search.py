"""Walking a segment's log from a known position: headers only, a few kilobytes at a time.

The offset index leads close to what is wanted; these go the rest of the way. Nothing is checked but what the walk
itself needs, so that it can neither loop nor leave the file: checksums are for recovery and for consumers.
"""

from collections.abc import Callable, Iterator
from struct import Struct
from typing import Final, NamedTuple, Protocol

from tidelog.records.header import BATCH_OVERHEAD, LOG_OVERHEAD, MAGIC
from tidelog.storage.errors import ColdRead, CorruptSegmentError
from tidelog.storage.segment.kernels_scan import skip_to_offset, skip_to_position, skip_to_time
from tidelog.storage.segment.time_index import TimestampOffset

# Headers of large batches are read one by one, those of small ones many at once: copying costs, and so does calling.
SMALL_READ_BYTES: Final = 512
LARGE_READ_BYTES: Final = 4096
# base offset, length, (leader epoch), magic, (checksum, attributes), last offset delta, (base timestamp), max timestamp
_FRAME: Final = Struct(">qi4xb6xi8xq")
MIN_INT64: Final = -(2**63)
_MIN_LENGTH: Final = BATCH_OVERHEAD - LOG_OVERHEAD


class LogBytes(Protocol):
    """The log that is walked."""

    @property
    def path(self) -> str: ...

    def read_at(self, position: int, size_bytes: int) -> bytes: ...


class Frame(NamedTuple):
    """The position of a batch, and the little of its header that searches need."""

    position: int
    size: int
    base_offset: int
    last_offset: int
    max_timestamp: int

    @property
    def is_empty(self) -> bool:
        """Tell whether compaction has left no record of the batch: its header still says when the last one was."""
        return self.size == BATCH_OVERHEAD


class FoundRecord(NamedTuple):
    timestamp: int
    offset: int
    leader_epoch: int  # -1 for none


def first_reaching(log: LogBytes, position: int, end: int, offset: int) -> Frame | None:
    """Return the first batch whose last offset is at least `offset`."""
    return _first(log, position, end, lambda data, _start: skip_to_offset(data, 0, offset))


def first_ending_past(log: LogBytes, position: int, end: int, limit: int) -> Frame | None:
    """Return the first batch that ends past `limit`: what lies before it is what fits. None where all of them fit."""
    return _first(log, position, end, lambda data, start: skip_to_position(data, 0, limit - start))


def frame_at(log: LogBytes, position: int, end: int) -> Frame:
    """Return the batch that starts at `position`."""
    return _frame(log, _read(log, position, end, SMALL_READ_BYTES), 0, position, end)


def _first(log: LogBytes, position: int, end: int, skip: Callable[[bytes, int], int]) -> Frame | None:
    """Return the batch at which `skip` stops. `skip` is given bytes of the log and the position at which they start."""
    read_bytes = SMALL_READ_BYTES
    while position < end:
        data = _read(log, position, end, read_bytes)
        at = skip(data, position)
        position += at
        if at + BATCH_OVERHEAD <= len(data):
            return _frame(log, data, at, position, end)
        read_bytes = _next_read_bytes(at)
    _check_end(log, position, end)
    return None


def frames(log: LogBytes, position: int, end: int, from_timestamp: int = MIN_INT64) -> Iterator[Frame]:
    """Yield the batches from `position` (where one must start) to `end` (where one must end) that have a record at or
    after a time."""
    for step in frame_steps(log, position, end, from_timestamp):
        if isinstance(step, Frame):
            yield step
        elif step is not None:
            raise step


def frame_steps(
    log: LogBytes, position: int, end: int, from_timestamp: int = MIN_INT64
) -> Iterator[Frame | ColdRead | None]:
    """Do what `frames` does, in steps: None after each read, and a ColdRead to be warmed where one would wait for the
    disk."""
    data, start = b"", position
    while position < end:
        at = skip_to_time(data, position - start, from_timestamp)
        position = start + at
        if at + BATCH_OVERHEAD <= len(data):
            frame = _frame(log, data, at, position, end)
            yield frame
            position += frame.size
        elif position < end:
            read_bytes = _next_read_bytes(at) if data else SMALL_READ_BYTES
            try:
                data, start = _read(log, position, end, read_bytes), position
            except ColdRead as cold:
                data, start = b"", position
                yield cold
            else:
                yield None
    _check_end(log, position, end)


def _next_read_bytes(passed_bytes: int) -> int:
    """The size of the next read: small after one whose bytes led far, because batches are large there."""
    return SMALL_READ_BYTES if passed_bytes > LARGE_READ_BYTES else LARGE_READ_BYTES


def _read(log: LogBytes, position: int, end: int, size: int) -> bytes:
    data = log.read_at(position, min(size, end - position))
    if len(data) < BATCH_OVERHEAD:
        raise CorruptSegmentError(log.path, position, "the file ends within a batch")
    return data


def _check_end(log: LogBytes, position: int, end: int) -> None:
    if position > end:
        raise CorruptSegmentError(log.path, end, "a batch does not end where it should")


def _frame(log: LogBytes, data: bytes, at: int, position: int, end: int) -> Frame:
    base_offset, length, magic, last_delta, max_timestamp = _FRAME.unpack_from(data, at)
    size = LOG_OVERHEAD + length
    if magic != MAGIC or length < _MIN_LENGTH or last_delta < 0 or base_offset < 0 or size > end - position:
        raise CorruptSegmentError(log.path, position, f"no batch: magic {magic}, length {length}")
    return Frame(position, size, base_offset, base_offset + last_delta, max_timestamp)


def largest_timestamp(log: LogBytes, position: int, end: int, known: TimestampOffset) -> TimestampOffset:
    """The largest timestamp of these batches and the one that is known; of two that are equal, the earlier one."""
    for frame in frames(log, position, end):
        if frame.max_timestamp > known.timestamp:
            known = TimestampOffset(frame.max_timestamp, frame.last_offset)
    return known
