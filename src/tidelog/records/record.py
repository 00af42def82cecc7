"""One record, as an object, and its bytes. For bulk there are the kernels; this is for the control plane and for
everything that looks at a record once.

    length varint | attributes i8 (unused) | timestamp delta varlong | offset delta varint |
    key length varint, key | value length varint, value | headers count varint, headers

A length of -1 is null; any other negative length is corrupt. (Kafka's own reader takes every negative length for null;
nobody writes one, and bytes that nobody writes are damage.)
"""

from collections.abc import Iterator
from typing import NamedTuple

from tidelog.model.lazy_dataclass import dataclass
from tidelog.records.errors import (
    CorruptRecordCountError,
    CorruptRecordLengthError,
    CorruptRecordOffsetError,
    CorruptRecordTimestampError,
)
from tidelog.records.header import MAX_INT64, MIN_RECORD_BYTES, BatchHeader, BytesLike, TimestampType
from tidelog.records.varint import read_varint, read_varlong, varint_size_bytes, write_varint


class Header(NamedTuple):
    """A header of a record. The key is text by convention only, so bytes that are not UTF-8 survive as surrogates and
    are written back unchanged."""

    key: str
    value: bytes | None

    def key_bytes(self) -> bytes:
        return self.key.encode("utf-8", "surrogateescape")


@dataclass(slots=True)
class Record:
    offset: int
    timestamp: int  # milliseconds, -1 for none
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()


def read_records(body: BytesLike, header: BatchHeader) -> Iterator[Record]:
    """Yield the records of an uncompressed body, one at a time; a check that needs the whole body comes after the last
    record."""
    if header.records_count * MIN_RECORD_BYTES > len(body):
        raise CorruptRecordCountError(header.base_offset, f"{header.records_count} records in {len(body)} bytes")
    position = 0
    last_offset = header.base_offset - 1
    for _ in range(header.records_count):
        record, position = _read_record(body, position, header, last_offset)
        last_offset = record.offset
        yield record
    if position != len(body):
        raise CorruptRecordCountError(header.base_offset, f"{len(body) - position} bytes after the last record")


def _read_record(body: BytesLike, position: int, header: BatchHeader, last_offset: int) -> tuple[Record, int]:
    base = header.base_offset
    length, position = read_varint(body, position, len(body), base)
    if length < 1 or length > len(body) - position:
        raise CorruptRecordLengthError(base, f"record length {length} with {len(body) - position} bytes left")
    end = position + length
    timestamp_delta, position = read_varlong(body, position + 1, end, base)  # + 1: the unused attributes
    timestamp = _timestamp(header, timestamp_delta)
    offset_delta, position = read_varint(body, position, end, base)
    offset = base + offset_delta
    if not last_offset < offset <= header.last_offset:
        raise CorruptRecordOffsetError(base, f"offset delta {offset_delta} out of order or out of range")
    key, position = _read_nullable(body, position, end, base)
    value, position = _read_nullable(body, position, end, base)
    headers, position = _read_headers(body, position, end, base)
    if position != end:
        raise CorruptRecordLengthError(base, f"{end - position} bytes left over inside a record")
    return Record(offset, timestamp, key, value, headers), position


def _timestamp(header: BatchHeader, delta: int) -> int:
    if header.timestamp_type is TimestampType.LOG_APPEND_TIME:
        return header.max_timestamp
    timestamp = header.base_timestamp + delta
    if not -MAX_INT64 - 1 <= timestamp <= MAX_INT64:
        raise CorruptRecordTimestampError(header.base_offset, "a timestamp is beyond 64 bits")
    return timestamp


def _read_nullable(body: BytesLike, position: int, end: int, base_offset: int) -> tuple[bytes | None, int]:
    length, position = read_varint(body, position, end, base_offset)
    if length == -1:
        return None, position
    if length < 0 or length > end - position:
        raise CorruptRecordLengthError(base_offset, f"field length {length} with {end - position} bytes left")
    return bytes(body[position : position + length]), position + length


def _read_headers(body: BytesLike, position: int, end: int, base_offset: int) -> tuple[tuple[Header, ...], int]:
    count, position = read_varint(body, position, end, base_offset)
    if count < 0 or count > end - position:
        raise CorruptRecordCountError(base_offset, f"{count} headers in {end - position} bytes")
    headers = []
    for _ in range(count):
        key, position = _read_nullable(body, position, end, base_offset)
        if key is None:
            raise CorruptRecordLengthError(base_offset, "a header without a key")
        value, position = _read_nullable(body, position, end, base_offset)
        headers.append(Header(key.decode("utf-8", "surrogateescape"), value))
    return tuple(headers), position


def write_record(out: bytearray, record: Record, base_offset: int, base_timestamp: int) -> None:
    start = len(out)
    out.append(0)  # attributes
    write_varint(out, record.timestamp - base_timestamp)
    write_varint(out, record.offset - base_offset)
    _write_nullable(out, record.key)
    _write_nullable(out, record.value)
    write_varint(out, len(record.headers))
    for header in record.headers:
        _write_nullable(out, header.key_bytes())
        _write_nullable(out, header.value)
    length = bytearray()
    write_varint(length, len(out) - start)
    out[start:start] = length


def _write_nullable(out: bytearray, field: bytes | None) -> None:
    if field is None:
        out.append(1)  # the zigzag of -1
    else:
        write_varint(out, len(field))
        out += field


def record_size_bytes(record: Record, base_offset: int, base_timestamp: int) -> int:
    """The number of bytes that `write_record` will write."""
    length = 1 + varint_size_bytes(record.timestamp - base_timestamp) + varint_size_bytes(record.offset - base_offset)
    length += _nullable_size_bytes(record.key) + _nullable_size_bytes(record.value)
    length += varint_size_bytes(len(record.headers))
    for header in record.headers:
        length += _nullable_size_bytes(header.key_bytes()) + _nullable_size_bytes(header.value)
    return varint_size_bytes(length) + length


def _nullable_size_bytes(field: bytes | None) -> int:
    return 1 if field is None else varint_size_bytes(len(field)) + len(field)
