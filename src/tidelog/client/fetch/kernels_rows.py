"""The common batch, decoded at once: every record has short lengths, no headers, and an offset that is wanted.
Compiled by mypyc; the same file runs interpreted. The rules are those of `records.kernels_decode`, the result too.

That kernel reads any record, field by field, and says what is wrong with one; this one knows only the records that
nearly all topics have, and takes two thirds of the time. A batch that has any other is handed to it as a whole, so
what is decoded here has to be what it would have come to: tests hold the one against the other.
"""

from librt.strings import read_i16_be, read_i32_be, read_i64_be, read_i64_le
from librt.vecs import append
from mypy_extensions import i32, i64, u8

from tidelog.records.errors import BufferTooLargeError, CorruptRecordCompressionError
from tidelog.records.kernels_decode import (
    MAX_I32,
    NULL_KEY,
    NULL_VALUE,
    Columns,
    add_timestamp_types,
    decode_batch,
    filled,
)
from tidelog.records.kernels_head import PLAIN_TIME_MAX, PLAIN_TIME_MIN
from tidelog.records.kernels_walk import OVERHEAD, batch_end, check_bounds, check_crc, count_records


def decode_rows(
    b: bytes, position: i64, end: i64, lower: i64, upper: i64, time_factor: i64, verify_crc: bool
) -> Columns:
    """Decode the batches between `position` and `end`, as `kernels_decode.decode` does."""
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
        last: i64 = base + i64(read_i32_be(b, p + 23))
        if last >= lower:
            if verify_crc:
                check_crc(b, view, p, after)
            attributes: i64 = i64(read_i16_be(b, p + 21))
            if attributes & 7 and not attributes & 0x20:
                raise CorruptRecordCompressionError(base, "compressed: it has to be inflated first")
            if not attributes & 0x20:
                is_inside: bool = base >= lower and last < upper
                if not is_inside or not decode_common(columns, b, p, after):
                    decode_batch(columns, b, p, after, lower, upper)
        p = after
        after = batch_end(b, p, end)
    columns.positions = append(columns.positions, i32(p))
    columns.validity = filled(columns.validity, len(columns.offsets))
    columns.end = p
    return columns


