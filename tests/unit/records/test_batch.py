"""Reading batches as objects: where they are cut, the fields of their header, and what Kafka tolerates."""

import pytest
from tests.unit.records.raw import BASE_OFFSET, BASE_TIMESTAMP, GOOD, batch, content, field, record, varint
from tests.wire.records.rows import rows

from tidelog.records.batch import batches, read_batch
from tidelog.records.fetched import decode_fetched
from tidelog.records.header import BatchHeader, TimestampType, increment_sequence
from tidelog.records.record import Header, Record


def only(buffer: bytes) -> Record:
    (found,) = batches(buffer)
    (read,) = found.records()
    return read


@pytest.mark.parametrize("size", range(len(GOOD) * 2 + 1))
def test_a_buffer_may_end_anywhere(size: int) -> None:
    buffer = (GOOD + GOOD)[:size]
    whole = size // len(GOOD)
    assert len(list(batches(buffer))) == whole
    fetched = decode_fetched(buffer)
    assert len(fetched.columns) == 2 * whole
    assert fetched.next_position == whole * len(GOOD)


def test_a_batch_is_a_view_of_the_buffer() -> None:
    buffer = bytearray(b"xx" + GOOD + b"yy")
    found = read_batch(buffer, 2)
    assert found is not None
    assert found.view.obj is buffer
    assert found.view == GOOD


def test_records() -> None:
    headers = varint(2) + field(b"h") + field(None) + field(b"\xff") + field(b"")
    read = only(batch(record(content(timestamp_delta=varint(-7), key=field(None), headers=headers))))
    assert read == Record(BASE_OFFSET, BASE_TIMESTAMP - 7, None, b"v", (Header("h", None), Header("\udcff", b"")))
    assert read.headers[1].key_bytes() == b"\xff"


def test_log_append_time_is_every_records() -> None:
    read = only(batch(record(content(timestamp_delta=varint(5))), attributes=0x08, max_timestamp=99))
    assert read.timestamp == 99


def test_padded_varints_are_read_as_kafka_reads_them() -> None:
    padded = content(varint(0, pad_to=5), varint(3, pad_to=10), varint(1, pad_to=5) + b"k", varint(1, pad_to=3) + b"v")
    buffer = batch(record(padded))
    assert only(buffer) == Record(BASE_OFFSET, BASE_TIMESTAMP + 3, b"k", b"v")
    assert rows(decode_fetched(buffer).columns) == [(BASE_OFFSET, BASE_TIMESTAMP + 3, b"k", b"v")]


def test_bits_beyond_the_width_are_dropped_as_kafka_drops_them() -> None:
    beyond_32 = bytes([0x82, 0x80, 0x80, 0x80, 0x70])  # 1, and three bits above the 32nd
    beyond_64 = bytes([0x82] + [0x80] * 8 + [0x7E])  # 1, and bits above the 64th
    buffer = batch(record(content(timestamp_delta=beyond_64, key=beyond_32 + b"k")))
    assert only(buffer) == Record(BASE_OFFSET, BASE_TIMESTAMP + 1, b"k", b"v")
    assert rows(decode_fetched(buffer).columns) == [(BASE_OFFSET, BASE_TIMESTAMP + 1, b"k", b"v")]


@pytest.mark.parametrize(("base", "delta"), [(0, 2**63 - 1), (-1, -(2**63) + 1), (0, -(2**63)), (2**62, 2**62 - 1)])
def test_timestamps_at_the_edge_of_64_bits(base: int, delta: int) -> None:
    buffer = batch(record(content(timestamp_delta=varint(delta))), base_timestamp=base)
    assert only(buffer).timestamp == base + delta
    assert list(decode_fetched(buffer).columns.timestamps) == [base + delta]


def test_header_properties() -> None:
    header = BatchHeader(base_offset=10, last_offset_delta=4, attributes=0x78 | 3, base_timestamp=5, base_sequence=7)
    assert header.last_offset == 14
    assert header.last_sequence == 11
    assert header.compression_id == 3
    assert header.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert header.is_transactional
    assert header.is_control
    assert header.delete_horizon_ms == 5
    assert not header.has_producer_id


def test_a_plain_header_claims_nothing() -> None:
    header = BatchHeader()
    assert (header.is_transactional, header.is_control, header.delete_horizon_ms) == (False, False, None)
    assert header.last_sequence == -1
    assert header.timestamp_type is TimestampType.CREATE_TIME


def test_sequences_wrap_to_zero() -> None:
    assert increment_sequence(2**31 - 1, 1) == 0
    assert increment_sequence(2**31 - 3, 5) == 2
    assert increment_sequence(5, 0) == 5
