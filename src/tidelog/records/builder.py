"""Builds one batch from records, by Kafka's rules.

Sizes: a batch takes its first record whatever its size (an oversized batch is for the broker to refuse, with an error
that names the topic's limit), and further ones while the uncompressed bytes stay within `limit_bytes`. Offsets
increase, and stay within 2^31 - 1 of the base. A timestamp is -1 or not negative. The base timestamp is the first
record's, or the delete horizon where compaction sets one.
"""

from dataclasses import replace
from typing import Final

from tidelog.model.ids import NO_PRODUCER_ID
from tidelog.model.lazy_dataclass import dataclass, field
from tidelog.records.compression import CompressionType, compress
from tidelog.records.control import ControlRecordType, EndTransactionMarker, control_key, marker_record
from tidelog.records.header import (
    BATCH_OVERHEAD,
    CONTROL_FLAG,
    DELETE_HORIZON_FLAG,
    LOG_APPEND_TIME_FLAG,
    MAX_INT32,
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_FLAG,
    BatchHeader,
)
from tidelog.records.kernels_encode import seal
from tidelog.records.record import Header, Record, record_size_bytes, write_record

DEFAULT_BATCH_BYTES: Final = 16384  # the producer's `batch.size`


@dataclass(slots=True)
class BatchOptions:
    """The fields of a batch besides its records."""

    compression: CompressionType = CompressionType.NONE
    compression_level: int | None = None
    log_append_time: int | None = None  # where set, the timestamp type is LogAppendTime, and every record has this time
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    base_sequence: int = NO_SEQUENCE
    is_transactional: bool = False
    is_control: bool = False
    partition_leader_epoch: int = NO_PARTITION_LEADER_EPOCH
    delete_horizon_ms: int | None = None

    def __post_init__(self) -> None:
        if self.producer_id == NO_PRODUCER_ID:
            if self.is_transactional:
                raise ValueError("a transactional batch needs a producer id")
        elif self.producer_epoch < 0:
            raise ValueError("a producer id needs a producer epoch")
        elif self.base_sequence < 0 and not self.is_control:
            raise ValueError("a producer id needs a base sequence")

    def attributes(self) -> int:
        flags = (
            (self.log_append_time is not None, LOG_APPEND_TIME_FLAG),
            (self.is_transactional, TRANSACTIONAL_FLAG),
            (self.is_control, CONTROL_FLAG),
            (self.delete_horizon_ms is not None, DELETE_HORIZON_FLAG),
        )
        return self.compression | sum(flag for wanted, flag in flags if wanted)


def seal_batch(header: BatchHeader, body: bytes) -> bytes:
    """Return header and (compressed) body as one batch; length and checksum are computed, whatever the header says."""
    return seal(
        body,
        header.base_offset,
        header.partition_leader_epoch,
        header.attributes,
        header.last_offset_delta,
        header.base_timestamp,
        header.max_timestamp,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        header.records_count,
    )


def empty_batch(original: BatchHeader) -> bytes:
    """Return what compaction leaves of a batch whose records are all gone, to remember a producer's last sequence
    by."""
    kept = LOG_APPEND_TIME_FLAG | TRANSACTIONAL_FLAG | CONTROL_FLAG
    header = replace(original, attributes=original.attributes & kept, base_timestamp=NO_TIMESTAMP, records_count=0)
    return seal_batch(header, b"")


@dataclass(slots=True)
class BatchBuilder:
    base_offset: int = 0
    limit_bytes: int = DEFAULT_BATCH_BYTES
    options: BatchOptions = field(default_factory=BatchOptions)
    records_count: int = 0
    last_offset: int | None = None  # settable: compaction keeps the last offset of a batch whose tail it drops
    _base_timestamp: int | None = None
    _max_timestamp: int = NO_TIMESTAMP
    _body: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        self._base_timestamp = self.options.delete_horizon_ms

    @property
    def uncompressed_size_bytes(self) -> int:
        return BATCH_OVERHEAD + len(self._body)

    def has_room_for(self, record: Record) -> bool:
        if self.records_count == 0:
            return True
        size = record_size_bytes(record, self.base_offset, self._base_timestamp_or(record.timestamp))
        return self.uncompressed_size_bytes + size <= self.limit_bytes

    def append(
        self,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: tuple[Header, ...] = (),
    ) -> None:
        """Append a record at the next offset."""
        self.append_record(Record(self._next_offset(), timestamp, key, value, headers))

    def append_record(self, record: Record) -> None:
        """Append a record at its own offset. Does not look at `limit_bytes`: ask `has_room_for` first."""
        previous = self.base_offset - 1 if self.last_offset is None else self.last_offset
        if record.offset <= previous:
            raise ValueError(f"offset {record.offset} does not follow {previous}")
        if record.offset - self.base_offset > MAX_INT32:
            raise ValueError(f"offset {record.offset} is too far from base offset {self.base_offset}")
        if record.timestamp < NO_TIMESTAMP:
            raise ValueError(f"timestamp {record.timestamp} is negative")
        self._base_timestamp = self._base_timestamp_or(record.timestamp)
        write_record(self._body, record, self.base_offset, self._base_timestamp)
        self.last_offset = record.offset
        self.records_count += 1
        self._max_timestamp = max(self._max_timestamp, record.timestamp)

    def append_control(self, timestamp: int, type_: ControlRecordType, value: bytes) -> None:
        self._expect_control()
        self.append(timestamp, control_key(type_), value)

    def append_marker(self, timestamp: int, marker: EndTransactionMarker) -> None:
        self._expect_control()
        if not self.options.is_transactional:
            raise ValueError("the end of a transaction belongs in a transactional batch")
        self.append_record(marker_record(marker, self._next_offset(), timestamp))

    def build(self) -> bytes:
        if self.last_offset is None:
            raise ValueError("a batch needs a record; what compaction leaves behind is made by `empty_batch`")
        options = self.options
        stamped = options.log_append_time
        header = BatchHeader(
            base_offset=self.base_offset,
            partition_leader_epoch=options.partition_leader_epoch,
            attributes=options.attributes(),
            last_offset_delta=self.last_offset - self.base_offset,
            base_timestamp=self._base_timestamp_or(NO_TIMESTAMP),
            max_timestamp=self._max_timestamp if stamped is None else stamped,
            producer_id=options.producer_id,
            producer_epoch=options.producer_epoch,
            base_sequence=options.base_sequence,
            records_count=self.records_count,
        )
        return seal_batch(header, compress(options.compression, self._body, options.compression_level))

    def _next_offset(self) -> int:
        return self.base_offset if self.last_offset is None else self.last_offset + 1

    def _base_timestamp_or(self, timestamp: int) -> int:
        return timestamp if self._base_timestamp is None else self._base_timestamp

    def _expect_control(self) -> None:
        if not self.options.is_control:
            raise ValueError("control records belong in a control batch")
