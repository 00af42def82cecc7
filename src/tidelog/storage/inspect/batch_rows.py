"""Batches and their records as rows.

The frame of a batch is shown even when its checksum is wrong, with a Finding beside it: what is left of it is what an
operator is looking for. Its records are then not believed.
"""

from collections.abc import Callable, Iterator

from tidelog.ports.files import FileSystem
from tidelog.protocol.control_records import decode_control_record_key, decode_control_record_value
from tidelog.protocol.errors import ProtocolError
from tidelog.records.batch import RecordBatch
from tidelog.records.errors import RecordError
from tidelog.records.header import NO_SEQUENCE, BatchHeader, increment_sequence
from tidelog.records.record import Record
from tidelog.storage.inspect.batches import FoundBatch, read_batches
from tidelog.storage.inspect.findings import Finding
from tidelog.storage.inspect.rows import Row

# Decodes key and value of a record into the messages that they are; None leaves them as bytes. Raises ProtocolError
# where they are damaged.
Decoder = Callable[[Record], dict[str, object] | None]


def dump_batches(fs: FileSystem, path: str, records: bool, decoder: Decoder | None) -> Iterator[Row | Finding]:
    for found in read_batches(fs, path):
        finding = _crc_finding(path, found)
        yield batch_row(found, valid=finding is None)
        if finding:
            yield finding
        elif records:
            yield from _dump_records(path, found, decoder)


def _crc_finding(path: str, found: FoundBatch) -> Finding | None:
    try:
        found.batch.check_crc()
    except RecordError as error:
        return Finding(path, str(error), found.position)
    return None


def batch_row(found: FoundBatch, valid: bool) -> Row:
    header = found.batch.header
    return Row(
        "batch",
        {
            "position": found.position,
            "base_offset": header.base_offset,
            "last_offset": header.last_offset,
            "records_count": header.records_count,
            "size_bytes": header.size_bytes,
            "partition_leader_epoch": header.partition_leader_epoch,
            "timestamp_type": header.timestamp_type.name,
            "base_timestamp": header.base_timestamp,
            "max_timestamp": header.max_timestamp,
            "compression": _compression(found.batch),
            "producer_id": header.producer_id,
            "producer_epoch": header.producer_epoch,
            "base_sequence": header.base_sequence,
            "last_sequence": header.last_sequence,
            "is_transactional": header.is_transactional,
            "is_control": header.is_control,
            "delete_horizon_ms": header.delete_horizon_ms,
            "crc": header.crc,
            "valid": valid,
        },
    )


def _compression(batch: RecordBatch) -> str:
    try:
        return batch.compression.name.lower()
    except RecordError:
        return f"unknown ({batch.header.compression_id})"


def _dump_records(path: str, found: FoundBatch, decoder: Decoder | None) -> Iterator[Row | Finding]:
    try:
        for record in found.batch.records():
            meaning, finding = _meaning(path, found, record, decoder)
            yield record_row(record, found.batch.header, meaning)
            if finding:
                yield finding
    except RecordError as error:
        yield Finding(path, str(error), found.position)


def _meaning(
    path: str, found: FoundBatch, record: Record, decoder: Decoder | None
) -> tuple[dict[str, object] | None, Finding | None]:
    try:
        if found.batch.header.is_control:
            return _control_meaning(record), None
        return decoder(record) if decoder else None, None
    except ProtocolError as error:
        return None, Finding(path, f"the record at offset {record.offset} can not be decoded: {error}", found.position)


def _control_meaning(record: Record) -> dict[str, object]:
    type_ = decode_control_record_key(record.key or b"")
    if type_ is None:
        return {"type": "UNKNOWN"}  # of a later release: readers pass over it
    return {"type": type_.name, "value": decode_control_record_value(type_, record.value or b"")}


def record_row(record: Record, header: BatchHeader, meaning: dict[str, object] | None) -> Row:
    """Return the row of one record. `meaning` is what control records and decoded ones say; the bytes stay beside
    it."""
    sequence = None
    if header.base_sequence != NO_SEQUENCE and not header.is_control:
        sequence = increment_sequence(header.base_sequence, record.offset - header.base_offset)
    return Row(
        "record",
        {
            "offset": record.offset,
            "timestamp": record.timestamp,
            "sequence": sequence,
            "key": record.key,
            "value": record.value,
            "headers": [[each.key, each.value] for each in record.headers],
            "meaning": meaning,
        },
    )
