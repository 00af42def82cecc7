"""Snapshots of the cluster's metadata: `<offset>-<epoch>.checkpoint`, in the directory of the metadata log.

A snapshot contains everything below its offset; its epoch is that of the record just before. While it is written its
name ends in `.part`; it gets its own when its bytes are on disk, so a name without it is a whole file. `format` leaves
one at 0-0 that contains nothing but the voters.

    control batch: SnapshotHeader, and with dynamic voters KRaftVersion and Voters
    batches of metadata records
    control batch: SnapshotFooter
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from tidelog.model.lazy_dataclass import dataclass
from tidelog.ports.files import FileSystem
from tidelog.ports.paths import join
from tidelog.protocol.control_records import SnapshotFooterRecord, SnapshotHeaderRecord
from tidelog.protocol.errors import MalformedMessage
from tidelog.records.batch import RecordBatch
from tidelog.records.errors import RecordError
from tidelog.server.metadata_log.batches import MetadataBatch, read_metadata_batch
from tidelog.storage.checkpoints.small_files import remove_if_present
from tidelog.storage.errors import CorruptSegmentError, LogError
from tidelog.storage.inspect.batches import FoundBatch, read_batches
from tidelog.storage.names import is_number

SUFFIX: Final = ".checkpoint"
PART_SUFFIX: Final = ".checkpoint.part"
DELETED_SUFFIX: Final = ".checkpoint.deleted"
_OFFSET_DIGITS: Final = 20
_EPOCH_DIGITS: Final = 10


class SnapshotId(NamedTuple):
    """The offset and epoch that name a snapshot."""

    offset: int  # the first that is not in the snapshot
    epoch: int

    def __str__(self) -> str:
        return f"{self.offset:0{_OFFSET_DIGITS}d}-{self.epoch:0{_EPOCH_DIGITS}d}"


# The snapshot that `format` writes for dynamic voters, before any record.
BOOTSTRAP_SNAPSHOT: Final = SnapshotId(0, 0)


@dataclass(slots=True)
class SnapshotFile:
    """A snapshot on disk, as retention knows it."""

    id: SnapshotId
    size_bytes: int
    last_contained_log_timestamp: int


class CorruptMetadataSnapshotError(LogError):
    """The file is not a whole snapshot, or says something else than it should."""


def snapshot_path(directory: str, snapshot_id: SnapshotId) -> str:
    return join(directory, f"{snapshot_id}{SUFFIX}")


def parse_snapshot_name(name: str) -> SnapshotId | None:
    if not name.endswith(SUFFIX):
        return None
    offset, dash, epoch = name.removesuffix(SUFFIX).partition("-")
    fits = len(offset) == _OFFSET_DIGITS and len(epoch) == _EPOCH_DIGITS
    return SnapshotId(int(offset), int(epoch)) if dash and fits and is_number(offset) and is_number(epoch) else None


def tidy_snapshots(fs: FileSystem, directory: str) -> list[SnapshotId]:
    """Remove files that were never finished, or were being deleted; return the ids of the other snapshots, oldest
    first."""
    found = []
    for name in fs.list_directory(directory):
        if name.endswith((PART_SUFFIX, DELETED_SUFFIX)):
            remove_if_present(fs, join(directory, name))
        elif (snapshot_id := parse_snapshot_name(name)) is not None:
            found.append(snapshot_id)
    return sorted(found)


def read_snapshot(fs: FileSystem, path: str) -> Iterator[MetadataBatch]:
    """Yield the batches, header and footer included. CorruptMetadataSnapshotError unless the file is whole, which only
    the end of the iteration can tell."""
    for position, batch in _whole(fs, path):
        yield _decode(batch, path, position)


def check_snapshot(fs: FileSystem, path: str) -> list[Any]:
    """Return the control records of a snapshot that is whole by its frames and checksums; or raise
    CorruptMetadataSnapshotError."""
    control = [
        _decode(batch, path, position).control for position, batch in _whole(fs, path) if batch.header.is_control
    ]
    return [message for messages in control for message in messages]


def _whole(fs: FileSystem, path: str) -> Iterator[FoundBatch]:
    """Yield the batches; CorruptMetadataSnapshotError at the first sign that the file is damaged or incomplete."""
    first, last = True, None
    try:
        for found in read_batches(fs, path):
            found.batch.check_crc()
            if first and not _begins_with(found, path, SnapshotHeaderRecord):
                raise CorruptMetadataSnapshotError(path, "it does not begin with the header of a snapshot")
            first, last = False, found
            yield found
    except CorruptSegmentError as error:
        raise CorruptMetadataSnapshotError(path, error.reason) from error
    except RecordError as error:
        raise CorruptMetadataSnapshotError(path, str(error)) from error
    if last is None or not _begins_with(last, path, SnapshotFooterRecord):
        raise CorruptMetadataSnapshotError(path, "it does not end with the footer of a snapshot")


def _begins_with(found: FoundBatch, path: str, cls: type[Any]) -> bool:
    return found.batch.header.is_control and isinstance(_decode(found.batch, path, found.position).control[0], cls)


def _decode(batch: RecordBatch, path: str, position: int) -> MetadataBatch:
    try:
        return read_metadata_batch(batch)
    except (RecordError, MalformedMessage) as error:
        raise CorruptMetadataSnapshotError(path, f"at position {position}: {error}") from error


def snapshot_file(fs: FileSystem, directory: str, snapshot_id: SnapshotId) -> SnapshotFile:
    """Return what retention has to know of a snapshot: its size and the time of its last record."""
    path = snapshot_path(directory, snapshot_id)
    for batch in read_snapshot(fs, path):
        timestamp = batch.control[0].last_contained_log_timestamp
        return SnapshotFile(snapshot_id, fs.stat(path).size, timestamp)
    raise CorruptMetadataSnapshotError(path, "it is empty")
