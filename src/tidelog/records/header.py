"""The fixed head of a batch, magic 2: 61 bytes, one Struct.

    base_offset i64 | batch_length i32 | partition_leader_epoch i32 | magic i8 | crc u32 | attributes i16 |
    last_offset_delta i32 | base_timestamp i64 | max_timestamp i64 | producer_id i64 | producer_epoch i16 |
    base_sequence i32 | records_count i32

The checksum covers everything from `attributes` on: a broker sets base offset and leader epoch without touching it.

    attributes: 0-2 compression | 3 timestamp type | 4 transactional | 5 control | 6 delete horizon | the rest unused
"""

from enum import IntEnum
from struct import Struct
from typing import Final

from tidelog.model.ids import NO_PRODUCER_ID
from tidelog.model.lazy_dataclass import dataclass
from tidelog.records.errors import (
    CorruptRecordCountError,
    CorruptRecordLengthError,
    CorruptRecordMagicError,
    CorruptRecordOffsetError,
    UnsupportedMagicError,
)

BytesLike = bytes | bytearray | memoryview

HEADER: Final = Struct(">qiibIhiqqqhii")
_FRAME: Final = Struct(">qiib")  # the part that all formats share: offset, length, (epoch or CRC), magic
LOG_OVERHEAD: Final = 12  # base offset and length, which `batch_length` does not count
MAGIC_POSITION: Final = 16
CRC_POSITION: Final = 17
ATTRIBUTES_POSITION: Final = 21
MAX_TIMESTAMP_POSITION: Final = 35
BATCH_OVERHEAD: Final = HEADER.size
MIN_RECORD_BYTES: Final = 7  # length, attributes, two deltas, two null or empty fields, no headers
MAGIC: Final = 2

COMPRESSION_MASK: Final = 0x07
LOG_APPEND_TIME_FLAG: Final = 0x08
TRANSACTIONAL_FLAG: Final = 0x10
CONTROL_FLAG: Final = 0x20
DELETE_HORIZON_FLAG: Final = 0x40

NO_TIMESTAMP: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
NO_PARTITION_LEADER_EPOCH: Final = -1
MAX_INT32: Final = 2**31 - 1
MAX_INT64: Final = 2**63 - 1


class TimestampType(IntEnum):
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


@dataclass(slots=True)
class BatchHeader:
    base_offset: int = 0
    batch_length: int = BATCH_OVERHEAD - LOG_OVERHEAD
    partition_leader_epoch: int = NO_PARTITION_LEADER_EPOCH
    magic: int = MAGIC
    crc: int = 0
    attributes: int = 0
    last_offset_delta: int = 0
    base_timestamp: int = NO_TIMESTAMP
    max_timestamp: int = NO_TIMESTAMP
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    base_sequence: int = NO_SEQUENCE
    records_count: int = 0

    @property
    def size_bytes(self) -> int:
        return LOG_OVERHEAD + self.batch_length

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def last_sequence(self) -> int:
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return increment_sequence(self.base_sequence, self.last_offset_delta)

    @property
    def compression_id(self) -> int:
        return self.attributes & COMPRESSION_MASK

    @property
    def timestamp_type(self) -> TimestampType:
        return TimestampType(self.attributes >> 3 & 1)

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL_FLAG != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL_FLAG != 0

    @property
    def has_producer_id(self) -> bool:
        return self.producer_id > NO_PRODUCER_ID

    @property
    def delete_horizon_ms(self) -> int | None:
        """The time from which compaction may drop this batch's tombstones and markers. It is kept in the place of the
        base timestamp, and the records' deltas are relative to it."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON_FLAG else None


def read_header(buffer: BytesLike, position: int = 0) -> BatchHeader | None:
    """Return the header at `position`, or None where the buffer ends before the batch does: a fetch may truncate its
    last batch."""
    remaining = len(buffer) - position
    if remaining < BATCH_OVERHEAD:
        _check_partial_header(buffer[position:])
        return None
    header = BatchHeader(*HEADER.unpack_from(buffer, position))
    check_frame(header.base_offset, header.batch_length, header.magic)
    if remaining < header.size_bytes:
        return None
    _check(header)
    return header


def _check_partial_header(start: BytesLike) -> None:
    """Check the part of a header that is there: damage must not pass for a batch that continues in the next fetch."""
    if len(start) > MAGIC_POSITION:
        base_offset, length, _, magic = _FRAME.unpack_from(start)
        check_frame(base_offset, length, magic)


def check_frame(base_offset: int, length: int, magic: int) -> None:
    """Check length and magic. The magic comes first: the old formats have it in the same place, and a smaller minimum
    length."""
    if magic in (0, 1):
        raise UnsupportedMagicError(base_offset, magic)
    if magic != MAGIC:
        raise CorruptRecordMagicError(base_offset, f"unknown message format {magic}")
    if length < BATCH_OVERHEAD - LOG_OVERHEAD:
        raise CorruptRecordLengthError(base_offset, f"batch length {length} is below the minimum")


def _check(header: BatchHeader) -> None:
    if header.last_offset_delta < 0:
        raise CorruptRecordOffsetError(header.base_offset, f"last offset delta {header.last_offset_delta} is negative")
    if header.base_offset > MAX_INT64 - header.last_offset_delta:
        raise CorruptRecordOffsetError(header.base_offset, "the last offset is beyond 64 bits")
    if header.records_count < 0:
        raise CorruptRecordCountError(header.base_offset, f"record count {header.records_count} is negative")


def increment_sequence(sequence: int, increment: int) -> int:
    """Add to a sequence number, which wraps from 2^31-1 to 0; there are no negative ones."""
    return (sequence + increment) & MAX_INT32
