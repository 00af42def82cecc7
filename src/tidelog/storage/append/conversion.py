"""A batch stored otherwise than it was sent: with another codec, or with its offsets counted anew.

The records themselves stay as they are, time deltas and all: only the head says something new, and the body is
compressed again. Where the offsets have holes (some clients never numbered the records inside a compressed batch)
each record is spliced around its new number.
"""

from dataclasses import replace

from tidelog.records.builder import seal_batch
from tidelog.records.compression import CompressionType, compress
from tidelog.records.header import (
    COMPRESSION_MASK,
    DELETE_HORIZON_FLAG,
    HEADER,
    LOG_APPEND_TIME_FLAG,
    BatchHeader,
    BytesLike,
)
from tidelog.records.varint import read_varint, read_varlong, write_varint
from tidelog.storage.append.outcome import AppendedBatch
from tidelog.storage.append.rules import AppendRules


def convert(
    sent: bytes,
    batch: AppendedBatch,
    body: BytesLike,
    is_dense: bool,
    target: CompressionType,
    rules: AppendRules,
) -> bytes:
    """Return the batch `sent` with the offsets of `batch`, built anew around its plain records `body`.

    A delete horizon is compaction's to set: where a producer sent one, only its meaning as the base of the time deltas
    is kept.
    """
    header = BatchHeader(*HEADER.unpack_from(sent))
    attributes = header.attributes & ~(COMPRESSION_MASK | DELETE_HORIZON_FLAG | LOG_APPEND_TIME_FLAG) | target
    placed = replace(
        header,
        base_offset=batch.base_offset,
        partition_leader_epoch=batch.leader_epoch,
        attributes=attributes | LOG_APPEND_TIME_FLAG if rules.is_log_append_time else attributes,
        max_timestamp=batch.max_timestamp,
    )
    level = rules.compression_level if target is rules.compression else None
    return seal_batch(placed, compress(target, body if is_dense else renumber(body), level))


def renumber(body: BytesLike) -> bytearray:
    """Return the records of `body`, which were checked before, with offset deltas 0, 1, 2, ..."""
    out = bytearray()
    view = memoryview(body)
    position, index = 0, 0
    while position < len(view):
        length, start = read_varint(view, position, len(view), 0)
        end = start + length
        _, after_timestamp = read_varlong(view, start + 1, end, 0)
        _, after_offset = read_varint(view, after_timestamp, end, 0)
        delta = bytearray()
        write_varint(delta, index)
        write_varint(out, after_timestamp - start + len(delta) + end - after_offset)
        out += view[start:after_timestamp]
        out += delta
        out += view[after_offset:end]
        position, index = end, index + 1
    return out
