"""Bytes of the Java client and of librdkafka, field by field against what Apache Kafka's own reader printed, read both
ways; and back again byte for byte where the bytes do not depend on a compressor. See golden/README.md."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.wire.records.rows import header_rows, rows

from tidelog.records.aborted import AbortedFilter, AbortedTransaction
from tidelog.records.batch import RecordBatch, batches
from tidelog.records.builder import BatchBuilder, BatchOptions, empty_batch
from tidelog.records.compression import CompressionType
from tidelog.records.control import ControlRecordType, EndTransactionMarker, read_control_type, read_marker
from tidelog.records.fetched import decode_fetched
from tidelog.records.header import TimestampType
from tidelog.records.patch import assign_timestamp

GOLDEN = Path(__file__).parent / "golden"
NAMES = sorted(path.stem for path in GOLDEN.glob("*.bin"))


def load(name: str) -> tuple[bytes, list[dict[str, Any]]]:
    return (GOLDEN / f"{name}.bin").read_bytes(), json.loads((GOLDEN / f"{name}.json").read_text())


def described(batch: RecordBatch) -> dict[str, Any]:
    """Return a batch in the words of the JSON files."""
    header = batch.header
    types = {TimestampType.CREATE_TIME: "CreateTime", TimestampType.LOG_APPEND_TIME: "LogAppendTime"}
    return {
        "base_offset": header.base_offset,
        "last_offset": header.last_offset,
        "size_bytes": header.size_bytes,
        "partition_leader_epoch": header.partition_leader_epoch,
        "magic": header.magic,
        "crc": header.crc,
        "compression": batch.compression.name.lower(),
        "timestamp_type": types[header.timestamp_type],
        "is_transactional": header.is_transactional,
        "is_control": header.is_control,
        "delete_horizon_ms": header.delete_horizon_ms,
        "base_timestamp": header.base_timestamp,
        "max_timestamp": header.max_timestamp,
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "base_sequence": header.base_sequence,
        "last_sequence": header.last_sequence,
        "count": header.records_count,
        "records": [
            {
                "offset": record.offset,
                "timestamp": record.timestamp,
                "key": as_hex(record.key),
                "value": as_hex(record.value),
                "headers": [[key, as_hex(value)] for key, value in record.headers],
            }
            for record in batch.records()
        ],
    }


def as_hex(field: bytes | None) -> str | None:
    return None if field is None else field.hex()


def as_bytes(field: str | None) -> bytes | None:
    return None if field is None else bytes.fromhex(field)


def test_there_are_golden_files() -> None:
    assert len(NAMES) == 19


@pytest.mark.parametrize("name", NAMES)
def test_objects_agree_with_kafkas_reader(name: str) -> None:
    raw, expected = load(name)
    read = list(batches(raw))
    for batch in read:
        batch.validate()
    assert [described(batch) for batch in read] == expected


@pytest.mark.parametrize("name", NAMES)
def test_columns_agree_with_kafkas_reader(name: str) -> None:
    raw, expected = load(name)
    data = [batch for batch in expected if not batch["is_control"]]
    fetched = decode_fetched(raw)
    assert rows(fetched.columns) == [
        (record["offset"], record["timestamp"], as_bytes(record["key"]), as_bytes(record["value"]))
        for batch in data
        for record in batch["records"]
    ]
    assert header_rows(fetched.columns) == [
        [(key.encode(), as_bytes(value)) for key, value in record["headers"]]
        for batch in data
        for record in batch["records"]
    ]
    assert list(fetched.columns.timestamp_types) == [
        int(batch["timestamp_type"] == "LogAppendTime") for batch in data for _ in batch["records"]
    ]
    assert fetched.next_position == len(raw)
    assert fetched.next_offset == expected[-1]["last_offset"] + 1


def rebuilt(batch: RecordBatch, compression: CompressionType) -> bytes:
    header = batch.header
    stamped = header.timestamp_type is TimestampType.LOG_APPEND_TIME
    options = BatchOptions(
        compression=compression,
        log_append_time=header.max_timestamp if stamped else None,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        is_transactional=header.is_transactional,
        is_control=header.is_control,
        partition_leader_epoch=header.partition_leader_epoch,
        delete_horizon_ms=header.delete_horizon_ms,
    )
    builder = BatchBuilder(header.base_offset, options=options)
    for record in batch.records():
        builder.append_record(record)
    return builder.build()


UNCOMPRESSED = [
    name
    for name in NAMES
    if name.endswith(("-none", "-idempotent", "-transactional", "-delete-horizon")) and "append-time" not in name
]


@pytest.mark.parametrize("name", UNCOMPRESSED)
def test_rebuilt_byte_for_byte(name: str) -> None:
    raw, _ = load(name)
    assert b"".join(rebuilt(batch, CompressionType.NONE) for batch in batches(raw)) == raw


@pytest.mark.parametrize("name", [name for name in NAMES if name != "java-empty-batch"])
@pytest.mark.parametrize("compression", list(CompressionType))
def test_rebuilt_with_each_codec_says_the_same(name: str, compression: CompressionType) -> None:
    raw, expected = load(name)
    again = b"".join(rebuilt(batch, compression) for batch in batches(raw))
    read = list(batches(again))
    for batch in read:
        batch.validate()
    kept = ("size_bytes", "crc", "compression", "base_timestamp")
    assert [strip(described(batch), kept) for batch in read] == [strip(batch, kept) for batch in expected]
    assert {batch.compression for batch in read} == {compression}


def strip(batch: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {key: value for key, value in batch.items() if key not in names}


def test_the_empty_batch_byte_for_byte() -> None:
    raw, _ = load("java-empty-batch")
    (batch,) = batches(raw)
    assert empty_batch(batch.header) == raw


def test_log_append_time_in_place_is_what_the_broker_stored() -> None:
    """The same six records went to both topics, so stamping the one must give the other."""
    sent, _ = load("java-none")
    stored, expected = load("java-log-append-time-none")
    patched = bytearray(sent)
    assign_timestamp(patched, TimestampType.LOG_APPEND_TIME, expected[0]["max_timestamp"])
    assert patched == stored


@pytest.mark.parametrize("client", ["java", "librdkafka"])
def test_transaction_markers(client: str) -> None:
    raw, _ = load(f"{client}-transactional")
    records = [next(batch.records()) for batch in batches(raw) if batch.header.is_control]
    assert [read_control_type(record) for record in records] == [
        ControlRecordType.COMMIT,
        ControlRecordType.ABORT,
        ControlRecordType.COMMIT,
    ]
    assert [read_marker(record) for record in records] == [
        EndTransactionMarker(committed, coordinator_epoch=0) for committed in (True, False, True)
    ]


@pytest.mark.parametrize("client", ["java", "librdkafka"])
def test_read_committed_hides_the_aborted_transaction_only(client: str) -> None:
    raw, expected = load(f"{client}-transactional")
    aborted = AbortedFilter([AbortedTransaction(expected[2]["producer_id"], expected[2]["base_offset"])])
    fetched = decode_fetched(raw, aborted=aborted)
    assert [value for _, _, _, value in rows(fetched.columns)] == [b"1", b"2", b"4"]
    assert fetched.next_offset == 7


def test_snappy_of_the_two_clients_is_framed_differently() -> None:
    """Otherwise the two golden files would not cover both framings."""
    framed = b"\x82SNAPPY\x00"
    assert load("java-snappy")[0][61:69] == framed
    assert load("librdkafka-snappy")[0][61:69] != framed
