"""From columns to batches: what a producer of Arrow data sends.

Rows are cut into batches by the same size rule as `builder` has: the uncompressed bytes of a batch stay within the
limit, but for a batch of a single record. Offsets and sequence numbers continue from batch to batch.
"""

from collections.abc import Iterator
from typing import Final

from tidelog.records.builder import BatchOptions
from tidelog.records.compression import compress
from tidelog.records.header import BATCH_OVERHEAD, NO_SEQUENCE, increment_sequence
from tidelog.records.kernels_encode import BinaryColumn, RecordColumns, encode_body, seal

NULLS: Final = BinaryColumn(b"", b"", b"", 0)  # a column that is null in every row


def encode_batches(
    columns: RecordColumns, options: BatchOptions, *, limit_bytes: int, base_offset: int = 0
) -> Iterator[bytes]:
    """Yield batches of all rows, in order."""
    if options.is_control or options.delete_horizon_ms is not None:
        raise ValueError("columns hold what a producer sends: no control records, no delete horizon")
    columns.check()
    return _encode(columns, options, limit_bytes, base_offset)


def _encode(columns: RecordColumns, options: BatchOptions, limit_bytes: int, base_offset: int) -> Iterator[bytes]:
    attributes, compression, level = options.attributes(), options.compression, options.compression_level
    leader_epoch, stamped = options.partition_leader_epoch, options.log_append_time
    producer_id, producer_epoch, sequence = options.producer_id, options.producer_epoch, options.base_sequence
    rows, row = columns.rows, 0
    while row < rows:
        body = encode_body(columns, row, limit_bytes - BATCH_OVERHEAD)
        records, count = body.records, body.rows
        if compression:
            records = compress(compression, records, level)
        yield seal(
            records,
            base_offset + row,
            leader_epoch,
            attributes,
            count - 1,
            body.base_timestamp,
            body.max_timestamp if stamped is None else stamped,
            producer_id,
            producer_epoch,
            NO_SEQUENCE if sequence == NO_SEQUENCE else increment_sequence(sequence, row),
            count,
        )
        row += count
