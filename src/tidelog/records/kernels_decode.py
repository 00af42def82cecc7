"""Kernels, the second part: from record bytes to columns. Compiled by mypyc; the same file runs interpreted.

Positions of keys and values only ever increase along a buffer, so `[k0, k1, v0, v1]*` is itself a valid Arrow offsets
buffer over the raw bytes: element 4i is the key of row i, element 4i + 2 its value, and the two between are gaps.
Nothing is copied here; whoever needs contiguous columns does one `take`.

Rules of this file, each with a reason:
- input is `bytes`: mypyc reads a byte of it without building an object;
- every read is checked against the end of the record or batch it belongs to, not only of the buffer;
- arithmetic never leaves 64 bits, because it wraps when compiled and does not when interpreted;
- faults are raised in the order in which `record.read_records` raises them: tests hold one against the other.
"""

from typing import Final

from librt.strings import read_i16_be, read_i32_be, read_i64_be, read_i64_le
from librt.vecs import append, vec
from mypy_extensions import i32, i64, u8

from tidelog.records.errors import (
    BufferTooLargeError,
    CorruptRecordCompressionError,
    CorruptRecordCountError,
    CorruptRecordLengthError,
    CorruptRecordOffsetError,
    CorruptRecordTimestampError,
    CorruptRecordVarintError,
    TimestampRangeError,
)
from tidelog.records.kernels_walk import (
    MIN_RECORD_BYTES,
    OVERHEAD,
    batch_end,
    check_bounds,
    check_crc,
    count_records,
)

MAX_I32: Final = 0x7FFFFFFF
MAX_I64: Final = 0x7FFFFFFFFFFFFFFF
MIN_I64: Final = -0x7FFFFFFFFFFFFFFF - 1
MASK_32: Final = 0xFFFFFFFF
NULL_KEY: Final = 1
NULL_VALUE: Final = 4


