"""A leader's walk over the records of a batch: what it returns, and what it raises."""

import pytest
from tests.unit.records.raw import content, field, record, varint

from tidelog.records.errors import (
    CorruptRecordCountError,
    CorruptRecordError,
    CorruptRecordLengthError,
    CorruptRecordTimestampError,
    CorruptRecordVarintError,
)
from tidelog.records.kernels_check import RecordsCheck, check_records

NONE = -1
FOREVER = (-(2**63), 2**63 - 1)


def check(
    body: bytes,
    count: int,
    *,
    base_timestamp: int = 100,
    times: tuple[int, int] = FOREVER,
    needs_key: bool = False,
    around: bytes = b"",
) -> RecordsCheck:
    buffer = around + body + around
    start, end = len(around), len(around) + len(body)
    return check_records(buffer, start, end, count, 77, base_timestamp, *times, needs_key)


def at(index: int, time: int = 0, key: bytes | None = b"k") -> bytes:
    return record(content(varint(index), varint(time), field(key)))


def test_a_clean_batch() -> None:
    found = check(at(0, 5) + at(1, -3) + at(2, 4), 3)
    assert (found.is_dense, found.max_timestamp, found.faults) == (True, 105, 0)


def test_only_the_named_bytes_are_read() -> None:
    assert check(at(0) + at(1), 2, around=b"\xff" * 20).is_dense


@pytest.mark.parametrize("offsets", [(1,), (0, 2), (0, 0), (1, 0), (0, 1, 1), (-1,)])
def test_offsets_that_are_not_counted_from_0_are_noticed(offsets: tuple[int, ...]) -> None:
    assert not check(b"".join(map(at, offsets)), len(offsets)).is_dense


def test_records_without_a_key_are_named_where_keys_are_needed() -> None:
    body = at(0, key=None) + at(1, key=b"") + at(2, key=None)
    assert check(body, 3).faults == 0
    found = check(body, 3, needs_key=True)
    assert (list(found.keyless), found.faults) == ([0, 2], 2)


def test_times_are_held_against_both_bounds_which_are_themselves_allowed() -> None:
    body = b"".join(at(index, time) for index, time in enumerate((-11, -10, 0, 10, 11)))
    found = check(body, 5, times=(90, 110))
    assert (list(found.untimely), list(found.untimely_timestamps), found.faults) == ([0, 4], [89, 111], 2)
    assert found.max_timestamp == 111


def test_no_time_at_all_is_within_any_bounds() -> None:
    assert check(at(0, -101), 1, times=(90, 110)).faults == 0


def test_times_before_1970_do_not_make_the_maximum() -> None:
    assert check(at(0, -150), 1).max_timestamp == NONE


def test_a_record_has_one_fault_and_a_missing_key_comes_first() -> None:
    found = check(at(0, 50, key=None) + at(1, 50), 2, times=(90, 110), needs_key=True)
    assert (list(found.keyless), list(found.untimely)) == ([0], [1])


def test_headers_are_walked() -> None:
    headers = varint(2) + field(b"a") + field(None) + field(b"") + field(b"x" * 200)
    assert check(record(content(headers=headers)), 1).is_dense
    with pytest.raises(CorruptRecordLengthError, match="without a key"):
        check(record(content(headers=varint(1) + field(None) + field(b"v"))), 1)


@pytest.mark.parametrize(
    ("body", "count", "error"),
    [
        (at(0), 2, CorruptRecordCountError),  # the bytes can not hold two records
        (at(0) + b"\0", 1, CorruptRecordCountError),  # a byte left over
        (at(0) + at(1), 1, CorruptRecordCountError),
        (at(0), -1, CorruptRecordCountError),
        (record(content(), length=99), 1, CorruptRecordLengthError),
        (record(content(), length=-4) + bytes(9), 1, CorruptRecordLengthError),
        (record(content() + b"\0"), 1, CorruptRecordLengthError),  # a byte left over inside the record
        (record(content(key=varint(50))), 1, CorruptRecordLengthError),
        (record(content(key=varint(-2))), 1, CorruptRecordLengthError),
        (record(content(timestamp_delta=b"\x80" * 10 + b"\0")), 1, CorruptRecordVarintError),
        (record(content(timestamp_delta=varint(2**63 - 1))), 1, CorruptRecordTimestampError),
        (record(content(headers=varint(100))), 1, CorruptRecordCountError),
    ],
)
def test_bytes_that_are_no_records(body: bytes, count: int, error: type[CorruptRecordError]) -> None:
    with pytest.raises(error) as caught:
        check(body, count)
    assert caught.value.base_offset == 77


def test_every_cut_is_noticed() -> None:
    body = at(0) + at(1, 10_000) + at(2)
    for end in range(len(body)):
        with pytest.raises(CorruptRecordError):
            check(body[:end], 3)


def test_a_range_beyond_the_buffer_is_the_callers_mistake() -> None:
    with pytest.raises(ValueError, match="range"):
        check_records(b"", 0, 1, 0, 0, 0, *FOREVER, False)