def decode_common(columns: Columns, b: bytes, p: i64, end: i64) -> bool:
    """Append the rows of the batch at `p`, all of which are wanted. False where a record is not a common one: then
    the columns are as long as before (what lies behind their ends is written over by the next append).

    The same lines read each of the five lengths, because a call would cost more than they do: eight bytes at once, of
    which one, two or three are the number."""
    base: i64 = read_i64_be(b, p)
    last_offset: i64 = base + i64(read_i32_be(b, p + 23))
    base_timestamp: i64 = read_i64_be(b, p + 27)
    stamped: i64 = (i64(read_i16_be(b, p + 21)) >> 3) & 1
    timestamp: i64 = read_i64_be(b, p + 35)  # the max timestamp, which is every record's under LogAppendTime
    if base_timestamp < PLAIN_TIME_MIN or base_timestamp > PLAIN_TIME_MAX:
        return False  # a delta might not fit into 64 bits any more
    offsets, timestamps = columns.offsets, columns.timestamps
    positions, validity = columns.positions, columns.validity
    null_keys: i64 = 0
    null_values: i64 = 0
    factor: i64 = columns.time_factor
    latest: i64 = columns.max_timestamp
    earliest: i64 = columns.min_timestamp
    previous: i64 = base - 1
    left: i64 = i64(read_i32_be(b, p + 57))
    size: i64 = len(b)
    word: i64 = 0
    x: i64 = 0
    q: i64 = p + OVERHEAD
    while left > 0:
        if q + 8 > size:
            return False
        word = read_i64_le(b, q)
        if word & 0x80 == 0:
            x = word & 0x7F
            q += 1
        elif word & 0x8000 == 0:
            x = (word & 0x7F) | ((word & 0x7F00) >> 1)
            q += 2
        elif word & 0x800000 == 0:
            x = (word & 0x7F) | ((word & 0x7F00) >> 1) | ((word & 0x7F0000) >> 2)
            q += 3
        else:
            return False
        record_end: i64 = q + (x >> 1)
        if x & 1 or record_end > end:
            return False
        if q + 9 > size:
            return False
        word = read_i64_le(b, q + 1)  # behind the attributes, unused
        if word & 0x80 == 0:
            x = word & 0x7F
            q += 2
        elif word & 0x8000 == 0:
            x = (word & 0x7F) | ((word & 0x7F00) >> 1)
            q += 3
        elif word & 0x800000 == 0:
            x = (word & 0x7F) | ((word & 0x7F00) >> 1) | ((word & 0x7F0000) >> 2)
            q += 4
        else:
            return False
        if not stamped:
            timestamp = base_timestamp + ((x >> 1) ^ -(x & 1))
        if timestamp > latest or timestamp < earliest:
            return False
        if q + 8 > size:
            return False
        word = read_i64_le(b, q)
        if word & 0x80 == 0:
            x = word & 0x7F
            q += 1
        elif word & 0x8000 == 0:
            x = (word & 0x7F) | ((word & 0x7F00) >> 1)
            q += 2
        elif word & 0x800000 == 0:
            x = (word & 0x7F) | ((word & 0x7F00) >> 1) | ((word & 0x7F0000) >> 2)
            q += 3
        else:
            return False
        offset: i64 = base + (x >> 1)
        if x & 1 or offset <= previous or offset > last_offset:
            return False
        previous = offset
        if q + 8 > size:
            return False
        word = read_i64_le(b, q)
        if word & 0x80 == 0:
            x = word & 0x7F
            q += 1
        elif word & 0x8000 == 0:
            x = (word & 0x7F) | ((word & 0x7F00) >> 1)
            q += 2
        elif word & 0x800000 == 0:
            x = (word & 0x7F) | ((word & 0x7F00) >> 1) | ((word & 0x7F0000) >> 2)
            q += 3
        else:
            return False
        if x & 1 and x != 1:
            return False
        key: i64 = q
        is_null_key: bool = x == 1
        if not is_null_key:
            q += x >> 1
        key_end: i64 = q
        if q >= record_end:
            return False
        if q + 8 > size:
            return False
        word = read_i64_le(b, q)
        if word & 0x80 == 0:
            x = word & 0x7F
            q += 1
        elif word & 0x8000 == 0:
            x = (word & 0x7F) | ((word & 0x7F00) >> 1)
            q += 2
        elif word & 0x800000 == 0:
            x = (word & 0x7F) | ((word & 0x7F00) >> 1) | ((word & 0x7F0000) >> 2)
            q += 3
        else:
            return False
        if x & 1 and x != 1:
            return False
        value: i64 = q
        is_null_value: bool = x == 1
        if not is_null_value:
            q += x >> 1
        if q + 1 != record_end or b[q] != 0:
            return False
        if is_null_key or is_null_value:
            row: i64 = len(offsets)
            at: i64 = row >> 1
            while len(validity) <= at:
                validity = append(validity, u8(255))
            if is_null_key:
                null_keys += 1
                validity[at] = u8(i64(validity[at]) & ~(NULL_KEY << (4 * (row & 1))))
            if is_null_value:
                null_values += 1
                validity[at] = u8(i64(validity[at]) & ~(NULL_VALUE << (4 * (row & 1))))
        positions = append(positions, i32(key))
        positions = append(positions, i32(key_end))
        positions = append(positions, i32(value))
        positions = append(positions, i32(q))
        offsets = append(offsets, offset)
        timestamps = append(timestamps, timestamp * factor)
        q = record_end
        left -= 1
    if q != end:
        return False
    columns.offsets, columns.timestamps = offsets, timestamps
    columns.positions, columns.validity = positions, validity
    columns.null_keys += null_keys
    columns.null_values += null_values
    add_timestamp_types(columns, stamped)
    return True
