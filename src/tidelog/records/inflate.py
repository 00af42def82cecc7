"""The step between a fetch and the kernels: batches the kernels cannot read become ones that they can.

Compressed batches are rewritten as plain ones into one new buffer, batches that a read_committed consumer must not see
are left out, the others are copied. The result is for the kernels only: the checksums of rewritten batches are not
computed anew, because the originals have just been verified.
"""

from struct import Struct
from typing import Final

from tidelog.records.aborted import AbortedFilter
from tidelog.records.batch import RecordBatch
from tidelog.records.compression import CompressionType, Inflater
from tidelog.records.header import (
    ATTRIBUTES_POSITION,
    BATCH_OVERHEAD,
    COMPRESSION_MASK,
    LOG_OVERHEAD,
    BatchHeader,
    BytesLike,
    read_header,
)
from tidelog.records.kernels_walk import BatchIndex

_LENGTH: Final = Struct(">i")
_LENGTH_POSITION: Final = 8
_ATTRIBUTES: Final = Struct(">h")


def inflate(
    buffer: bytes,
    index: BatchIndex,
    lower: int,
    upper: int,
    aborted: AbortedFilter,
    limit_bytes: int,
    verify_crc: bool,
) -> tuple[bytes, int]:
    """Return the batches of `index` that have offsets in `[lower, upper)`, plain and visible; and how many batches were
    used up. Stops early once `limit_bytes` are gathered, and fails where a single batch is larger than that."""
    view = memoryview(buffer)
    inflater = Inflater(limit_bytes)
    pieces: list[BytesLike] = []
    gathered = 0
    used = 0
    for position in index.positions:
        batch = _batch_at(view, position)
        if batch.header.base_offset >= upper or gathered >= limit_bytes:
            break
        used += 1
        if verify_crc:
            batch.check_crc()
        if aborted.hides(batch) or batch.header.is_control or batch.header.last_offset < lower:
            continue
        plain = _as_plain(batch, inflater)
        pieces += plain
        gathered += sum(map(len, plain))
    return b"".join(pieces), used


def _batch_at(view: memoryview, position: int) -> RecordBatch:
    header = read_header(view, position)
    assert header is not None, "the index has whole batches only"
    return RecordBatch(header, view[position : position + header.size_bytes])


def _as_plain(batch: RecordBatch, inflater: Inflater) -> list[BytesLike]:
    codec = batch.compression
    if codec is CompressionType.NONE:
        return [batch.view]
    body = inflater.inflate(codec, batch.view[BATCH_OVERHEAD:], batch.header.base_offset)
    return [_plain_head(batch.view, batch.header, len(body)), body]


def _plain_head(view: memoryview, header: BatchHeader, body_bytes: int) -> bytearray:
    head = bytearray(view[:BATCH_OVERHEAD])
    _LENGTH.pack_into(head, _LENGTH_POSITION, BATCH_OVERHEAD - LOG_OVERHEAD + body_bytes)
    _ATTRIBUTES.pack_into(head, ATTRIBUTES_POSITION, header.attributes & ~COMPRESSION_MASK)
    return head
