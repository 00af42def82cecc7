"""Kernels, the third part: from Arrow's buffers to the records of a batch. Compiled by mypyc; the same file runs
interpreted.

Plain byte appends beat tables of ready-made varints here. A record's length comes before its content, so sizes are
computed first and bytes are written once. A call between compiled functions is not inlined and costs as much as writing
a byte, hence the short cuts for what is one byte in nearly every record.
"""

from typing import Final

from librt.strings import (
    BytesWriter,
    read_i32_le,
    read_i64_le,
    write_i16_be,
    write_i16_le,
    write_i32_be,
    write_i64_be,
    write_i64_le,
)
from mypy_extensions import i16, i32, i64, u8

from tidelog.records.crc import crc32c
from tidelog.records.errors import ColumnError

MAGIC: Final = 2
LOG_OVERHEAD: Final = 12
BATCH_OVERHEAD: Final = 61
MAX_INT32: Final = 0x7FFFFFFF
MAX_RECORD_BYTES: Final = 0x7FFFFFFF - 61  # more would not fit the 32-bit length of a batch
MAX_HALF_DELTA: Final = (1 << 61) - 2  # timestamps further apart go to different batches: their zigzag must fit 64 bits
MAX_ROWS: Final = 0x7FFFFFFF
MASK_32: Final = 0xFFFFFFFF
MAX_VARINT_BYTES: Final = 5
SHORT_BYTES: Final = 32  # up to here copying word by word beats a slice, which is an object


class BinaryColumn:
    """An Arrow binary or string array: row i is `data[offsets[first + i] : offsets[first + i + 1]]`, null where its bit
    in `validity` is 0. An empty `validity` means that nothing is null; empty `offsets` mean that everything is."""

    def __init__(self, data: bytes, offsets: bytes, validity: bytes, first: i64) -> None:
        self.data = data
        self.offsets = offsets
        self.validity = validity
        self.first = first
        self.has_nulls = len(validity) > 0
        self.all_null = len(offsets) == 0
        self.size: i64 = len(data)

    def check_rows(self, rows: i64) -> None:
        if self.first < 0:
            raise ColumnError(f"a column that starts at row {self.first}")
        end: i64 = self.first + rows
        if not self.all_null and len(self.offsets) < 4 * (end + 1):
            raise ColumnError(f"{len(self.offsets)} bytes of offsets for {end} rows")
        if self.has_nulls and 8 * len(self.validity) < end:
            raise ColumnError(f"{len(self.validity)} bytes of validity for {end} rows")


class HeaderLists:
    """An Arrow list of struct(key, value): the headers of row i are elements `offsets[first + i]` up to
    `offsets[first + i + 1]` of the two columns."""

    def __init__(self, offsets: bytes, first: i64, keys: BinaryColumn, values: BinaryColumn) -> None:
        self.offsets = offsets
        self.first = first
        self.keys = keys
        self.values = values
        self.elements: i64 = 0  # how many elements of the columns the rows use; known once they are checked

    def check_rows(self, rows: i64) -> None:
        if self.first < 0 or len(self.offsets) < 4 * (self.first + rows + 1):
            raise ColumnError(f"{len(self.offsets)} bytes of list offsets for {self.first + rows} rows")
        end: i64 = i64(read_i32_le(self.offsets, 4 * (self.first + rows)))
        self.keys.check_rows(end)
        self.values.check_rows(end)
        self.elements = end


class RecordColumns:
    """The rows to write. `timestamps` are little-endian int64 in the unit of `time_divisor` (1: milliseconds, 1000:
    microseconds), -1 for none."""

    def __init__(
        self,
        rows: i64,
        timestamps: bytes,
        keys: BinaryColumn,
        values: BinaryColumn,
        headers: HeaderLists | None = None,
        time_divisor: i64 = 1,
    ) -> None:
        self.rows = rows
        self.timestamps = timestamps
        self.keys = keys
        self.values = values
        self.headers = headers
        self.time_divisor = time_divisor
        self.writer = BytesWriter()  # kept from batch to batch, because it has grown to their size

    def check(self) -> None:
        if self.time_divisor < 1:
            raise ColumnError(f"time divisor {self.time_divisor}")
        if len(self.timestamps) < 8 * self.rows:
            raise ColumnError(f"{len(self.timestamps)} bytes of timestamps for {self.rows} rows")
        self.keys.check_rows(self.rows)
        self.values.check_rows(self.rows)
        if self.headers is not None:
            self.headers.check_rows(self.rows)


