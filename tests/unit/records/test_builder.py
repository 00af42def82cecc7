"""The builder's rules, and the fields that a broker patches in place."""

import pytest
from tests.unit.records.raw import GOOD

from tidelog.records.batch import RecordBatch, batches
from tidelog.records.builder import BatchBuilder, BatchOptions, empty_batch
from tidelog.records.compression import CompressionType
from tidelog.records.control import (
    ControlRecordType,
    EndTransactionMarker,
    control_key,
    read_control_type,
    read_marker,
)
from tidelog.records.errors import CorruptRecordControlError, CorruptRecordCrcError
from tidelog.records.header import BATCH_OVERHEAD, TimestampType
from tidelog.records.patch import assign_offset, assign_timestamp
from tidelog.records.record import Header, Record, record_size_bytes


def built(builder: BatchBuilder) -> RecordBatch:
    (batch,) = batches(builder.build())
    batch.validate()
    return batch


def test_offsets_and_timestamps() -> None:
    builder = BatchBuilder(base_offset=5)
    builder.append(100, b"a", None)
    builder.append_record(Record(9, 90, None, b"b", (Header("h", None),)))
    builder.append(200, b"c", b"d")
    batch = built(builder)
    assert (batch.header.base_offset, batch.header.last_offset, batch.header.records_count) == (5, 10, 3)
    assert (batch.header.base_timestamp, batch.header.max_timestamp) == (100, 200)
    assert list(batch.records()) == [
        Record(5, 100, b"a", None),
        Record(9, 90, None, b"b", (Header("h", None),)),
        Record(10, 200, b"c", b"d"),
    ]


def test_the_size_limit_is_exact_and_spares_the_first_record() -> None:
    record = Record(1, 0, b"k", b"v" * 200, (Header("h", b"x"),))
    builder = BatchBuilder(limit_bytes=1)
    assert builder.has_room_for(record)
    builder.append(0, None, b"larger than the limit")
    assert not builder.has_room_for(record)
    fits = builder.uncompressed_size_bytes + record_size_bytes(record, 0, 0)
    builder.limit_bytes = fits
    assert builder.has_room_for(record)
    builder.limit_bytes = fits - 1
    assert not builder.has_room_for(record)
    builder.append_record(record)
    assert len(builder.build()) == builder.uncompressed_size_bytes == fits


@pytest.mark.parametrize("offset", [0, 4, 5])
def test_offsets_must_increase(offset: int) -> None:
    builder = BatchBuilder(base_offset=5)
    builder.append(0, None, None)
    with pytest.raises(ValueError, match="does not follow"):
        builder.append_record(Record(offset, 0, None, None))


def test_the_first_offset_is_not_before_the_base() -> None:
    with pytest.raises(ValueError, match="does not follow"):
        BatchBuilder(base_offset=5).append_record(Record(4, 0, None, None))


def test_offsets_stay_within_31_bits_of_the_base() -> None:
    builder = BatchBuilder(base_offset=5)
    builder.append_record(Record(5 + 2**31 - 1, 0, None, None))
    assert built(builder).header.last_offset_delta == 2**31 - 1
    with pytest.raises(ValueError, match="too far"):
        builder.append(0, None, None)


def test_timestamps_are_not_negative() -> None:
    builder = BatchBuilder()
    builder.append(-1, None, None)
    with pytest.raises(ValueError, match="negative"):
        builder.append(-2, None, None)


def test_a_batch_needs_a_record() -> None:
    with pytest.raises(ValueError, match="needs a record"):
        BatchBuilder().build()


