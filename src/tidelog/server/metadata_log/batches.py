"""Batches of the metadata log and of its snapshots: records in, bytes out, and back.

A batch is what becomes visible as a whole: a crash leaves all of it or none. An atomic result is therefore one batch;
any other is cut where a batch is full. Control batches belong to the quorum, all others to the cluster's metadata.
"""

from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

from tidelog.metadata.record_framing import MetadataRecord, decode_metadata_record, encode_metadata_record
from tidelog.model.lazy_dataclass import dataclass, field
from tidelog.protocol.control_records import (
    CONTROL_RECORDS,
    decode_control_record_key,
    decode_control_record_value,
    encode_control_record_value,
)
from tidelog.records.batch import RecordBatch
from tidelog.records.builder import BatchBuilder, BatchOptions
from tidelog.records.control import ControlRecordType
from tidelog.records.header import BATCH_OVERHEAD
from tidelog.records.record import Record
from tidelog.server.replicated import AppendRefused

RECORDS_MAX: Final = 10_000  # in one batch, as in Kafka
# Records between two yields: 1 to 3 ms of work.
RECORDS_A_SLICE: Final = 250
# What a record takes besides its value: lengths, deltas, a null key, no headers. An upper bound.
RECORD_OVERHEAD: Final = 24

VersionedRecord: TypeAlias = tuple[Any, int]  # a message and the version to write it in

_CONTROL_TYPES: Final = {cls: ControlRecordType(number) for number, cls in CONTROL_RECORDS.items()}


class OversizedBatchError(AppendRefused):
    """Records that have to become visible together do not fit into one batch. Nothing of them is written."""


@dataclass(slots=True)
class MetadataBatch:
    """One batch: `records` of a metadata batch or `control` messages of a control batch, the other is empty. A control
    record of a type from a later release is None. The records are decoded as they are iterated over, once: a batch may
    hold more of them than a turn has time for."""

    base_offset: int
    last_offset: int
    epoch: int
    timestamp: int
    size_bytes: int
    records: Iterator[MetadataRecord] = field(default_factory=lambda: iter(()))
    control: list[Any] = field(default_factory=list)


def control_batch(messages: Iterable[Any], timestamp: int, epoch: int, base_offset: int = 0) -> bytes:
    options = BatchOptions(is_control=True, partition_leader_epoch=epoch)
    builder = BatchBuilder(base_offset=base_offset, options=options)
    for message in messages:
        builder.append_control(timestamp, _CONTROL_TYPES[type(message)], encode_control_record_value(message))
    return builder.build()


def encode_steps(
    records: Sequence[VersionedRecord], timestamp: int, epoch: int, limit_bytes: int, *, is_atomic: bool
) -> Generator[None, None, list[bytes]]:
    """Return the batches of one result, giving the turn back after every so many records. OversizedBatchError where an
    atomic result does not fit into a single batch."""
    # What belongs together is one batch, however many records it is: a topic with its 10,000 partitions is one more.
    writer = BatchWriter(timestamp, epoch, limit_bytes, records_max=len(records) if is_atomic else RECORDS_MAX)
    encoded: list[bytes] = []
    for count, record in enumerate(records, 1):
        encoded += writer.append(*record)
        if is_atomic and encoded:
            raise OversizedBatchError(f"{len(records)} records do not fit into one batch of {limit_bytes} bytes")
        if count % RECORDS_A_SLICE == 0:
            yield
    return [*encoded, *writer.finish()]


def batches_of(
    records: Iterable[VersionedRecord], timestamp: int, epoch: int, limit_bytes: int, base_offset: int = 0
) -> Iterator[bytes]:
    """Yield as many batches as the records take; offsets go on from one to the next."""
    writer = BatchWriter(timestamp, epoch, limit_bytes, base_offset)
    for message, version in records:
        yield from writer.append(message, version)
    yield from writer.finish()


class BatchWriter:
    """A cutter of records into batches; each call returns the batches that became full by it."""

    __slots__ = ("_builder", "_epoch", "_limit_bytes", "_records_max", "_size_bytes", "_timestamp")

    def __init__(
        self, timestamp: int, epoch: int, limit_bytes: int, base_offset: int = 0, records_max: int = RECORDS_MAX
    ) -> None:
        self._timestamp = timestamp
        self._epoch = epoch
        self._limit_bytes = limit_bytes
        self._records_max = records_max
        self._begin(base_offset)

    def _begin(self, base_offset: int) -> None:
        self._builder = BatchBuilder(base_offset, options=BatchOptions(partition_leader_epoch=self._epoch))
        self._size_bytes = BATCH_OVERHEAD

    def append(self, message: Any, version: int) -> list[bytes]:
        value = encode_metadata_record(message, version)
        size_bytes = RECORD_OVERHEAD + len(value)
        if BATCH_OVERHEAD + size_bytes > self._limit_bytes:
            reason = f"a {type(message).__name__} of {len(value)} bytes, {self._limit_bytes} are allowed for a batch"
            raise OversizedBatchError(reason)
        is_full = self._size_bytes + size_bytes > self._limit_bytes or self._builder.records_count == self._records_max
        full = self.finish() if is_full else []
        self._builder.append(self._timestamp, None, value)
        self._size_bytes += size_bytes
        return full

    def finish(self) -> list[bytes]:
        if not self._builder.records_count:
            return []
        full = self._builder.build()
        self._begin(self._builder.base_offset + self._builder.records_count)
        return [full]


def read_metadata_batch(batch: RecordBatch) -> MetadataBatch:
    """Check a batch's checksum, and read it. Iterating over its records raises UnknownRecordType or
    UnknownRecordVersion at what a later release wrote: it must not be passed over, the cluster would be another one."""
    batch.check_crc()
    header = batch.header
    found = MetadataBatch(
        header.base_offset,
        header.last_offset,
        header.partition_leader_epoch,
        header.max_timestamp,
        header.size_bytes,
    )
    if header.is_control:
        found.control = [_read_control(record) for record in batch.records()]
    else:
        found.records = (decode_metadata_record(record.value or b"") for record in batch.records())
    return found


def _read_control(record: Record) -> Any | None:
    record_type = decode_control_record_key(record.key or b"")
    return None if record_type is None else decode_control_record_value(record_type, record.value or b"")
