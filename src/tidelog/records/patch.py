"""What a broker changes in a batch that it was sent, in the receive buffer itself.

Base offset and leader epoch lie before the checksummed part: setting them costs two stores. Under LogAppendTime the
time is stamped into the header (records keep their deltas, readers ignore them), and that needs a new checksum.
"""

from struct import Struct
from typing import Final

from tidelog.records.crc import crc32c
from tidelog.records.header import (
    ATTRIBUTES_POSITION,
    CRC_POSITION,
    LOG_APPEND_TIME_FLAG,
    MAX_TIMESTAMP_POSITION,
    TimestampType,
)

_OFFSET: Final = Struct(">q")
_EPOCH: Final = Struct(">i")
_EPOCH_POSITION: Final = 12
_CRC: Final = Struct(">I")
_ATTRIBUTES: Final = Struct(">h")
_TIMESTAMP: Final = Struct(">q")

Writable = bytearray | memoryview


def assign_offset(buffer: Writable, position: int, base_offset: int, partition_leader_epoch: int) -> None:
    """Set the offset and the leader epoch of the batch at `position`."""
    _OFFSET.pack_into(buffer, position, base_offset)
    _EPOCH.pack_into(buffer, position + _EPOCH_POSITION, partition_leader_epoch)


def assign_timestamp(batch: Writable, timestamp_type: TimestampType, max_timestamp: int) -> None:
    """Set timestamp type and max timestamp of a batch (the whole of it and nothing else), and its checksum anew. Where
    both are right already nothing is done."""
    (attributes,) = _ATTRIBUTES.unpack_from(batch, ATTRIBUTES_POSITION)
    wanted = attributes & ~LOG_APPEND_TIME_FLAG
    if timestamp_type is TimestampType.LOG_APPEND_TIME:
        wanted |= LOG_APPEND_TIME_FLAG
    (current,) = _TIMESTAMP.unpack_from(batch, MAX_TIMESTAMP_POSITION)
    if wanted == attributes and current == max_timestamp:
        return
    _ATTRIBUTES.pack_into(batch, ATTRIBUTES_POSITION, wanted)
    _TIMESTAMP.pack_into(batch, MAX_TIMESTAMP_POSITION, max_timestamp)
    write_crc(batch)


def write_crc(batch: Writable) -> None:
    """Compute the checksum of a batch (the whole of it and nothing else) and write it into the header."""
    _CRC.pack_into(batch, CRC_POSITION, crc32c(memoryview(batch)[ATTRIBUTES_POSITION:]))