class Body:
    """The records of one batch, not compressed, and what its header has to say about them."""

    def __init__(self, records: bytes, rows: i64, base_timestamp: i64, max_timestamp: i64) -> None:
        self.records = records
        self.rows = rows
        self.base_timestamp = base_timestamp
        self.max_timestamp = max_timestamp


def unsigned_size(value: i64) -> i64:
    size: i64 = 1
    while value >= 128:
        value >>= 7
        size += 1
    return size


def write_unsigned(w: BytesWriter, value: i64) -> None:
    if 128 <= value < 16384:
        write_i16_le(w, i16(value & 127 | 128 | (value >> 7) << 8))  # two bytes in one store
        return
    while value >= 128:
        w.append(u8((value & 127) | 128))
        value >>= 7
    w.append(u8(value))


def field_span(column: BinaryColumn, row: i64) -> i64:
    """The position and length of a row's bytes, as `start << 32 | length`; -1 for null."""
    at: i64 = column.first + row
    if column.all_null or (column.has_nulls and not (column.validity[at >> 3] >> (at & 7)) & 1):
        return -1
    both: i64 = read_i64_le(column.offsets, 4 * at)  # two offsets in one load; a negative one looks too large
    start: i64 = both & MASK_32
    end: i64 = both >> 32
    if end < start or end > column.size:
        raise ColumnError(f"row {row}: bytes {start} to {end} of {column.size}")
    return start << 32 | (end - start)


def span_size(span: i64) -> i64:
    """The number of bytes that `write_span` will write."""
    if span < 0:
        return 1
    length: i64 = span & MASK_32
    if length < 64:
        return length + 1
    return length + unsigned_size(length << 1)


def write_span(w: BytesWriter, data: bytes, span: i64) -> None:
    if span < 0:
        w.append(1)  # the zigzag of -1
        return
    start: i64 = span >> 32
    length: i64 = span & MASK_32
    if length > SHORT_BYTES:
        write_unsigned(w, length << 1)
        w.write(data[start : start + length])
        return
    w.append(u8(length << 1))
    end: i64 = start + length
    while start + 8 <= end:
        write_i64_le(w, read_i64_le(data, start))
        start += 8
    while start < end:
        w.append(u8(data[start]))
        start += 1


def headers_size(headers: HeaderLists, row: i64) -> i64:
    at: i64 = i64(read_i32_le(headers.offsets, 4 * (headers.first + row)))
    end: i64 = i64(read_i32_le(headers.offsets, 4 * (headers.first + row) + 4))
    if at < 0 or end < at or end > headers.elements:
        raise ColumnError(f"row {row}: headers {at} to {end}")
    size: i64 = unsigned_size((end - at) << 1)
    while at < end:
        key: i64 = field_span(headers.keys, at)
        if key < 0:
            raise ColumnError(f"row {row}: a header without a key")
        size += span_size(key) + span_size(field_span(headers.values, at))
        at += 1
    return size


def write_headers(w: BytesWriter, headers: HeaderLists, row: i64) -> None:
    at: i64 = i64(read_i32_le(headers.offsets, 4 * (headers.first + row)))
    end: i64 = i64(read_i32_le(headers.offsets, 4 * (headers.first + row) + 4))
    write_unsigned(w, (end - at) << 1)
    while at < end:
        write_span(w, headers.keys.data, field_span(headers.keys, at))
        write_span(w, headers.values.data, field_span(headers.values, at))
        at += 1


