"""From a fetched chunk to columns, in amounts that fit into memory whatever the batches inflate to.

Plain batches are decoded where they lie, all at once. Compressed ones, and those of transactions that may have been
aborted, go through a buffer that is handed on as soon as it is full: so the memory is that of one buffer and of the
largest single batch, which has to be inflated whole.
"""

from collections.abc import Iterator
from struct import Struct
from typing import Final

from tidelog.client.fetch.fetch_ahead import Chunk
from tidelog.client.fetch.kernels_rows import decode_rows
from tidelog.records.aborted import AbortedFilter
from tidelog.records.batch import RecordBatch
from tidelog.records.compression import CompressionType, Inflater
from tidelog.records.fetched import MICROSECONDS
from tidelog.records.header import ATTRIBUTES_POSITION, BATCH_OVERHEAD, COMPRESSION_MASK, LOG_OVERHEAD, read_header
from tidelog.records.kernels_decode import Columns

BUFFER_BYTES: Final = 4 << 20
# What one batch may inflate to. Kafka has no limit; on the wire a batch is a megabyte unless somebody allowed more.
BATCH_BYTES_MAX: Final = 1 << 30
_LENGTH: Final = Struct(">i")
_LENGTH_POSITION: Final = 8


class ColumnDecoder:
    """The decoder of one partition, from the beginning of a read to its end."""

    def __init__(self, end: int, *, read_committed: bool, verify_crc: bool, time_factor: int = MICROSECONDS) -> None:
        self._end = end
        self._read_committed = read_committed
        self._verify_crc = verify_crc
        self._time_factor = time_factor
        self._inflater = Inflater(BATCH_BYTES_MAX)

    def columns(self, chunk: Chunk) -> Iterator[Columns]:
        """Yield the rows of the chunk that were asked for and may be seen, in order. RecordError where bytes are
        corrupt."""
        is_filtered = self._read_committed and chunk.aborted
        if not is_filtered and not chunk.batches.attributes_seen & COMPRESSION_MASK:
            start = chunk.batches.positions[0]
            yield self._decode(chunk.data, start, chunk.batches.end, chunk.offset, self._verify_crc)
            return
        for data in self._plain_buffers(chunk, AbortedFilter(chunk.aborted if is_filtered else ())):
            yield self._decode(data, 0, len(data), chunk.offset, False)

    def _decode(self, data: bytes, start: int, end: int, lower: int, verify_crc: bool) -> Columns:
        return decode_rows(data, start, end, lower, self._end, self._time_factor, verify_crc)

    def _plain_buffers(self, chunk: Chunk, hidden: AbortedFilter) -> Iterator[bytes]:
        """Yield the visible batches, uncompressed, a buffer at a time. Checksums are verified here, because those in
        the headers are of the compressed bytes."""
        view = memoryview(chunk.data)
        pieces: list[bytes | bytearray | memoryview] = []
        gathered = 0
        for position in chunk.batches.positions:
            batch = _batch_at(view, position)
            if batch.header.base_offset >= self._end:
                break
            if self._verify_crc:
                batch.check_crc()
            if hidden.hides(batch) or batch.header.is_control or batch.header.last_offset < chunk.offset:
                continue
            pieces += self._plain(batch)
            gathered += len(pieces[-1])
            if gathered >= BUFFER_BYTES:
                yield b"".join(pieces)
                pieces, gathered = [], 0
        if pieces:
            yield b"".join(pieces)

    def _plain(self, batch: RecordBatch) -> list[bytes | bytearray | memoryview]:
        codec = batch.compression
        if codec is CompressionType.NONE:
            return [batch.view]
        body = self._inflater.inflate(codec, batch.view[BATCH_OVERHEAD:], batch.header.base_offset)
        head = bytearray(batch.view[:BATCH_OVERHEAD])
        _LENGTH.pack_into(head, _LENGTH_POSITION, BATCH_OVERHEAD - LOG_OVERHEAD + len(body))
        head[ATTRIBUTES_POSITION + 1] &= ~COMPRESSION_MASK & 0xFF
        return [head, body]


def _batch_at(view: memoryview, position: int) -> RecordBatch:
    header = read_header(view, position)
    assert header is not None, "the index has whole batches only"
    return RecordBatch(header, view[position : position + header.size_bytes])
