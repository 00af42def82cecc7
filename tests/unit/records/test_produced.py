"""Columns to batches: sizes, sequences, nulls, headers, and columns that are not what they claim."""

from array import array
from collections.abc import Sequence

import pytest

from tidelog.records.batch import RecordBatch, batches
from tidelog.records.builder import BatchBuilder, BatchOptions
from tidelog.records.compression import CompressionType
from tidelog.records.errors import ColumnError
from tidelog.records.kernels_encode import BinaryColumn, HeaderLists, RecordColumns
from tidelog.records.produced import NULLS, encode_batches
from tidelog.records.record import Header, Record


def binary(values: Sequence[bytes | None]) -> BinaryColumn:
    ends = [0]
    bits = bytearray((len(values) + 7) // 8)
    for index, value in enumerate(values):
        ends.append(ends[-1] + len(value or b""))
        bits[index // 8] |= (value is not None) << index % 8
    return BinaryColumn(b"".join(value or b"" for value in values), array("i", ends).tobytes(), bytes(bits), 0)


def times(values: Sequence[int]) -> bytes:
    return array("q", values).tobytes()


def encoded(columns: RecordColumns, limit_bytes: int = 10**6, options: BatchOptions | None = None) -> list[RecordBatch]:
    buffer = b"".join(encode_batches(columns, options or BatchOptions(), limit_bytes=limit_bytes, base_offset=100))
    read = list(batches(buffer))
    for batch in read:
        batch.validate()
    assert sum(len(batch.view) for batch in read) == len(buffer)
    return read


def records(read: list[RecordBatch]) -> list[Record]:
    return [record for batch in read for record in batch.records()]


ROWS = 20
KEYS = [None if i % 3 == 0 else b"key%d" % i for i in range(ROWS)]
VALUES = [None if i % 4 == 1 else b"v" * (7 * i) for i in range(ROWS)]
TIMES = [1000 + (i * 37) % 11 for i in range(ROWS)]
COLUMNS = RecordColumns(ROWS, times(TIMES), binary(KEYS), binary(VALUES))
EXPECTED = [Record(100 + i, TIMES[i], KEYS[i], VALUES[i]) for i in range(ROWS)]


@pytest.mark.parametrize("compression", list(CompressionType))
def test_rows_become_records(compression: CompressionType) -> None:
    (batch,) = read = encoded(COLUMNS, options=BatchOptions(compression))
    assert records(read) == EXPECTED
    assert batch.header.max_timestamp == max(TIMES)
    assert batch.header.base_timestamp == TIMES[0]


@pytest.mark.parametrize("limit_bytes", [0, 61, 100, 200, 333, 1000])
def test_batches_are_cut_where_the_builder_cuts_them(limit_bytes: int) -> None:
    read = encoded(COLUMNS, limit_bytes)
    assert records(read) == EXPECTED
    expected = []
    builder = None
    for record in EXPECTED:
        if builder is None or not builder.has_room_for(record):
            builder = BatchBuilder(record.offset, limit_bytes)
            expected.append(builder)
        builder.append_record(record)
    assert [bytes(batch.view) for batch in read] == [builder.build() for builder in expected]


def test_sequences_go_on_from_batch_to_batch_and_wrap() -> None:
    options = BatchOptions(producer_id=7, producer_epoch=1, base_sequence=2**31 - 2)
    read = encoded(RecordColumns(4, times([0] * 4), NULLS, NULLS), 0, options)
    assert [batch.header.base_sequence for batch in read] == [2**31 - 2, 2**31 - 1, 0, 1]
    assert {batch.header.producer_id for batch in read} == {7}


def test_no_producer_no_sequence() -> None:
    read = encoded(RecordColumns(2, times([0, 0]), NULLS, NULLS), 0)
    assert [batch.header.base_sequence for batch in read] == [-1, -1]


def test_headers() -> None:
    lists: list[list[tuple[bytes, bytes | None]]] = [[], [(b"a", b"1"), (b"b", None)], [], [(b"", b"")]]
    flat = [header for headers in lists for header in headers]
    ends = array("i", [0, 0, 2, 2, 3]).tobytes()
    headers = HeaderLists(ends, 0, binary([key for key, _ in flat]), binary([value for _, value in flat]))
    read = records(encoded(RecordColumns(4, times([0] * 4), NULLS, NULLS, headers)))
    assert [record.headers for record in read] == [
        tuple(Header(key.decode(), value) for key, value in headers) for headers in lists
    ]


def test_slices_of_columns() -> None:
    keys, values = binary(KEYS), binary(VALUES)
    keys = BinaryColumn(keys.data, keys.offsets, keys.validity, 5)
    values = BinaryColumn(values.data, values.offsets, values.validity, 5)
    read = records(encoded(RecordColumns(3, times(TIMES[5:8]), keys, values)))
    assert [(record.key, record.value, record.timestamp) for record in read] == [
        (KEYS[i], VALUES[i], TIMES[i]) for i in (5, 6, 7)
    ]


def test_microseconds_are_cut_to_milliseconds() -> None:
    columns = RecordColumns(3, times([-1, 0, 1_234_567]), NULLS, NULLS, time_divisor=1000)
    assert [record.timestamp for record in records(encoded(columns))] == [-1, 0, 1234]


def test_log_append_time() -> None:
    read = encoded(COLUMNS, options=BatchOptions(log_append_time=77))
    assert {record.timestamp for record in records(read)} == {77}


def test_times_too_far_apart_for_one_batch() -> None:
    """The difference of the timestamps does not fit into a zigzag of 64 bits, so they go into two batches."""
    far = [-1, 2**63 - 1, 0, 2**62]
    read = encoded(RecordColumns(4, times(far), NULLS, NULLS))
    assert [record.timestamp for record in records(read)] == far
    assert len(read) > 1


def test_no_rows_no_batches() -> None:
    assert encoded(RecordColumns(0, b"", NULLS, NULLS)) == []


GOOD = binary([b"ab", b"cd"])
TWO = times([0, 0])


def broken_headers(ends: list[int], keys: BinaryColumn = GOOD, values: BinaryColumn = GOOD) -> RecordColumns:
    return RecordColumns(2, TWO, GOOD, GOOD, HeaderLists(array("i", ends).tobytes(), 0, keys, values))


BROKEN = {
    "timestamps too short": RecordColumns(3, TWO, NULLS, NULLS),
    "timestamp negative": RecordColumns(2, times([0, -2]), NULLS, NULLS),
    "divisor zero": RecordColumns(2, TWO, NULLS, NULLS, time_divisor=0),
    "offsets too short": RecordColumns(2, TWO, BinaryColumn(b"ab", bytes(8), b"", 0), GOOD),
    "offsets too short for a slice": RecordColumns(2, TWO, BinaryColumn(GOOD.data, GOOD.offsets, b"", 1), GOOD),
    "first row negative": RecordColumns(2, TWO, BinaryColumn(GOOD.data, GOOD.offsets, b"", -1), GOOD),
    "validity too short": RecordColumns(9, times([0] * 9), BinaryColumn(b"", bytes(40), b"\xff", 0), NULLS),
    "offsets decrease": RecordColumns(2, TWO, BinaryColumn(b"ab", array("i", [2, 1, 2]).tobytes(), b"", 0), GOOD),
    "offsets beyond the data": RecordColumns(
        2, TWO, GOOD, BinaryColumn(b"ab", array("i", [0, 1, 3]).tobytes(), b"", 0)
    ),
    "offsets negative": RecordColumns(2, TWO, GOOD, BinaryColumn(b"ab", array("i", [-1, 1, 2]).tobytes(), b"", 0)),
    "list offsets too short": broken_headers([0, 1]),
    "list offsets decrease": broken_headers([1, 0, 2]),
    "list offsets beyond the last": broken_headers([0, 2, 1]),
    "list offsets negative": broken_headers([-1, 1, 2]),
    "list ends negative": broken_headers([0, 0, -1]),
    "header keys too short": broken_headers([0, 1, 3]),
    "header values too short": broken_headers([0, 1, 2], values=binary([b"a"])),
    "header key null": broken_headers([0, 1, 2], keys=binary([b"a", None])),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_columns(name: str) -> None:
    with pytest.raises(ColumnError):
        encoded(BROKEN[name])


def test_a_record_beyond_what_a_batch_can_hold() -> None:
    huge = BinaryColumn(bytes(2**30), array("i", [0, 2**30]).tobytes(), b"", 0)  # zero pages: nothing is allocated
    with pytest.raises(ColumnError, match=f"a record of {2**31 + 14} bytes"):
        encoded(RecordColumns(1, times([0]), huge, huge))


@pytest.mark.parametrize("options", [BatchOptions(is_control=True), BatchOptions(delete_horizon_ms=5)])
def test_columns_are_what_a_producer_sends(options: BatchOptions) -> None:
    with pytest.raises(ValueError, match="what a producer sends"):
        encode_batches(COLUMNS, options, limit_bytes=1000)
