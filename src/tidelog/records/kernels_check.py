"""Kernels, the fourth part: a leader's look at every record of a batch before it lets the batch in. Compiled by mypyc;
the same file runs interpreted. The rules are those of `kernels_decode`.

Nothing is decoded into columns: lengths, offsets, keys and times are looked at and forgotten. A record that the
format allows and the topic does not is noted by its index, and the walk goes on, because a producer is told of all such
records, up to NAMED_MAX; for bytes that the format does not allow an error is raised at once.
"""

from typing import Final

from librt.vecs import append, vec
from mypy_extensions import i64

from tidelog.records.errors import CorruptRecordCountError
from tidelog.records.kernels_decode import (
    Cursor,
    read_field,
    read_record_end,
    read_timestamp,
    read_varint,
    skip_headers,
)
from tidelog.records.kernels_head import PLAIN_TIME_MAX, PLAIN_TIME_MIN, RecordHead, read_head
from tidelog.records.kernels_walk import MIN_RECORD_BYTES, check_bounds

NO_TIMESTAMP: Final = -1
# How many records of each kind are named. A batch has room for millions, and an answer that names each takes gigabytes.
NAMED_MAX: Final = 1_000


class RecordsCheck:
    """The result of the walk over the records of one batch."""

    def __init__(self) -> None:
        self.is_dense: bool = True  # the offset deltas are 0, 1, 2, ...
        self.max_timestamp: i64 = NO_TIMESTAMP
        self.faults: i64 = 0  # how many records are at fault; the lists below name the first ones
        self.keyless: vec[i64] = vec[i64]()  # indexes of records without a key, where keys are needed
        self.untimely: vec[i64] = vec[i64]()  # indexes of records too old or too new
        self.untimely_timestamps: vec[i64] = vec[i64]()


def check_records(
    b: bytes,
    position: i64,
    end: i64,
    count: i64,
    base_offset: i64,
    base_timestamp: i64,
    oldest: i64,
    newest: i64,
    needs_key: bool,
) -> RecordsCheck:
    """Walk the `count` records that `b[position:end]` must hold exactly. A timestamp must lie in `oldest` to `newest`,
    unless the record has none. `base_offset` is for the errors only. The time of a record without its key is not
    checked: one fault a record."""
    check_bounds(b, position, end)
    if count < 0 or count * MIN_RECORD_BYTES > end - position:
        raise CorruptRecordCountError(base_offset, f"{count} records in {end - position} bytes")
    check = RecordsCheck()
    plain_time: bool = base_timestamp > PLAIN_TIME_MIN and base_timestamp < PLAIN_TIME_MAX
    max_timestamp: i64 = NO_TIMESTAMP
    index: i64 = 0
    c = Cursor(base_offset, position)
    head = RecordHead()
    while index < count:
        timestamp: i64 = 0
        if plain_time and read_head(head, b, c.position, end):
            c.position = head.end
            timestamp = base_timestamp + head.timestamp_delta
        else:
            timestamp = read_fields(c, b, end, base_timestamp, head)
        if head.offset_delta != index:
            check.is_dense = False
        if timestamp > max_timestamp:
            max_timestamp = timestamp
        if needs_key and head.key < 0:
            check.faults += 1
            if len(check.keyless) < NAMED_MAX:
                check.keyless = append(check.keyless, index)
        elif (timestamp < oldest or timestamp > newest) and timestamp != NO_TIMESTAMP:
            check.faults += 1
            if len(check.untimely) < NAMED_MAX:
                check.untimely = append(check.untimely, index)
                check.untimely_timestamps = append(check.untimely_timestamps, timestamp)
        index += 1
    if c.position != end:
        raise CorruptRecordCountError(base_offset, f"{end - c.position} bytes after the last record")
    check.max_timestamp = max_timestamp
    return check


class TimeSearch:
    """The result of `search_times`."""

    def __init__(self) -> None:
        self.offset_delta: i64 = -1  # of the first record that is not before the time; -1: there is none
        self.timestamp: i64 = NO_TIMESTAMP  # of that record
        self.latest: i64 = NO_TIMESTAMP  # the latest timestamp of the records before that one


def search_times(
    b: bytes, position: i64, end: i64, count: i64, base_timestamp: i64, timestamp: i64, from_delta: i64
) -> TimeSearch:
    """Walk the records from the offset delta `from_delta` on, up to the first that is not before `timestamp`."""
    check_bounds(b, position, end)
    found = TimeSearch()
    plain_time: bool = base_timestamp > PLAIN_TIME_MIN and base_timestamp < PLAIN_TIME_MAX
    index: i64 = 0
    c = Cursor(0, position)
    head = RecordHead()
    while index < count:
        time: i64 = 0
        if plain_time and read_head(head, b, c.position, end):
            c.position = head.end
            time = base_timestamp + head.timestamp_delta
        else:
            time = read_fields(c, b, end, base_timestamp, head)
        index += 1
        if head.offset_delta < from_delta:
            continue
        if time >= timestamp:
            found.offset_delta = head.offset_delta
            found.timestamp = time
            return found
        if time > found.latest:
            found.latest = time
    return found


def read_fields(c: Cursor, b: bytes, end: i64, base_timestamp: i64, head: RecordHead) -> i64:
    """Read any record, field by field; return its timestamp, and put what else the check needs into `head`."""
    record_end: i64 = read_record_end(c, b, end)
    c.position += 1  # attributes, unused
    timestamp: i64 = read_timestamp(c, b, record_end, base_timestamp)
    head.offset_delta = read_varint(c, b, record_end)
    head.key = read_field(c, b, record_end)
    read_field(c, b, record_end)
    skip_headers(c, b, record_end)
    return timestamp
