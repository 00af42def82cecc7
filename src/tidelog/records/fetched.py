"""From the records of a fetch response to columns, whatever the batches in it are.

Plain batches are decoded where they lie; where there are compressed or aborted ones, the buffer goes through `inflate`
first. A response may cut its last batch, and a call may stop early for the size limit: the answer says where to go on,
in the buffer and in the log.
"""

from bisect import bisect_left
from dataclasses import dataclass
from typing import Final

from tidelog.records.aborted import AbortedFilter
from tidelog.records.compression import DEFAULT_LIMIT_BYTES
from tidelog.records.header import COMPRESSION_MASK, MAX_INT64
from tidelog.records.inflate import inflate
from tidelog.records.kernels_decode import Columns, decode
from tidelog.records.kernels_walk import BatchIndex, walk

MILLISECONDS: Final = 1
MICROSECONDS: Final = 1000


@dataclass(slots=True)
class Fetched:
    columns: Columns
    next_position: int  # in the buffer: what lies before is used up
    next_offset: int  # in the log: what to fetch next


def decode_fetched(
    buffer: bytes,
    *,
    position: int = 0,
    lower: int = 0,
    upper: int = MAX_INT64,
    aborted: AbortedFilter | None = None,
    time_factor: int = MILLISECONDS,
    limit_bytes: int = DEFAULT_LIMIT_BYTES,
    verify_crc: bool = True,
) -> Fetched:
    """Return the rows with `lower <= offset < upper` that are not control records and not aborted. `time_factor` makes
    milliseconds or microseconds of Kafka's milliseconds. `limit_bytes` bounds what one compressed batch may inflate to
    (DecompressedSizeError beyond it), and ends a call early once that much is inflated: call again at `next_position`.
    The filter learns as it goes: make one for each response, and hand it to every call over that response."""
    index = walk(buffer, position, len(buffer))
    if index.attributes_seen & COMPRESSION_MASK or aborted is not None:
        hidden = AbortedFilter(()) if aborted is None else aborted
        data, used = inflate(buffer, index, lower, upper, hidden, limit_bytes, verify_crc)
        columns = decode(data, 0, len(data), lower, upper, time_factor, False)
    else:
        columns = decode(buffer, position, index.end, lower, upper, time_factor, verify_crc)
        used = bisect_left(memoryview(index.positions), columns.end)
    return Fetched(columns, _position_after(index, used), _offset_after(index, used, lower, upper))


def _position_after(index: BatchIndex, used: int) -> int:
    return index.positions[used] if used < len(index) else index.end


def _offset_after(index: BatchIndex, used: int, lower: int, upper: int) -> int:
    if used == 0:
        return lower
    return max(lower, min(upper, index.last_offsets[used - 1] + 1))
