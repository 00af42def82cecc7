"""Batches of a coordinator's log: what is being gathered for one, and how it is written.

Records outside of transactions are gathered over the whole turn. Those of a producer's transaction, and the marker that
ends it, are batches of their own: the log checks each against what it knows of the producer, and may say no.
"""

from typing import Any, Final, TypeAlias

from tidelog.coordinator.record_framing import encode_key, encode_value
from tidelog.model.ids import NO_PRODUCER_ID
from tidelog.records.builder import BatchBuilder, BatchOptions
from tidelog.records.compression import CompressionType, compress
from tidelog.records.control import EndTransactionMarker
from tidelog.records.header import (
    BATCH_OVERHEAD,
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_SEQUENCE,
    TRANSACTIONAL_FLAG,
)
from tidelog.records.kernels_encode import seal
from tidelog.server.coordination.batch_bytes import RECORD_OVERHEAD, encode_records

ONE_RECORD_OVERHEAD: Final = BATCH_OVERHEAD + RECORD_OVERHEAD
GZIP_DEFAULT_LEVEL_BYTES_MAX: Final = 65_536
GZIP_FASTEST: Final = 1


# Key, value, and an upper bound of what they take in a batch.
EncodedRecord: TypeAlias = tuple[bytes, bytes | None, int]


def encode_record(key: Any, value: Any, version: int) -> EncodedRecord:
    encoded_key, encoded_value = encode_key(key), encode_value(value, version)
    value_bytes = 0 if encoded_value is None else len(encoded_value)
    return encoded_key, encoded_value, RECORD_OVERHEAD + len(encoded_key) + value_bytes


class Draft:
    """A batch in the making; `size_bytes` is an upper bound of what it will take. It is no dataclass, whose `__init__`
    would not be compiled: a commit of one offset makes one of these."""

    __slots__ = ("keys", "producer_epoch", "producer_id", "size_bytes", "values")

    def __init__(self, producer_id: int = NO_PRODUCER_ID, producer_epoch: int = NO_PRODUCER_EPOCH) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.keys: list[bytes] = []
        self.values: list[bytes | None] = []
        self.size_bytes = BATCH_OVERHEAD

    @property
    def is_transactional(self) -> bool:
        return self.producer_id != NO_PRODUCER_ID

    def is_of(self, producer_id: int, producer_epoch: int) -> bool:
        return self.producer_id == producer_id and self.producer_epoch == producer_epoch

    def add(self, record: EncodedRecord) -> None:
        self.keys.append(record[0])
        self.values.append(record[1])
        self.size_bytes += record[2]

    def take_in(self, other: "Draft") -> None:
        self.keys += other.keys
        self.values += other.values
        self.size_bytes += other.size_bytes - BATCH_OVERHEAD

    def build_at(self, base_offset: int, leader_epoch: int, timestamp: int) -> bytes:
        """Build a plain batch outside of transactions with its offset and epoch in it: the same bytes that the log
        would make of what `build` returns."""
        body, count = encode_records(self.keys, self.values), len(self.keys)
        return seal(
            body,
            base_offset,
            leader_epoch,
            0,
            count - 1,
            timestamp,
            timestamp,
            NO_PRODUCER_ID,
            NO_PRODUCER_EPOCH,
            NO_SEQUENCE,
            count,
        )

    def build(self, timestamp: int, compression: CompressionType) -> bytes:
        """Build the batch as a client would send it: the log gives it its offset."""
        body = encode_records(self.keys, self.values)
        attributes = TRANSACTIONAL_FLAG if self.is_transactional else 0
        if compression is not CompressionType.NONE:
            compressed = compress(compression, body, _level(compression, len(body)))
            if len(compressed) < len(body):  # or it might outgrow what a batch may take
                body, attributes = compressed, attributes | compression
        count = len(self.keys)
        return seal(
            body,
            0,
            NO_PARTITION_LEADER_EPOCH,
            attributes,
            count - 1,
            timestamp,
            timestamp,
            self.producer_id,
            self.producer_epoch,
            # The log checks no sequences of a coordinator. Kafka's transactional batches all have the first.
            0 if self.is_transactional else NO_SEQUENCE,
            count,
        )


def _level(compression: CompressionType, size_bytes: int) -> int | None:
    """Return the level for the codec: Kafka's default, unless that takes too long for a turn. gzip at level 6 needs 55
    ms for the 870 KB of a commit of 9,800 partitions; at level 1 it needs 4 ms and makes them 3 % larger."""
    is_slow = compression is CompressionType.GZIP and size_bytes > GZIP_DEFAULT_LEVEL_BYTES_MAX
    return GZIP_FASTEST if is_slow else None


def marker_batch(producer_id: int, producer_epoch: int, marker: EndTransactionMarker, timestamp: int) -> bytes:
    """Build the control batch that ends a transaction of this producer."""
    options = BatchOptions(
        producer_id=producer_id, producer_epoch=producer_epoch, is_transactional=True, is_control=True
    )
    builder = BatchBuilder(options=options)
    builder.append_marker(timestamp, marker)
    return builder.build()
