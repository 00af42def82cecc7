"""The kernels, compiled and interpreted, against a dumb decoder where the bytes are valid, and against the object
reader where they may be anything: the same rows or the same error."""

import importlib.util
from collections.abc import Callable
from types import ModuleType

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.property.records.batches import Row, plain_batches, reference_rows
from tests.wire.records.rows import HeaderRow, header_rows, rows

from tidelog._compiled import source_path
from tidelog.records import kernels_decode
from tidelog.records.batch import batches
from tidelog.records.builder import seal_batch
from tidelog.records.compression import CompressionType, compress
from tidelog.records.errors import RecordError
from tidelog.records.fetched import decode_fetched
from tidelog.records.header import read_header
from tidelog.records.patch import write_crc
from tidelog.records.record import Record

EVERYTHING = (-(2**63), 2**63 - 1)
Outcome = tuple[list[Row], list[list[HeaderRow]]] | tuple[type[RecordError], int]


def interpreted() -> ModuleType:
    """Load the same file without compiling it, so that one run compares the compiled and the interpreted module."""
    spec = importlib.util.spec_from_file_location("interpreted_kernels", source_path(kernels_decode.__name__))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


INTERPRETED = interpreted()


def outcome(read: Callable[[bytes], Outcome], buffer: bytes) -> Outcome:
    try:
        return read(buffer)
    except RecordError as error:
        return type(error), error.base_offset


def by_objects(buffer: bytes) -> Outcome:
    records: list[Record] = []
    for batch in batches(buffer):
        batch.check_crc()
        if not batch.header.is_control:
            records += list(batch.records())
    found: list[list[HeaderRow]] = [[(h.key_bytes(), h.value) for h in record.headers] for record in records]
    return [(record.offset, record.timestamp, record.key, record.value) for record in records], found


def by_columns(buffer: bytes) -> Outcome:
    columns = decode_fetched(buffer, lower=EVERYTHING[0], upper=EVERYTHING[1]).columns
    return rows(columns), header_rows(columns)


def by_interpreted_kernel(buffer: bytes) -> Outcome:
    columns = INTERPRETED.decode(buffer, 0, len(buffer), *EVERYTHING, 1, True)
    return rows(columns), header_rows(columns, INTERPRETED.decode_headers(columns))


@settings(max_examples=60, deadline=None)
@given(plain_batches(), plain_batches(base_offset=100_000))
def test_valid_batches(first: bytes, second: bytes) -> None:
    buffer = first + second
    found = outcome(by_columns, buffer)
    assert found[0] == reference_rows(buffer)
    assert outcome(by_objects, buffer) == found
    assert outcome(by_interpreted_kernel, buffer) == found


@settings(max_examples=40, deadline=None)
@given(plain_batches(), plain_batches(base_offset=100_000), st.integers(990, 1030), st.integers(1000, 1040))
def test_bounds(first: bytes, second: bytes, lower: int, upper: int) -> None:
    columns = decode_fetched(first + second, lower=lower, upper=upper).columns
    assert rows(columns) == [row for row in reference_rows(first + second) if lower <= row[0] < upper]


@settings(max_examples=40, deadline=None)
@given(plain_batches(), st.sampled_from(list(CompressionType)))
def test_compressed(plain: bytes, codec: CompressionType) -> None:
    header = read_header(plain)
    assert header is not None
    header.attributes |= codec
    compressed = seal_batch(header, compress(codec, plain[61:]))
    assert outcome(by_columns, compressed)[0] == reference_rows(plain)
    assert outcome(by_objects, compressed)[0] == reference_rows(plain)


edits = st.lists(
    st.tuples(st.integers(0, 400), st.integers(0, 255) | st.sampled_from([0, 1, 2, 127, 128, 255])), max_size=4
)


@settings(max_examples=400, deadline=None)
@given(plain_batches(max_size=3), edits, st.integers(0, 12), st.binary(max_size=4))
def test_damage(valid: bytes, changes: list[tuple[int, int]], cut: int, tail: bytes) -> None:
    """Bytes are changed anywhere after the checksum, the end is cut off and something else appended. Length and
    checksum are then made right, so that only the checks of the contents can notice."""
    damaged = bytearray(valid[: max(61, len(valid) - cut)] + tail)
    for position, byte in changes:
        damaged[21 + position % (len(damaged) - 21)] = byte
    damaged[8:12] = (len(damaged) - 12).to_bytes(4)
    write_crc(damaged)
    buffer = bytes(damaged)
    expected = outcome(by_objects, buffer)
    assert outcome(by_columns, buffer) == expected
    if not damaged[22] & 0x07 or damaged[22] & 0x20:  # the kernel alone does not inflate
        assert outcome(by_interpreted_kernel, buffer) == expected


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200), st.integers(0, 2))
def test_random_bytes(junk: bytes, shape: int) -> None:
    """Random bytes come alone, as the body of a batch, or behind a plausible frame."""
    buffer = (junk, bytes(16) + b"\2" + junk, bytes(8) + b"\0\0\0\x40\0\0\0\0\2" + junk)[shape]
    expected = outcome(by_objects, buffer)
    assert outcome(by_interpreted_kernel, buffer)[0] == outcome(by_columns, buffer)[0]
    if isinstance(expected[0], type):
        assert isinstance(outcome(by_columns, buffer)[0], type)