def test_producer_fields() -> None:
    options = BatchOptions(producer_id=7, producer_epoch=2, base_sequence=2**31 - 1, is_transactional=True)
    builder = BatchBuilder(options=options)
    builder.append(0, None, None)
    builder.append(0, None, None)
    header = built(builder).header
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 2, 2**31 - 1)
    assert header.last_sequence == 0
    assert header.is_transactional


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"is_transactional": True}, "needs a producer id"),
        ({"producer_id": 1}, "needs a producer epoch"),
        ({"producer_id": 1, "producer_epoch": 0}, "needs a base sequence"),
    ],
)
def test_producer_fields_belong_together(options: dict[str, int], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        BatchOptions(**options)  # type: ignore[arg-type]


def test_log_append_time() -> None:
    builder = BatchBuilder(options=BatchOptions(log_append_time=500))
    builder.append(100, None, None)
    batch = built(builder)
    assert batch.header.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert (batch.header.base_timestamp, batch.header.max_timestamp) == (100, 500)
    assert [record.timestamp for record in batch.records()] == [500]


def test_empty_batch_keeps_what_producers_need() -> None:
    options = BatchOptions(CompressionType.ZSTD, producer_id=7, producer_epoch=2, base_sequence=3)
    builder = BatchBuilder(base_offset=40, options=options)
    builder.append(100, None, None)
    builder.append(200, None, None)
    (batch,) = batches(empty_batch(built(builder).header))
    batch.validate()
    assert len(batch.view) == BATCH_OVERHEAD
    assert (batch.header.base_offset, batch.header.last_offset, batch.header.last_sequence) == (40, 41, 4)
    assert (batch.header.base_timestamp, batch.header.max_timestamp) == (-1, 200)
    assert list(batch.records()) == []


def marker_options() -> BatchOptions:
    return BatchOptions(producer_id=7, producer_epoch=2, is_transactional=True, is_control=True)


@pytest.mark.parametrize("committed", [True, False])
def test_markers(committed: bool) -> None:
    builder = BatchBuilder(base_offset=3, options=marker_options())
    builder.append_marker(100, EndTransactionMarker(committed, coordinator_epoch=9))
    batch = built(builder)
    assert batch.header.is_control
    (record,) = batch.records()
    assert read_marker(record) == EndTransactionMarker(committed, 9)
    assert record.offset == 3


def test_quorum_control_records() -> None:
    builder = BatchBuilder(options=BatchOptions(is_control=True))
    builder.append_control(0, ControlRecordType.LEADER_CHANGE, b"opaque")
    (record,) = built(builder).records()
    assert read_control_type(record) is ControlRecordType.LEADER_CHANGE
    assert record.value == b"opaque"


def test_control_records_need_a_control_batch() -> None:
    builder = BatchBuilder()
    with pytest.raises(ValueError, match="belong in a control batch"):
        builder.append_control(0, ControlRecordType.LEADER_CHANGE, b"")
    with pytest.raises(ValueError, match="belong in a control batch"):
        builder.append_marker(0, EndTransactionMarker(True, 0))


def test_markers_need_a_transactional_batch() -> None:
    builder = BatchBuilder(options=BatchOptions(is_control=True))
    with pytest.raises(ValueError, match="belongs in a transactional batch"):
        builder.append_marker(0, EndTransactionMarker(True, 0))


def test_control_types_of_the_future_are_unknown_not_wrong() -> None:
    assert read_control_type(Record(0, 0, b"\x00\x01\x00\x63more", None)) is ControlRecordType.UNKNOWN
    with pytest.raises(ValueError, match="type that exists"):
        control_key(ControlRecordType.UNKNOWN)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b"\0" * 6),
        (b"\0\0\0", b"\0" * 6),
        (b"\xff\xff\0\0", b"\0" * 6),
        (b"\0\0\0\2", b"\0" * 6),
        (b"\0\0\0\1", None),
        (b"\0\0\0\1", b"\0" * 5),
        (b"\0\0\0\1", b"\xff\xff\0\0\0\0"),
    ],
)
def test_corrupt_markers(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(CorruptRecordControlError) as caught:
        read_marker(Record(77, 0, key, value))
    assert caught.value.base_offset == 77


def test_assigning_an_offset_leaves_the_checksum_right() -> None:
    buffer = bytearray(b"xx" + GOOD)
    assign_offset(buffer, 2, 2**40, 12)
    (batch,) = batches(buffer, 2)
    batch.validate()
    assert (batch.header.base_offset, batch.header.partition_leader_epoch) == (2**40, 12)
    assert [record.offset for record in batch.records()] == [2**40, 2**40 + 1]


def test_assigning_a_timestamp_there_and_back() -> None:
    buffer = bytearray(GOOD)
    assign_timestamp(buffer, TimestampType.LOG_APPEND_TIME, 42)
    (batch,) = batches(buffer)
    batch.validate()
    assert [record.timestamp for record in batch.records()] == [42, 42]
    (original,) = batches(GOOD)
    assign_timestamp(buffer, TimestampType.CREATE_TIME, original.header.max_timestamp)
    assert buffer == GOOD


def test_an_unchanged_timestamp_does_not_hide_a_wrong_checksum() -> None:
    buffer = bytearray(GOOD)
    buffer[-1] ^= 1
    (batch,) = batches(buffer)
    assign_timestamp(buffer, TimestampType.CREATE_TIME, batch.header.max_timestamp)
    with pytest.raises(CorruptRecordCrcError):
        batch.check_crc()