class Columns:
    """The rows of a decoded buffer. Every vec supports the buffer protocol."""

    def __init__(self, data: bytes, rows: i64, time_factor: i64) -> None:
        self.data = data  # what `positions` point into
        self.time_factor = time_factor
        self.max_timestamp: i64 = MAX_I64 // time_factor  # outside of these two bounds the product would overflow
        self.min_timestamp: i64 = -self.max_timestamp if time_factor > 1 else MIN_I64
        self.offsets: vec[i64] = vec[i64](capacity=rows)
        self.timestamps: vec[i64] = vec[i64](capacity=rows)
        self.timestamp_types: vec[u8] = vec[u8](capacity=rows)
        self.positions: vec[i32] = vec[i32](capacity=4 * rows + 1)  # [k0, k1, v0, v1]* and one closing position
        # An Arrow validity bitmap over the 4 * rows elements of `positions`: half a byte a row, gaps are valid.
        self.validity: vec[u8] = vec[u8](capacity=(rows + 1) // 2)
        self.null_keys: i64 = 0
        self.null_values: i64 = 0
        self.headers_count: i64 = 0
        self.end: i64 = 0  # where decoding stopped: after the last batch that was used up

    def __len__(self) -> int:
        return len(self.offsets)


class HeaderColumns:
    """The headers of the rows of `Columns`, ready for Arrow's list of struct(key, value)."""

    def __init__(self, rows: i64, headers: i64) -> None:
        self.list_offsets: vec[i32] = vec[i32](capacity=rows + 1)
        self.positions: vec[i32] = vec[i32](capacity=4 * headers + 1)  # as in `Columns`
        self.validity: vec[u8] = vec[u8](capacity=(headers + 1) // 2)
        self.null_values: i64 = 0


class Cursor:
    """The position of a reader in a batch. Reads move it; a read that is not possible raises with the batch's base
    offset."""

    def __init__(self, base: i64, position: i64) -> None:
        self.base = base
        self.position = position


def read_varint(c: Cursor, b: bytes, end: i64) -> i64:
    """Read a 32-bit value. Nearly all of them take one or two bytes: one load of eight is cheaper than two of one."""
    p: i64 = c.position
    if p + 8 <= len(b):
        word: i64 = read_i64_le(b, p)
        if word & 0x80 == 0 and p < end:
            c.position = p + 1
            return ((word & 127) >> 1) ^ -(word & 1)
        if word & 0x8000 == 0 and p + 1 < end:
            c.position = p + 2
            return (((word & 127) | ((word & 0x7F00) >> 1)) >> 1) ^ -(word & 1)
    return read_long_varint(c, b, end)


def read_long_varint(c: Cursor, b: bytes, end: i64) -> i64:
    """Read a 32-bit value of any number of bytes. Kafka drops the bits beyond the 32nd, and so do we."""
    p: i64 = c.position
    value: i64 = 0
    shift: i64 = 0
    while p < end:
        byte: i64 = b[p]
        p += 1
        value |= (byte & 127) << shift
        if byte < 128:
            c.position = p
            value &= MASK_32
            return (value >> 1) ^ -(value & 1)
        shift += 7
        if shift == 35:
            raise CorruptRecordVarintError(c.base, "a variable-length integer is longer than 5 bytes")
    raise CorruptRecordLengthError(c.base, "a record ends within a variable-length integer")


def read_varlong(c: Cursor, b: bytes, end: i64) -> i64:
    """Read a 64-bit value. The 64th bit is handled apart, because a signed integer has no room for it before the zigzag
    is undone."""
    p: i64 = c.position
    value: i64 = 0
    top: i64 = 0
    shift: i64 = 0
    while p < end:
        byte: i64 = b[p]
        p += 1
        if shift == 63:
            top = byte & 1
        else:
            value |= (byte & 127) << shift
        if byte < 128:
            c.position = p
            return ((value >> 1) | (top << 62)) ^ -(value & 1)
        shift += 7
        if shift == 70:
            raise CorruptRecordVarintError(c.base, "a variable-length integer is longer than 10 bytes")
    raise CorruptRecordLengthError(c.base, "a record ends within a variable-length integer")


def read_field(c: Cursor, b: bytes, end: i64) -> i64:
    """Pass over a field and return where it starts, or -1 for null; the cursor is then behind it."""
    length: i64 = read_varint(c, b, end)
    start: i64 = c.position
    if length == -1:
        return -1
    if length < 0 or length > end - start:
        raise CorruptRecordLengthError(c.base, f"field length {length} with {end - start} bytes left")
    c.position = start + length
    return start


def read_timestamp(c: Cursor, b: bytes, end: i64, base_timestamp: i64) -> i64:
    delta: i64 = read_varlong(c, b, end)
    if delta > 0:
        if base_timestamp > MAX_I64 - delta:
            raise CorruptRecordTimestampError(c.base, "a timestamp is beyond 64 bits")
    elif base_timestamp < MIN_I64 - delta:
        raise CorruptRecordTimestampError(c.base, "a timestamp is beyond 64 bits")
    return base_timestamp + delta


def skip_headers(c: Cursor, b: bytes, end: i64) -> i64:
    """Check the headers of a record, which must end where it does; return how many there are."""
    count: i64 = read_varint(c, b, end)
    if count < 0 or count > end - c.position:
        raise CorruptRecordCountError(c.base, f"{count} headers in {end - c.position} bytes")
    left: i64 = count
    while left > 0:
        if read_field(c, b, end) < 0:
            raise CorruptRecordLengthError(c.base, "a header without a key")
        read_field(c, b, end)
        left -= 1
    if c.position != end:
        raise CorruptRecordLengthError(c.base, f"{end - c.position} bytes left over inside a record")
    return count


def decode(b: bytes, position: i64, end: i64, lower: i64, upper: i64, time_factor: i64, verify_crc: bool) -> Columns:
    """Return the rows with `lower <= offset < upper` of the uncompressed data batches in `b[position:end]`; control
    batches are passed over. Timestamps are milliseconds times `time_factor` (1, or 1000 for microseconds)."""
    check_bounds(b, position, end)
    if time_factor < 1:
        raise ValueError(f"time factor {time_factor}")
    if end > MAX_I32:
        raise BufferTooLargeError(0, f"a buffer of {end} bytes; positions end at {MAX_I32}")
    columns = Columns(b, count_records(b, position, end), time_factor)
    view = memoryview(b)
    p: i64 = position
    after: i64 = batch_end(b, p, end)
    while after >= 0:
        base: i64 = read_i64_be(b, p)
        if base >= upper:
            break
        if base + i64(read_i32_be(b, p + 23)) >= lower:
            if verify_crc:
                check_crc(b, view, p, after)
            attributes: i64 = i64(read_i16_be(b, p + 21))
            if attributes & 7 and not attributes & 0x20:
                raise CorruptRecordCompressionError(base, "compressed: it has to be inflated first")
            if not attributes & 0x20:
                decode_batch(columns, b, p, after, lower, upper)
        p = after
        after = batch_end(b, p, end)
    columns.positions = append(columns.positions, i32(p))
    columns.validity = filled(columns.validity, len(columns.offsets))
    columns.end = p
    return columns


def decode_batch(columns: Columns, b: bytes, p: i64, end: i64, lower: i64, upper: i64) -> None:
    """Append the rows of the batch at `p` to `columns`. The three columns that every row writes to are locals here:
    through the object each append would cost two more reference counts."""
    base: i64 = read_i64_be(b, p)
    last_offset: i64 = base + i64(read_i32_be(b, p + 23))
    base_timestamp: i64 = read_i64_be(b, p + 27)
    stamped: i64 = (i64(read_i16_be(b, p + 21)) >> 3) & 1
    timestamp: i64 = read_i64_be(b, p + 35)  # the max timestamp, which is every record's under LogAppendTime
    left: i64 = i64(read_i32_be(b, p + 57))
    if left * MIN_RECORD_BYTES > end - p - OVERHEAD:
        raise CorruptRecordCountError(base, f"{left} records in {end - p - OVERHEAD} bytes")
    offsets = columns.offsets
    timestamps = columns.timestamps
    positions = columns.positions
    factor: i64 = columns.time_factor
    previous: i64 = base - 1
    c = Cursor(base, p + OVERHEAD)
    while left > 0:
        record_end: i64 = read_record_end(c, b, end)
        c.position += 1  # attributes, unused
        if stamped:
            read_varlong(c, b, record_end)
        else:
            timestamp = read_timestamp(c, b, record_end, base_timestamp)
        offset: i64 = base + read_varint(c, b, record_end)
        if offset <= previous or offset > last_offset:
            raise CorruptRecordOffsetError(base, f"offset delta {offset - base} out of order or out of range")
        if offset >= upper:
            break
        previous = offset
        left -= 1
        if offset < lower:
            c.position = record_end
            continue
        start: i64 = read_field(c, b, record_end)
        if start < 0:
            add_null(columns, len(offsets), NULL_KEY)
            start = c.position
        positions = append(append(positions, i32(start)), i32(c.position))
        start = read_field(c, b, record_end)
        if start < 0:
            add_null(columns, len(offsets), NULL_VALUE)
            start = c.position
        positions = append(append(positions, i32(start)), i32(c.position))
        if c.position + 1 == record_end and b[c.position] == 0:
            c.position = record_end
        else:
            columns.headers_count += skip_headers(c, b, record_end)
        if timestamp > columns.max_timestamp or timestamp < columns.min_timestamp:
            raise TimestampRangeError(base, f"timestamp {timestamp} ms does not fit the wanted unit")
        offsets = append(offsets, offset)
        timestamps = append(timestamps, timestamp * factor)
    if left == 0 and c.position != end:
        raise CorruptRecordCountError(base, f"{end - c.position} bytes after the last record")
    columns.offsets = offsets
    columns.timestamps = timestamps
    columns.positions = positions
    add_timestamp_types(columns, stamped)


def read_record_end(c: Cursor, b: bytes, end: i64) -> i64:
    length: i64 = read_varint(c, b, end)
    if length < 1 or length > end - c.position:
        raise CorruptRecordLengthError(c.base, f"record length {length} with {end - c.position} bytes left")
    return c.position + length


def add_null(columns: Columns, row: i64, field: i64) -> None:
    if field == NULL_KEY:
        columns.null_keys += 1
    else:
        columns.null_values += 1
    columns.validity = with_null(columns.validity, row, field)


def with_null(validity: vec[u8], row: i64, field: i64) -> vec[u8]:
    """Return the bitmap with one more null. It is filled only as far as the last null, because most data have none."""
    validity = filled(validity, row + 1)
    at: i64 = row >> 1
    validity[at] = u8(i64(validity[at]) & ~(field << (4 * (row & 1))))
    return validity


def filled(validity: vec[u8], rows: i64) -> vec[u8]:
    while 2 * len(validity) < rows:
        validity = append(validity, u8(255))
    return validity


def add_timestamp_types(columns: Columns, stamped: i64) -> None:
    types = columns.timestamp_types
    missing: i64 = len(columns.offsets) - len(types)
    while missing > 0:
        types = append(types, u8(stamped))
        missing -= 1
    columns.timestamp_types = types


def decode_headers(columns: Columns) -> HeaderColumns:
    """Return the headers of the rows in `columns`. They follow the value, and were checked when it was decoded."""
    b = columns.data
    rows: i64 = len(columns.offsets)
    headers = HeaderColumns(rows, columns.headers_count)
    c = Cursor(0, 0)
    end: i64 = len(b)
    row: i64 = 0
    total: i64 = 0
    while row < rows:
        headers.list_offsets = append(headers.list_offsets, i32(total))
        c.position = i64(columns.positions[4 * row + 3])
        left: i64 = read_varint(c, b, end)
        while left > 0:
            append_header(headers, c, b, end, total)
            total += 1
            left -= 1
        row += 1
    headers.list_offsets = append(headers.list_offsets, i32(total))
    headers.positions = append(headers.positions, i32(c.position))
    headers.validity = filled(headers.validity, total)
    return headers


def append_header(headers: HeaderColumns, c: Cursor, b: bytes, end: i64, row: i64) -> None:
    start: i64 = read_field(c, b, end)
    headers.positions = append(append(headers.positions, i32(start)), i32(c.position))
    start = read_field(c, b, end)
    if start < 0:
        headers.null_values += 1
        headers.validity = with_null(headers.validity, row, NULL_VALUE)
        start = c.position
    headers.positions = append(append(headers.positions, i32(start)), i32(c.position))


def is_null(columns: Columns, row: i64, field: i64) -> bool:
    return (i64(columns.validity[row >> 1]) >> (4 * (row & 1))) & field == 0
