"""Columns through the encoder and back, with every codec and any cut into batches; and the object writer agrees byte
for byte."""

from array import array
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.property.records.batches import fields, headers
from tests.wire.records.rows import header_rows, rows

from tidelog.records.builder import BatchBuilder, BatchOptions
from tidelog.records.compression import CompressionType
from tidelog.records.fetched import decode_fetched
from tidelog.records.kernels_encode import BinaryColumn, HeaderLists, RecordColumns
from tidelog.records.produced import encode_batches
from tidelog.records.record import Header

timestamps = st.integers(-1, 300) | st.integers(-1, 2**63 - 1) | st.just(1_700_000_000_000)
row_lists = st.lists(st.tuples(timestamps, fields, fields, headers), max_size=12)
Row = tuple[int, bytes | None, bytes | None, list[tuple[bytes, bytes | None]]]


def binary(rows: Sequence[bytes | None], first: int) -> BinaryColumn:
    """Return the rows as a slice that starts at element `first` of a longer array, as Arrow's arrays often do."""
    values = [*[b"before"] * first, *rows]
    ends = [0]
    bits = 0
    for index, value in enumerate(values):
        ends.append(ends[-1] + len(value or b""))
        bits |= (value is not None) << index
    data = b"".join(value or b"" for value in values)
    return BinaryColumn(data, array("i", ends).tobytes(), bits.to_bytes(len(values) // 8 + 1, "little"), first)


def columns_of(table: list[Row], first: int) -> RecordColumns:
    pairs = [pair for row in table for pair in row[3]]
    ends = [0]
    for row in table:
        ends.append(ends[-1] + len(row[3]))
    lists = HeaderLists(
        array("i", ends).tobytes(), 0, binary([key for key, _ in pairs], first), binary([v for _, v in pairs], first)
    )
    return RecordColumns(
        len(table),
        array("q", [row[0] for row in table]).tobytes(),
        binary([row[1] for row in table], first),
        binary([row[2] for row in table], first),
        lists,
    )


@settings(max_examples=80, deadline=None)
@given(row_lists, st.integers(0, 9), st.sampled_from(list(CompressionType)), st.sampled_from([0, 120, 400, 20_000]))
def test_there_and_back(table: list[Row], first: int, codec: CompressionType, limit_bytes: int) -> None:
    options = BatchOptions(codec)
    buffer = b"".join(encode_batches(columns_of(table, first), options, limit_bytes=limit_bytes, base_offset=7))
    fetched = decode_fetched(buffer)
    assert fetched.next_position == len(buffer)
    assert rows(fetched.columns) == [(7 + i, row[0], row[1], row[2]) for i, row in enumerate(table)]
    assert header_rows(fetched.columns) == [row[3] for row in table]


@settings(max_examples=60, deadline=None)
@given(row_lists.filter(bool), st.integers(0, 9))
def test_the_object_writer_agrees(table: list[Row], first: int) -> None:
    near = [(min(row[0], 2**61), *row[1:]) for row in table]  # one batch: times within what one batch can hold
    builder = BatchBuilder(base_offset=7)
    for timestamp, key, value, pairs in near:
        found = tuple(Header(name.decode("utf-8", "surrogateescape"), text) for name, text in pairs)
        builder.append(timestamp, key, value, found)
    (encoded,) = encode_batches(columns_of(near, first), BatchOptions(), limit_bytes=10**7, base_offset=7)
    assert encoded == builder.build()
