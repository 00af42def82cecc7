"""The kernel that reads common records gives the same columns, or the same error, as the one that reads any record,
whatever the bytes; compiled and interpreted."""

import importlib.util
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.property.records.batches import plain_batches
from tests.unit.records.raw import batch, content, field, record, varint

from tidelog._compiled import source_path
from tidelog.client.fetch import kernels_rows
from tidelog.records.errors import RecordError
from tidelog.records.kernels_decode import Columns, decode
from tidelog.records.patch import write_crc

EVERYTHING = (0, 2**62)
Decode = Callable[[bytes, int, int, int, int, int, bool], Columns]


def interpreted() -> ModuleType:
    spec = importlib.util.spec_from_file_location("interpreted_rows", source_path(kernels_rows.__name__))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


INTERPRETED = interpreted()


def outcome(read: Decode, data: bytes, lower: int, upper: int, factor: int, *, verify_crc: bool = True) -> Any:
    try:
        columns = read(data, 0, len(data), lower, upper, factor, verify_crc)
    except RecordError as error:
        return type(error), error.args
    vecs = (columns.offsets, columns.timestamps, columns.timestamp_types, columns.positions, columns.validity)
    counts = (columns.null_keys, columns.null_values, columns.headers_count, columns.end)
    return [bytes(memoryview(vec)) for vec in vecs], [int(count) for count in counts]


def check(data: bytes, lower: int, upper: int, factor: int = 1000, *, verify_crc: bool = True) -> None:
    expected = outcome(decode, data, lower, upper, factor, verify_crc=verify_crc)
    for read in (kernels_rows.decode_rows, INTERPRETED.decode_rows):
        assert outcome(read, data, lower, upper, factor, verify_crc=verify_crc) == expected


common = st.tuples(
    st.integers(-300, 300),
    st.none() | st.binary(max_size=70),
    st.none() | st.binary(max_size=70) | st.just(b"v" * 9000),
)


def common_batch(rows: list[tuple[int, bytes | None, bytes | None]], base: int, attributes: int) -> bytes:
    parts = [
        record(content(varint(at), varint(time), field(key), field(value)))
        for at, (time, key, value) in enumerate(rows)
    ]
    return batch(*parts, base_offset=base, attributes=attributes)


def _with_trailer(read: Decode, trailer: bytes, data: bytes, position: int, end: int, *rest: Any) -> Columns:
    return read(data + trailer, position, end, *rest)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.lists(common, min_size=1, max_size=8), st.sampled_from([0, 8])), min_size=1, max_size=4),
    st.binary(max_size=20),
)
def test_common_records(batches: list[tuple[list[Any], int]], trailer: bytes) -> None:
    """The bytes behind the last batch, if any, decide whether the kernel may read eight bytes at a time to its end."""
    data = b"".join(common_batch(rows, 100 * at, kind) for at, (rows, kind) in enumerate(batches))
    expected = outcome(decode, data, *EVERYTHING, 1000)
    for read in (kernels_rows.decode_rows, INTERPRETED.decode_rows):
        assert outcome(partial(_with_trailer, read, trailer), data, *EVERYTHING, 1000) == expected


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 5), max_size=4), st.data())
def test_any_records_in_any_range(steps: list[int], data: st.DataObject) -> None:
    buffer, base = b"", 1000
    for step in steps:
        buffer += data.draw(plain_batches(base_offset=base))
        base += 60_000 + step
    lower = data.draw(st.integers(0, 1010) | st.integers(0, base))
    upper = data.draw(st.integers(lower, lower + 10) | st.integers(lower, base + 10) | st.just(2**62))
    check(buffer, lower, upper, data.draw(st.sampled_from([1, 1000])))


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_damaged_records(data: st.DataObject) -> None:
    rows = data.draw(st.lists(common.filter(lambda row: len(row[2] or b"") < 100), min_size=1, max_size=4))
    damaged = bytearray(common_batch(rows, 0, data.draw(st.sampled_from([0, 8]))))
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(17, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    write_crc(damaged)
    check(bytes(damaged) + common_batch(rows, 10_000, 0), *EVERYTHING, verify_crc=False)


def test_times_at_the_edge_of_what_fits() -> None:
    parts = [record(content(varint(at), varint(delta))) for at, delta in enumerate((0, 5, -5))]
    for base in (-(2**63), -(2**62), 2**62 - 1, 2**62, 2**63 - 6, 2**63 // 1000, -(2**63) // 1000 + 5):
        for factor in (1, 1000):
            check(batch(*parts, base_timestamp=base), *EVERYTHING, factor)


def test_sizes_where_a_length_takes_a_byte_more() -> None:
    for size in (63, 64, 8191, 8192, (1 << 20) - 1, 1 << 20):
        check(common_batch([(0, b"k", b"v" * size), (1, b"k" * size, None)], 0, 0), *EVERYTHING)
