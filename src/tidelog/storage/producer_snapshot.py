"""The `.snapshot` file: the producers of a partition as of the offset in its name, in Kafka's format, version 1.

    version i16 | crc u32 | count i32 | count times: producer_id i64 | epoch i16 | last_sequence i32 | last_offset i64 |
        offset_delta i32 | timestamp i64 | coordinator_epoch i32 | current_txn_first_offset i64

The checksum (CRC32C) covers everything behind it. Of the window of batches only the last is kept: after a restart a
resent older batch is out of order, as it is with Kafka. Version 1 is the only one there is; 4.3 takes any other for
damage, and so do we.
"""

from collections.abc import Iterable
from operator import attrgetter
from struct import Struct
from typing import Final

from crc32c import crc32c

from tidelog.storage.checkpoint_errors import CorruptSnapshotError
from tidelog.storage.producer_entry import NO_OFFSET, BatchMetadata, ProducerEntry

VERSION: Final = 1
_PREFIX: Final = Struct(">hI")
_COUNT: Final = Struct(">i")
_ENTRY: Final = Struct(">qhiqiqiq")


def encode_snapshot(entries: Iterable[ProducerEntry]) -> bytes:
    """By producer id, so that equal states are equal files."""
    packed = [_pack(entry) for entry in sorted(entries, key=attrgetter("producer_id"))]
    body = _COUNT.pack(len(packed)) + b"".join(packed)
    return _PREFIX.pack(VERSION, crc32c(body)) + body


def _pack(entry: ProducerEntry) -> bytes:
    txn_first_offset = entry.current_txn_first_offset
    return _ENTRY.pack(
        entry.producer_id,
        entry.producer_epoch,
        entry.last_sequence,
        entry.last_data_offset,
        entry.last_offset_delta,
        entry.last_timestamp,
        entry.coordinator_epoch,
        NO_OFFSET if txn_first_offset is None else txn_first_offset,
    )


def decode_snapshot(contents: bytes, path: str) -> list[ProducerEntry]:
    """CorruptSnapshotError, with `path` in it, for anything that is not a whole, undamaged snapshot."""
    if len(contents) < _PREFIX.size + _COUNT.size:
        raise CorruptSnapshotError(path, f"{len(contents)} bytes are too few for a snapshot")
    version, stored = _PREFIX.unpack_from(contents)
    if version != VERSION:
        raise CorruptSnapshotError(path, f"version {version} is unknown")
    computed = crc32c(memoryview(contents)[_PREFIX.size :])
    if stored != computed:
        raise CorruptSnapshotError(path, f"the checksum is {computed:#010x}, the file says {stored:#010x}")
    (count,) = _COUNT.unpack_from(contents, _PREFIX.size)
    body = memoryview(contents)[_PREFIX.size + _COUNT.size :]
    if count < 0 or len(body) != count * _ENTRY.size:
        raise CorruptSnapshotError(path, f"{len(body)} bytes of entries, but {count} are announced")
    return [_entry(*fields) for fields in _ENTRY.iter_unpack(body)]


def _entry(
    producer_id: int,
    producer_epoch: int,
    last_sequence: int,
    last_offset: int,
    offset_delta: int,
    timestamp: int,
    coordinator_epoch: int,
    txn_first_offset: int,
) -> ProducerEntry:
    last_batch = BatchMetadata(last_sequence, last_offset, offset_delta, timestamp)
    return ProducerEntry(
        producer_id,
        producer_epoch,
        coordinator_epoch,
        timestamp,
        txn_first_offset if txn_first_offset >= 0 else None,
        (last_batch,) if last_offset >= 0 else (),
    )
