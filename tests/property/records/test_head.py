"""The short way to read a record against the reading of each field: where the short way succeeds, both agree."""

from hypothesis import given
from hypothesis import strategies as st
from tests.property.records.batches import Record, record_bytes, records
from tests.unit.records.raw import content, field, record, varint

from tidelog.records.errors import CorruptRecordError
from tidelog.records.kernels_compact import BatchBody, read_record
from tidelog.records.kernels_decode import Cursor
from tidelog.records.kernels_head import RecordHead, read_head

PADDING = bytes(8)  # records in the last eight bytes of a buffer are never read the short way
HEADER = bytes(61)
Found = tuple[int, int, int, tuple[int, int] | None, bool]


def found(head: RecordHead, timestamp: int) -> Found:
    key = None if head.key < 0 else (head.key, head.key_end)
    return head.end, timestamp, head.offset_delta, key, head.has_value


def short_way(data: bytes, position: int, end: int) -> Found | None:
    head = RecordHead()
    return found(head, head.timestamp_delta) if read_head(head, data, position, end) else None


def long_way(data: bytes, position: int, end: int) -> Found | None:
    head, body = RecordHead(), BatchBody(HEADER, 0, data, 0, end)
    try:
        return found(head, read_record(Cursor(0, position), data, body, head))
    except CorruptRecordError:
        return None


@given(records, st.integers(0, 9000), st.binary(max_size=3))
def test_valid_records(one: Record, offset_delta: int, before: bytes) -> None:
    encoded = record_bytes(offset_delta, one)
    data, end = before + encoded + PADDING, len(before) + len(encoded)
    short = short_way(data, len(before), end)
    assert short in (None, long_way(data, len(before), end))
    _, timestamp_delta, _, _, headers = one
    if not headers and abs(timestamp_delta) < 2**20:
        assert short is not None  # common records have to take the short way, or nothing is gained


@given(records, st.data())
def test_damaged_records(one: Record, data: st.DataObject) -> None:
    damaged = bytearray(record_bytes(0, one))
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, min(len(damaged), 80) - 1))] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(0, len(damaged)))
    short = short_way(bytes(damaged) + PADDING, 0, end)
    assert short is None or short == long_way(bytes(damaged) + PADDING, 0, end)


small = st.integers(-3, 3) | st.sampled_from([63, 64, -64, -65, 8191, 8192, 2**20 - 1, 2**20])


@given(small, small, st.integers(-3, 3), st.integers(-3, 3), st.integers(1, 4), st.binary(max_size=12))
def test_lengths_that_lie_and_numbers_longer_than_need_be(
    time: int, offset: int, key: int, value: int, pad_to: int, rest: bytes
) -> None:
    inside = content(varint(offset, pad_to), varint(time), varint(key) + b"abc", varint(value) + rest, b"\0")
    data = record(inside) + PADDING
    short = short_way(data, 0, len(data) - 8)
    assert short is None or short == long_way(data, 0, len(data) - 8)


def test_what_is_left_to_the_long_way() -> None:
    plain = record(content())
    assert short_way(plain + PADDING, 0, len(plain)) is not None
    assert short_way(plain, 0, len(plain)) is None  # too near to the end of the buffer
    assert short_way(plain + PADDING, 0, len(plain) - 1) is None  # reaches beyond its batch
    headers = record(content(headers=varint(1) + field(b"h") + field(b"v")))
    assert short_way(headers + PADDING, 0, len(headers)) is None
