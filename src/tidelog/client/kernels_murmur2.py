"""Murmur2 as Kafka's Java clients compute it, because which partition a key belongs to is a promise between all
producers of a topic. Compiled by mypyc; the same file runs interpreted.

Arithmetic is modulo 2^32 in integers of 64 bits. A product of two such numbers does not fit, hence `times`.
"""

from typing import Final

from librt.strings import read_i32_le
from mypy_extensions import i64

SEED: Final = 0x9747B28C
FACTOR: Final = 0x5BD1E995
MASK_16: Final = 0xFFFF
MASK_31: Final = 0x7FFFFFFF
MASK_32: Final = 0xFFFFFFFF


def times(value: i64) -> i64:
    """`value * FACTOR` modulo 2^32, in two halves that fit."""
    return ((value & MASK_16) * FACTOR + ((((value >> 16) * FACTOR) & MASK_16) << 16)) & MASK_32


def murmur2(data: bytes) -> i64:
    """Without a sign."""
    length: i64 = len(data)
    whole: i64 = length & ~3
    hashed: i64 = SEED ^ length
    at: i64 = 0
    while at < whole:
        word: i64 = times(i64(read_i32_le(data, at)) & MASK_32)
        word = times(word ^ (word >> 24))
        hashed = times(hashed) ^ word
        at += 4
    rest: i64 = length - whole
    if rest == 3:
        hashed ^= i64(data[whole + 2]) << 16
    if rest >= 2:
        hashed ^= i64(data[whole + 1]) << 8
    if rest >= 1:
        hashed = times(hashed ^ i64(data[whole]))
    hashed = times(hashed ^ (hashed >> 13))
    return hashed ^ (hashed >> 15)


def partition_of_key(key: bytes, partitions: i64) -> i64:
    """Where Java's default partitioner puts a key: its sign is dropped, not its absolute value taken."""
    return (murmur2(key) & MASK_31) % partitions
