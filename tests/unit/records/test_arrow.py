"""The columns really are Arrow's buffers: pyarrow takes them as they are, validates them in full, and reads the rows;
and Arrow's buffers go the other way. (pyarrow is no dependency of the package, only of this test.)"""

import pyarrow as pa  # type: ignore[import-untyped]

from tidelog.records.batch import batches
from tidelog.records.builder import BatchBuilder, BatchOptions
from tidelog.records.fetched import MICROSECONDS, decode_fetched
from tidelog.records.kernels_decode import Columns, decode_headers
from tidelog.records.kernels_encode import BinaryColumn, HeaderLists, RecordColumns
from tidelog.records.produced import encode_batches
from tidelog.records.record import Header

Row = tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]

ROWS: list[Row] = [
    (1000, b"k0", b"v0", [("h", b"1"), ("i", None)]),
    (1001, None, b"v1", []),
    (1002, b"", None, [("", b"")]),
    (1003, None, None, []),
    (1004, b"k4", b"", [("j", b"2")]),
]


def built() -> bytes:
    builder = BatchBuilder(base_offset=50)
    for timestamp, key, value, headers in ROWS:
        builder.append(timestamp, key, value, tuple(Header(*header) for header in headers))
    return builder.build()


def binary(columns: Columns, which: int) -> pa.Array:
    """Return the keys (element 4i of the columns) or the values (element 4i + 2) as an Arrow array."""
    length = 4 * len(columns)
    buffers = [pa.py_buffer(columns.validity), pa.py_buffer(columns.positions), pa.py_buffer(columns.data)]
    raw = pa.Array.from_buffers(pa.binary(), length, buffers)
    raw.validate(full=True)
    return raw.take(pa.array(range(which, length, 4), pa.int32()))


def test_fetched_columns() -> None:
    columns = decode_fetched(built(), time_factor=MICROSECONDS).columns
    assert binary(columns, 0).to_pylist() == [row[1] for row in ROWS]
    assert binary(columns, 2).to_pylist() == [row[2] for row in ROWS]
    offsets = pa.Array.from_buffers(pa.int64(), 5, [None, pa.py_buffer(columns.offsets)])
    assert offsets.to_pylist() == [50, 51, 52, 53, 54]
    times = pa.Array.from_buffers(pa.timestamp("us", "UTC"), 5, [None, pa.py_buffer(columns.timestamps)])
    assert [time.value for time in times] == [1000 * row[0] for row in ROWS]
    types = pa.Array.from_buffers(pa.uint8(), 5, [None, pa.py_buffer(columns.timestamp_types)])
    assert types.to_pylist() == [0] * 5


def test_fetched_headers() -> None:
    columns = decode_fetched(built()).columns
    headers = decode_headers(columns)
    count = 4 * columns.headers_count
    buffers = [pa.py_buffer(headers.validity), pa.py_buffer(headers.positions), pa.py_buffer(columns.data)]
    raw = pa.Array.from_buffers(pa.binary(), count, buffers)
    raw.validate(full=True)
    keys = raw.take(pa.array(range(0, count, 4), pa.int32())).cast(pa.string())
    values = raw.take(pa.array(range(2, count, 4), pa.int32()))
    structs = pa.StructArray.from_arrays([keys, values], names=["key", "value"])
    ends = pa.Array.from_buffers(pa.int32(), 6, [None, pa.py_buffer(headers.list_offsets)])
    lists = pa.ListArray.from_arrays(ends, structs)
    lists.validate(full=True)
    assert lists.to_pylist() == [[{"key": key, "value": value} for key, value in row[3]] for row in ROWS]


def column(values: pa.Array) -> BinaryColumn:
    validity, offsets, data = values.buffers()
    return BinaryColumn(
        data.to_pybytes() if data else b"",
        offsets.to_pybytes(),
        validity.to_pybytes() if validity else b"",
        values.offset,
    )


def test_produced_from_slices_of_arrow_arrays() -> None:
    keys = pa.array([row[1] for row in ROWS], pa.binary()).slice(1)
    values = pa.array([row[2] for row in ROWS], pa.binary()).slice(1)
    element = pa.struct([("key", pa.string()), ("value", pa.binary())])
    lists = pa.array([[dict(zip(("key", "value"), h, strict=True)) for h in row[3]] for row in ROWS], pa.list_(element))
    lists = lists.slice(1)
    structs = lists.values
    headers = HeaderLists(
        lists.buffers()[1].to_pybytes(), lists.offset, column(structs.field("key")), column(structs.field("value"))
    )
    times = pa.array([row[0] for row in ROWS[1:]], pa.int64()).buffers()[1].to_pybytes()
    columns = RecordColumns(4, times, column(keys), column(values), headers)
    (batch,) = batches(b"".join(encode_batches(columns, BatchOptions(), limit_bytes=10**6)))
    assert [(r.timestamp, r.key, r.value, [tuple(h) for h in r.headers]) for r in batch.records()] == ROWS[1:]
