"""The full scan of a segment's log: every header, every checksum, in chunks; for recovery and for verification.

It never changes anything. It ends at the end of the file or at the first damage, and says where and why; what comes
before that place is good. Damage is whatever can not have been written by an append: a batch that is cut, a header
that makes no sense, a wrong checksum, offsets or leader epochs that go back. (A truncation that was not synced before
the power failed can bring old batches back behind new ones, whole and with right checksums; their epoch tells.)
"""

from collections.abc import Callable
from struct import Struct
from typing import Final, NamedTuple
from zlib import crc32

from tidelog.records.errors import UnsupportedMagicError
from tidelog.records.header import BATCH_OVERHEAD, LOG_OVERHEAD, MAGIC_POSITION
from tidelog.records.kernels_walk import BatchIndex, walk
from tidelog.storage.errors import UnsupportedSegmentError
from tidelog.storage.names import MAX_INT32, MAX_INT64
from tidelog.storage.segment.kernels_scan import Checked, check_batches

CHUNK_BYTES: Final = 1 << 20
_LENGTH: Final = Struct(">i")
_LENGTH_POSITION: Final = 8
_OLD_CRC: Final = Struct(">I")
_OLD_CRC_POSITION: Final = 12
_OLD_MIN_LENGTH: Final = 14  # checksum, magic, attributes, two lengths: the smallest message of format 0


class ScannedChunk(NamedTuple):
    """A chunk of whole, checked batches as they lie in the file. Row i of `batches` starts at
    `data[batches.positions[i]]`, and at `position + batches.positions[i]` in the file; it ends where the next one
    starts, the last at `batches.end`."""

    position: int
    data: bytes
    batches: BatchIndex


class Scan(NamedTuple):
    valid_bytes: int
    next_offset: int  # after the last good batch; the segment's base offset when there is none
    damage: str | None  # None: good to the end
    doubtful_from: int  # the lowest offset that the damage puts in question


ReadAt = Callable[[int, int], bytes]  # position and size, as `File.read_at`
OnChunk = Callable[[ScannedChunk], None]


def scan(
    path: str,
    read_at: ReadAt,
    base_offset: int,
    size: int,
    on_chunk: OnChunk,
    chunk_bytes: int = CHUNK_BYTES,
    dense_from: int = MAX_INT64,
    torn_from: int = MAX_INT64,
) -> Scan:
    """Scan the first `size` bytes of what `read_at` reads.

    From `dense_from` on a gap between offsets is damage, from `torn_from` on an offset that is out of the segment's
    reach. Raises UnsupportedSegmentError for whole records of an old format.
    """
    position = 0
    checked = Checked(base_offset, -1, MAX_INT64)
    highest_offset = min(base_offset + MAX_INT32, MAX_INT64)
    while position < size:
        data = _read_chunk(read_at, position, size, chunk_bytes)
        checked = check_batches(
            data,
            checked.next_offset,
            checked.leader_epoch,
            checked.first_gap,
            dense_from,
            torn_from,
            highest_offset,
        )
        if checked.end:
            on_chunk(ScannedChunk(position, data, walk(data, 0, checked.end)))
        position += checked.end
        if checked.damage is not None or not checked.end:
            _refuse_old_format(path, position, data[checked.end :], checked.next_offset)
            damage = checked.damage or "the file ends within a batch"
            return Scan(position, checked.next_offset, damage, checked.doubtful_from)
    return Scan(position, checked.next_offset, None, checked.next_offset)


def _read_chunk(read_at: ReadAt, position: int, size: int, chunk_bytes: int) -> bytes:
    """Read a chunk, with at least one whole batch where the file has one."""
    data = read_at(position, min(chunk_bytes, size - position))
    if len(data) < BATCH_OVERHEAD:
        return data
    batch_bytes = LOG_OVERHEAD + _LENGTH.unpack_from(data, _LENGTH_POSITION)[0]
    if len(data) < batch_bytes <= size - position:
        return read_at(position, batch_bytes)
    return data


def _refuse_old_format(path: str, position: int, data: bytes, next_offset: int) -> None:
    """Raise UnsupportedSegmentError for a message of format 0 or 1. Those have their own checksum: where it is right
    they are data, not damage (nor the zeros of a torn write, which look like format 0)."""
    if len(data) <= MAGIC_POSITION or data[MAGIC_POSITION] > 1:
        return
    (length,) = _LENGTH.unpack_from(data, _LENGTH_POSITION)
    if length < _OLD_MIN_LENGTH or LOG_OVERHEAD + length > len(data):
        return
    (stored,) = _OLD_CRC.unpack_from(data, _OLD_CRC_POSITION)
    if crc32(memoryview(data)[MAGIC_POSITION : LOG_OVERHEAD + length]) == stored:
        reason = UnsupportedMagicError(next_offset, data[MAGIC_POSITION]).reason
        raise UnsupportedSegmentError(path, position, reason, next_offset)
