"""Kernels, the common case: the lengths of a record without headers, all of them short. Compiled by mypyc; the same
file runs interpreted.

Every walk along the records of a batch asks here first and reads a record field by field only where the answer is no.
So the answer may be no whenever it would take more than a few comparisons to be sure (a length of more than three
bytes, headers, the last few bytes of a buffer, numbers written longer than need be), and a yes must be what the
reading of the fields would have come to: tests hold the one against the other.
"""

from typing import Final

from librt.strings import read_i64_le
from mypy_extensions import i64

NULL: Final = -1
# Base timestamps to which any delta that is read here can be added within 64 bits.
PLAIN_TIME_MAX: Final = 0x3FFFFFFFFFFFFFFF
PLAIN_TIME_MIN: Final = -0x3FFFFFFFFFFFFFFF


class RecordHead:
    """The fields that `read_head` found. `key_end` means something only where `key` is not NULL."""

    def __init__(self) -> None:
        self.end: i64 = 0  # where the record ends
        self.timestamp_delta: i64 = 0
        self.offset_delta: i64 = 0
        self.key: i64 = NULL  # where it starts
        self.key_end: i64 = 0
        self.has_value: bool = False


def short_varint(b: bytes, p: i64) -> i64:
    """Return a number of up to three bytes, before its zigzag is undone; -1 for a longer one, or one that would fit
    fewer bytes. (Statements, because mypyc makes objects of the two sides of a conditional expression.)"""
    if p + 8 > len(b):
        return -1
    word: i64 = read_i64_le(b, p)
    if word & 0x80 == 0:
        return word & 0x7F
    value: i64 = (word & 0x7F) | ((word & 0x7F00) >> 1)
    if word & 0x8000 == 0:
        if value > 0x7F:
            return value
        return -1
    value |= (word & 0x7F0000) >> 2
    if word & 0x800000 == 0 and value > 0x3FFF:
        return value
    return -1


def short_size(value: i64) -> i64:
    """The number of bytes that `short_varint` read for this value."""
    if value <= 0x7F:
        return 1
    if value <= 0x3FFF:
        return 2
    return 3


def read_head(head: RecordHead, b: bytes, p: i64, end: i64) -> bool:
    """Read the record at `p`, of a batch whose records end at `end`; False where it has to be read field by field."""
    length: i64 = short_varint(b, p)
    if length < 0 or length & 1:
        return False
    p += short_size(length)
    record_end: i64 = p + (length >> 1)
    timestamp: i64 = short_varint(b, p + 1)  # behind the attributes, unused
    if record_end > end or timestamp < 0:
        return False
    p += 1 + short_size(timestamp)
    offset: i64 = short_varint(b, p)
    if offset < 0:
        return False
    p += short_size(offset)
    key: i64 = short_varint(b, p)
    if key < 0:
        return False
    p += short_size(key)
    head.key = NULL
    if key != 1:
        if key & 1:
            return False
        head.key = p
        p += key >> 1
        head.key_end = p
    value: i64 = short_varint(b, p)
    if value < 0:
        return False
    p += short_size(value)
    head.has_value = value != 1
    if value != 1:
        if value & 1:
            return False
        p += value >> 1
    if p + 1 != record_end or b[p] != 0:
        return False
    head.timestamp_delta = (timestamp >> 1) ^ -(timestamp & 1)
    head.offset_delta = (offset >> 1) ^ -(offset & 1)
    head.end = record_end
    return True
