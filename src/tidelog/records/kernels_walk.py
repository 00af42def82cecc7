"""Kernels, the first part: from batch to batch along a buffer, reading headers only. Compiled by mypyc; the same file
runs interpreted. The rules are those of `kernels_decode`.
"""

from typing import Final

from librt.strings import read_i16_be, read_i32_be, read_i64_be
from librt.vecs import append, vec
from mypy_extensions import i32, i64

from tidelog.records.crc import crc32c
from tidelog.records.errors import (
    CorruptRecordCountError,
    CorruptRecordCrcError,
    CorruptRecordLengthError,
    CorruptRecordMagicError,
    CorruptRecordOffsetError,
    UnsupportedMagicError,
)

MAX_I64: Final = 0x7FFFFFFFFFFFFFFF
MASK_32: Final = 0xFFFFFFFF
OVERHEAD: Final = 61
MIN_RECORD_BYTES: Final = 7


class BatchIndex:
    """The headers of all whole batches in a buffer, one element a batch."""

    def __init__(self) -> None:
        self.positions: vec[i64] = vec[i64]()
        self.base_offsets: vec[i64] = vec[i64]()
        self.last_offsets: vec[i64] = vec[i64]()
        self.counts: vec[i32] = vec[i32]()
        self.attributes: vec[i32] = vec[i32]()
        self.max_timestamps: vec[i64] = vec[i64]()
        self.leader_epochs: vec[i32] = vec[i32]()
        self.producer_ids: vec[i64] = vec[i64]()
        self.producer_epochs: vec[i32] = vec[i32]()
        self.base_sequences: vec[i32] = vec[i32]()
        self.attributes_seen: i64 = 0  # all attributes or-ed: tells whether any batch is compressed, control, ...
        self.end: i64 = 0  # where the last whole batch ends

    def __len__(self) -> int:
        return len(self.positions)


def batch_end(b: bytes, p: i64, end: i64) -> i64:
    """Check the header of the batch at `p` and return where the batch ends; -1 when `end` comes before."""
    if end - p < 17:
        return -1
    base: i64 = read_i64_be(b, p)
    length: i64 = i64(read_i32_be(b, p + 8))
    magic: i64 = b[p + 16]
    if magic < 2:
        raise UnsupportedMagicError(base, magic)
    if magic > 2:
        raise CorruptRecordMagicError(base, f"unknown message format {magic}")
    if length < OVERHEAD - 12:
        raise CorruptRecordLengthError(base, f"batch length {length} is below the minimum")
    if length > end - p - 12:
        return -1
    last_delta: i64 = i64(read_i32_be(b, p + 23))
    if last_delta < 0:
        raise CorruptRecordOffsetError(base, f"last offset delta {last_delta} is negative")
    if base > MAX_I64 - last_delta:
        raise CorruptRecordOffsetError(base, "the last offset is beyond 64 bits")
    count: i64 = i64(read_i32_be(b, p + 57))
    if count < 0:
        raise CorruptRecordCountError(base, f"record count {count} is negative")
    return p + 12 + length


def check_crc(b: bytes, view: memoryview, p: i64, end: i64) -> None:
    stored: i64 = i64(read_i32_be(b, p + 17)) & MASK_32
    computed: i64 = crc32c(view[p + 21 : end])
    if stored != computed:
        reason = f"the checksum is {computed:#010x}, the batch says {stored:#010x}"
        raise CorruptRecordCrcError(read_i64_be(b, p), reason)


def check_bounds(b: bytes, position: i64, end: i64) -> None:
    if position < 0 or position > end or end > len(b):
        raise ValueError(f"range {position} to {end} of a buffer of {len(b)} bytes")


def walk(b: bytes, position: i64, end: i64) -> BatchIndex:
    """Index the whole batches of `b[position:end]` by their headers: nothing about the records is checked."""
    check_bounds(b, position, end)
    index = BatchIndex()
    p: i64 = position
    after: i64 = batch_end(b, p, end)
    while after >= 0:
        base: i64 = read_i64_be(b, p)
        attributes: i32 = i32(read_i16_be(b, p + 21))
        index.positions = append(index.positions, p)
        index.base_offsets = append(index.base_offsets, base)
        index.last_offsets = append(index.last_offsets, base + i64(read_i32_be(b, p + 23)))
        index.counts = append(index.counts, read_i32_be(b, p + 57))
        index.attributes = append(index.attributes, attributes)
        index.max_timestamps = append(index.max_timestamps, read_i64_be(b, p + 35))
        index.leader_epochs = append(index.leader_epochs, read_i32_be(b, p + 12))
        index.producer_ids = append(index.producer_ids, read_i64_be(b, p + 43))
        index.producer_epochs = append(index.producer_epochs, i32(read_i16_be(b, p + 51)))
        index.base_sequences = append(index.base_sequences, read_i32_be(b, p + 53))
        index.attributes_seen |= i64(attributes)
        p = after
        after = batch_end(b, p, end)
    index.end = p
    return index


def count_records(b: bytes, position: i64, end: i64) -> i64:
    """Return an upper bound of the rows to come, and no more than the bytes can hold: columns are allocated by it."""
    rows: i64 = 0
    p: i64 = position
    after: i64 = batch_end(b, p, end)
    while after >= 0:
        count: i64 = i64(read_i32_be(b, p + 57))
        if count * MIN_RECORD_BYTES > after - p - OVERHEAD:
            return rows  # compressed or corrupt: decoding will say so
        rows += count
        p = after
        after = batch_end(b, p, end)
    return rows