def encode_body(columns: RecordColumns, row: i64, limit: i64) -> Body:
    """Return the records of rows from `row` on: one at least, and as many as `limit` bytes hold. Columns have been
    checked."""
    w = columns.writer
    w.truncate(0)
    keys = columns.keys
    values = columns.values
    headers = columns.headers
    timestamps = columns.timestamps
    divisor: i64 = columns.time_divisor
    key_data = keys.data
    value_data = values.data
    end: i64 = columns.rows
    first: i64 = row
    base_timestamp: i64 = timestamp_of(timestamps, divisor, row)
    max_timestamp: i64 = base_timestamp
    while row < end and row - first < MAX_ROWS:
        timestamp: i64 = timestamp_of(timestamps, divisor, row)
        half: i64 = (timestamp >> 1) - (base_timestamp >> 1)
        if half > MAX_HALF_DELTA or half < -MAX_HALF_DELTA:
            break
        delta: i64 = timestamp - base_timestamp
        delta = (delta << 1) ^ (delta >> 63)
        offset_delta: i64 = (row - first) << 1
        key: i64 = field_span(keys, row)
        value: i64 = field_span(values, row)
        size: i64 = span_size(key) + span_size(value) + 4  # where each of the other four fields takes one byte
        if delta >= 128:
            size += unsigned_size(delta) - 1
        if offset_delta >= 128:
            size += unsigned_size(offset_delta) - 1
        if headers is not None:
            size += headers_size(headers, row) - 1
        if size > MAX_RECORD_BYTES:
            raise ColumnError(f"row {row}: a record of {size} bytes")
        room: i64 = limit - len(w) - size
        if room < MAX_VARINT_BYTES and row > first and room < unsigned_size(size << 1):
            break
        write_unsigned(w, size << 1)
        w.append(0)  # attributes
        if delta < 128:
            w.append(u8(delta))
        else:
            write_unsigned(w, delta)
        if offset_delta < 128:
            w.append(u8(offset_delta))
        else:
            write_unsigned(w, offset_delta)
        write_span(w, key_data, key)
        write_span(w, value_data, value)
        if headers is None:
            w.append(0)
        else:
            write_headers(w, headers, row)
        if timestamp > max_timestamp:
            max_timestamp = timestamp
        row += 1
    return Body(w.getvalue(), row - first, base_timestamp, max_timestamp)


def timestamp_of(timestamps: bytes, divisor: i64, row: i64) -> i64:
    timestamp: i64 = read_i64_le(timestamps, 8 * row)
    if timestamp < -1:
        raise ColumnError(f"row {row}: timestamp {timestamp}")
    if divisor > 1 and timestamp > 0:
        timestamp //= divisor
    return timestamp


def seal(
    body: bytes,
    base_offset: i64,
    partition_leader_epoch: i64,
    attributes: i64,
    last_offset_delta: i64,
    base_timestamp: i64,
    max_timestamp: i64,
    producer_id: i64,
    producer_epoch: i64,
    base_sequence: i64,
    records_count: i64,
) -> bytes:
    """Return a whole batch: the header, with length and checksum, before a body that is compressed already if it is to
    be."""
    checked = BytesWriter()
    write_i16_be(checked, i16(attributes))
    write_i32_be(checked, i32(last_offset_delta))
    write_i64_be(checked, base_timestamp)
    write_i64_be(checked, max_timestamp)
    write_i64_be(checked, producer_id)
    write_i16_be(checked, i16(producer_epoch))
    write_i32_be(checked, i32(base_sequence))
    write_i32_be(checked, i32(records_count))
    tail = checked.getvalue()
    crc: i64 = crc32c(body, crc32c(tail))
    frame = BytesWriter()
    write_i64_be(frame, base_offset)
    write_i32_be(frame, i32(BATCH_OVERHEAD - LOG_OVERHEAD + len(body)))
    write_i32_be(frame, i32(partition_leader_epoch))
    frame.append(MAGIC)
    if crc > MAX_INT32:
        crc -= 1 << 32  # the same bits, as a signed integer
    write_i32_be(frame, i32(crc))
    return b"".join([frame.getvalue(), tail, body])
