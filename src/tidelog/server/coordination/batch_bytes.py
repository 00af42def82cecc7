"""The records of one batch of a coordinator's log, from encoded keys and values to bytes.

Every record of a batch has the time of the batch, and none has headers: what is left is a key, perhaps a value, and its
offset. Compiled by mypyc, because a commit of one offset is little more than this.
"""

from typing import Final

from librt.strings import BytesWriter
from mypy_extensions import i64, u8

from tidelog.records.kernels_encode import write_unsigned

# What a record takes besides its key and value: five variable-length integers, attributes, a timestamp delta and a
# count of headers of a byte each. An upper bound.
RECORD_OVERHEAD: Final = 23
NULL: Final = 1  # the zigzag of -1
SHORT: Final = 64  # lengths below it are one byte


def encode_records(keys: list[bytes], values: list[bytes | None]) -> bytes:
    """Encode the records with these keys and values, by index. A value that is None is a tombstone's."""
    writer = BytesWriter()
    count: i64 = len(keys)
    row: i64 = 0
    while row < count:
        write_record(writer, row, keys[row], values[row])
        row += 1
    return writer.getvalue()


def write_record(writer: BytesWriter, row: i64, key: bytes, value: bytes | None) -> None:
    key_bytes: i64 = len(key)
    size: i64 = 3 + length_size(row) + length_size(key_bytes) + key_bytes
    if value is None:
        size += 1
    else:
        size += length_size(len(value)) + len(value)
    write_length(writer, size)
    writer.append(0)  # attributes
    writer.append(0)  # timestamp delta
    write_length(writer, row)
    write_length(writer, key_bytes)
    writer.write(key)
    if value is None:
        writer.append(NULL)
    else:
        write_length(writer, len(value))
        writer.write(value)
    writer.append(0)  # headers


def length_size(length: i64) -> i64:
    """Return how many bytes a length that is not negative takes: its zigzag is twice itself."""
    size: i64 = 1
    rest: i64 = length >> 6
    while rest > 0:
        size += 1
        rest >>= 7
    return size


def write_length(writer: BytesWriter, length: i64) -> None:
    if length < SHORT:
        writer.append(u8(length << 1))
    else:
        write_unsigned(writer, length << 1)
