"""The `.snapshot` file: the producers of a partition as of the offset in its name, in Kafka's format, version 1.

    version i16 | crc u32 | count i32 | count times: producer_id i64 | epoch i16 | last_sequence i32 | last_offset i64 |
        offset_delta i32 | timestamp i64 | coordinator_epoch i32 | current_txn_first_offset i64

The checksum (CRC32C) covers everything behind it. Of the window of batches only the last is kept: after a restart a
resent older batch is out of order, as it is with Kafka. Version 1 is the only one there is; 4.3 takes any other for
damage, and so do we.

Compiled by mypyc: a roll writes all of them within its turn, and a partition may have a hundred thousand.
"""

from collections.abc import Iterable
from operator import attrgetter
from struct import Struct
from typing import Final

from librt.strings import (
    BytesWriter,
    read_i16_be,
    read_i32_be,
    read_i64_be,
    write_i16_be,
    write_i32_be,
    write_i64_be,
)
from mypy_extensions import i64

from tidelog.records.crc import crc32c
from tidelog.storage.checkpoints.errors import CorruptSnapshotError
from tidelog.storage.producers.entry import NO_OFFSET, BatchMetadata, ProducerEntry

VERSION: Final = 1
HEAD_BYTES: Final = 10
ENTRY_BYTES: Final = 46
_PREFIX: Final = Struct(">hI")


def encode_snapshot(entries: Iterable[ProducerEntry]) -> bytes:
    """Return the contents of the file, sorted by producer id, so that equal states are equal files."""
    ordered = sorted(entries, key=attrgetter("producer_id"))
    writer = BytesWriter()
    write_i32_be(writer, len(ordered))
    for entry in ordered:
        _write(writer, entry)
    body = writer.getvalue()
    return _PREFIX.pack(VERSION, crc32c(body)) + body


def _write(writer: BytesWriter, entry: ProducerEntry) -> None:
    txn_first_offset = entry.current_txn_first_offset
    write_i64_be(writer, entry.producer_id)
    write_i16_be(writer, entry.producer_epoch)
    write_i32_be(writer, entry.last_sequence)
    write_i64_be(writer, entry.last_data_offset)
    write_i32_be(writer, entry.last_offset_delta)
    write_i64_be(writer, entry.last_timestamp)
    write_i32_be(writer, entry.coordinator_epoch)
    write_i64_be(writer, NO_OFFSET if txn_first_offset is None else txn_first_offset)


def decode_snapshot(contents: bytes, path: str) -> list[ProducerEntry]:
    """Return all entries. Raises CorruptSnapshotError as `check_snapshot` does."""
    return decode_entries(contents, 0, check_snapshot(contents, path))


def check_snapshot(contents: bytes, path: str) -> int:
    """Return the number of entries. Raises CorruptSnapshotError, with `path` in it, for anything that is not a whole,
    undamaged snapshot."""
    if len(contents) < HEAD_BYTES:
        raise CorruptSnapshotError(path, f"{len(contents)} bytes are too few for a snapshot")
    version, stored = _PREFIX.unpack_from(contents)
    if version != VERSION:
        raise CorruptSnapshotError(path, f"version {version} is unknown")
    computed = crc32c(memoryview(contents)[_PREFIX.size :])
    if stored != computed:
        raise CorruptSnapshotError(path, f"the checksum is {computed:#010x}, the file says {stored:#010x}")
    count: i64 = i64(read_i32_be(contents, HEAD_BYTES - 4))
    if count < 0 or len(contents) != HEAD_BYTES + count * ENTRY_BYTES:
        entries_bytes = len(contents) - HEAD_BYTES
        raise CorruptSnapshotError(path, f"{entries_bytes} bytes of entries, but {count} are announced")
    return count


def decode_entries(contents: bytes, first: i64, last: i64) -> list[ProducerEntry]:
    """Return the entries from row `first` to before `last` of a snapshot that was checked."""
    return [_entry(contents, HEAD_BYTES + row * ENTRY_BYTES) for row in range(first, last)]


def _entry(b: bytes, at: i64) -> ProducerEntry:
    last_offset: i64 = read_i64_be(b, at + 14)
    timestamp: i64 = read_i64_be(b, at + 26)
    txn_first_offset: i64 = read_i64_be(b, at + 38)
    batches: tuple[BatchMetadata, ...] = ()
    if last_offset >= 0:
        last_sequence, offset_delta = i64(read_i32_be(b, at + 10)), i64(read_i32_be(b, at + 22))
        batches = (BatchMetadata(last_sequence, last_offset, offset_delta, timestamp),)
    return ProducerEntry(
        read_i64_be(b, at),
        i64(read_i16_be(b, at + 8)),
        i64(read_i32_be(b, at + 34)),
        timestamp,
        txn_first_offset if txn_first_offset >= 0 else None,
        batches,
    )
