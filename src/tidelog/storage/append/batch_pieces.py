"""A stored batch that takes too long for a turn, inflated beside the loop and handed over piece by piece.

Whoever replays a log needs every record of it, so a piece is a plain batch with some of the records, cut where one
ends: what reads batches reads pieces. A worker keeps nothing from one piece to the next and inflates the batch again
for each; such batches are rare, and a worker that remembered them would hold their memory.
"""

from dataclasses import replace
from typing import Final, NamedTuple

from tidelog.model.errors import ErrorCode
from tidelog.records.batch import RecordBatch, read_batch
from tidelog.records.builder import seal_batch
from tidelog.records.compression import CompressionType, Inflater
from tidelog.records.errors import CorruptRecordCountError, CorruptRecordLengthError, DecompressedSizeError, RecordError
from tidelog.records.header import BATCH_OVERHEAD, COMPRESSION_MASK, BytesLike
from tidelog.records.varint import read_varint
from tidelog.storage.append.preparation import Unprepared
from tidelog.storage.append.weight import INLINE_INFLATED_BYTES, INLINE_RECORDS, INLINE_SENT_BYTES

# The bytes of records in one piece; a larger record is a piece by itself. The loop receives a piece and finds its
# records within a few milliseconds.
PIECE_BYTES: Final = 1 << 20


class PieceJob(NamedTuple):
    batch: bytes
    position: int = 0  # in the inflated records: where the piece begins
    records_before: int = 0


class BatchPiece(NamedTuple):
    batch: bytes  # plain; its offsets are those of the batch that it is a piece of
    end: int  # where the next piece begins
    records_before_end: int
    is_last: bool


def inflated_within_turn(batch: RecordBatch) -> BytesLike | None:
    """The records of the batch as bytes; None where it takes longer than a turn may to inflate or to walk them."""
    header, codec = batch.header, batch.compression
    if header.size_bytes > INLINE_SENT_BYTES[codec] or header.records_count > INLINE_RECORDS:
        return None
    body = batch.view[BATCH_OVERHEAD:]
    if codec is CompressionType.NONE:
        return body
    try:
        return Inflater().inflate(codec, body, header.base_offset, INLINE_INFLATED_BYTES[codec])
    except DecompressedSizeError:
        return None


def cut_piece(job: PieceJob) -> BatchPiece | Unprepared:
    """Return the next piece of the batch, or why the batch can not be read. A worker runs this."""
    batch = read_batch(job.batch)
    assert batch is not None, "it was whole when it was sent"
    try:
        return _cut_piece(batch, job.position, job.records_before)
    except RecordError as error:
        return Unprepared(int(ErrorCode.CORRUPT_MESSAGE), error.reason, ())


def _cut_piece(batch: RecordBatch, start: int, records_before: int) -> BatchPiece:
    header = batch.header
    body: BytesLike = batch.view[BATCH_OVERHEAD:]
    if batch.compression is not CompressionType.NONE:
        body = Inflater().inflate(batch.compression, body, header.base_offset)
    end, count, count_max = start, 0, header.records_count - records_before
    while count < count_max and end - start < PIECE_BYTES:
        length, position = read_varint(body, end, len(body), header.base_offset)
        if length < 1 or length > len(body) - position:
            left = f"record length {length} with {len(body) - position} bytes left"
            raise CorruptRecordLengthError(header.base_offset, left)
        end, count = position + length, count + 1
    is_last = count == count_max
    if is_last and end != len(body):
        raise CorruptRecordCountError(header.base_offset, f"{len(body) - end} bytes after the last record")
    plain = replace(header, attributes=header.attributes & ~COMPRESSION_MASK, records_count=count)
    return BatchPiece(seal_batch(plain, bytes(body[start:end])), end, records_before + count, is_last)
