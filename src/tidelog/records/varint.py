"""Variable-length integers of records: zigzag, then seven bits a byte, lowest first.

As Kafka reads them: padding (a last byte of zero) is accepted, and bits beyond the 32nd or 64th are dropped. What does
not end within 5 or 10 bytes is corrupt. Readers take an `end`, because a varint that runs out of its record into the
next is corrupt even where the buffer goes on.
"""

from tidelog.records.errors import CorruptRecordLengthError, CorruptRecordVarintError
from tidelog.records.header import BytesLike


def read_varint(buffer: BytesLike, position: int, end: int, base_offset: int) -> tuple[int, int]:
    """Return a 32-bit value and the position after it."""
    raw, position = _read_unsigned(buffer, position, end, 5, base_offset)
    return _unzigzag(raw & 0xFFFFFFFF), position


def read_varlong(buffer: BytesLike, position: int, end: int, base_offset: int) -> tuple[int, int]:
    """Return a 64-bit value and the position after it."""
    raw, position = _read_unsigned(buffer, position, end, 10, base_offset)
    return _unzigzag(raw & 0xFFFFFFFFFFFFFFFF), position


def _read_unsigned(buffer: BytesLike, position: int, end: int, max_bytes: int, base_offset: int) -> tuple[int, int]:
    value = 0
    for index in range(max_bytes):
        if position + index >= end:
            raise CorruptRecordLengthError(base_offset, "a record ends within a variable-length integer")
        byte = buffer[position + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value, position + index + 1
    raise CorruptRecordVarintError(base_offset, f"a variable-length integer is longer than {max_bytes} bytes")


def _unzigzag(raw: int) -> int:
    return (raw >> 1) ^ -(raw & 1)


def write_varint(out: bytearray, value: int) -> None:
    """Write a 32-bit or a 64-bit value: the encoding is the same."""
    raw = value << 1 if value >= 0 else (-value << 1) - 1
    while raw >= 0x80:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    out.append(raw)


def varint_size_bytes(value: int) -> int:
    raw = value << 1 if value >= 0 else (-value << 1) - 1
    return max(1, (raw.bit_length() + 6) // 7)
