"""Murmur2 as Kafka's Java clients compute it, because which partition a key belongs to is a promise between all
producers of a topic. Compiled by mypyc; the same file runs interpreted. One key at a time, or a column of them in the
buffers that Arrow keeps it in.

Arithmetic is modulo 2^32 in integers of 64 bits. A product of two such numbers does not fit, hence `times`.
"""

from typing import Final

from librt.strings import BytesWriter, read_i32_le, write_i32_le
from mypy_extensions import i32, i64

from tidelog.records.kernels_encode import BinaryColumn, field_span

SEED: Final = 0x9747B28C
FACTOR: Final = 0x5BD1E995
MASK_16: Final = 0xFFFF
MASK_31: Final = 0x7FFFFFFF
MASK_32: Final = 0xFFFFFFFF


def times(value: i64) -> i64:
    """Return `value * FACTOR` modulo 2^32, computed in two halves that fit into 64 bits."""
    return ((value & MASK_16) * FACTOR + ((((value >> 16) * FACTOR) & MASK_16) << 16)) & MASK_32


def murmur2(data: bytes) -> i64:
    """Return the hash as an unsigned number of 32 bits."""
    return murmur2_within(data, 0, len(data))


def murmur2_within(data: bytes, start: i64, length: i64) -> i64:
    """Return the hash of `length` bytes from `start` on, which the caller knows to be there."""
    whole: i64 = start + (length & ~3)
    hashed: i64 = SEED ^ length
    at: i64 = start
    while at < whole:
        word: i64 = times(i64(read_i32_le(data, at)) & MASK_32)
        word = times(word ^ (word >> 24))
        hashed = times(hashed) ^ word
        at += 4
    rest: i64 = length & 3
    if rest == 3:
        hashed ^= i64(data[whole + 2]) << 16
    if rest >= 2:
        hashed ^= i64(data[whole + 1]) << 8
    if rest >= 1:
        hashed = times(hashed ^ i64(data[whole]))
    hashed = times(hashed ^ (hashed >> 13))
    return hashed ^ (hashed >> 15)


def partition_of_key(key: bytes, partitions: i64) -> i64:
    """Return the partition that Java's default partitioner chooses: the sign bit of the hash is dropped, which is not
    the same as its absolute value."""
    return (murmur2(key) & MASK_31) % partitions


def partitions_of_keys(keys: BinaryColumn, rows: i64, partitions: i64, sticky: bytes, rows_each: i64) -> bytes:
    """Return a partition for each row, as little-endian int32. Rows without a key go, `rows_each` at a time, to the
    partitions that `sticky` lists (little-endian int32 too); its last one takes what is left."""
    keys.check_rows(rows)
    writer = BytesWriter()
    last: i64 = len(sticky) // 4 - 1
    keyless: i64 = 0
    row: i64 = 0
    while row < rows:
        span: i64 = field_span(keys, row)
        if span < 0:
            turn: i64 = keyless // rows_each
            keyless += 1
            if turn > last:
                turn = last
            write_i32_le(writer, read_i32_le(sticky, 4 * turn))
        else:
            hashed: i64 = murmur2_within(keys.data, span >> 32, span & MASK_32)
            write_i32_le(writer, i32((hashed & MASK_31) % partitions))
        row += 1
    return writer.getvalue()
