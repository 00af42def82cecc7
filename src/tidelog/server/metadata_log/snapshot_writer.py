"""Writes a snapshot, a slice in each turn: header, records, footer; then its bytes to the disk, then its name.

    <id>.checkpoint.part --synced--> renamed to <id>.checkpoint --directory synced--> done

It is an operation of the log's (`directories.operations`): it gives way between slices and waits for its syncs off the
loop. Whatever ends it early leaves the earlier snapshots, and at most a `.part` that the next start removes.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final

from tidelog.metadata.errors import MetadataError
from tidelog.ports.durable import write_fully
from tidelog.ports.errors import DiskFull
from tidelog.ports.files import File, OpenMode
from tidelog.protocol.control_records import KRaftVersionRecord, SnapshotFooterRecord, SnapshotHeaderRecord
from tidelog.raft.voters import VoterSet, to_record
from tidelog.server.metadata_log.batches import VersionedRecord, batches_of, control_batch
from tidelog.server.metadata_log.log import MetadataLog
from tidelog.server.metadata_log.retention import retention_steps
from tidelog.server.metadata_log.snapshots import PART_SUFFIX, SUFFIX, SnapshotFile, SnapshotId, snapshot_path
from tidelog.storage.checkpoints.small_files import remove_if_present
from tidelog.storage.directories.operations import GIVE_WAY, Steps

CONTROL_VERSION: Final = 0
# Records between two yields: about a millisecond of work.
RECORDS_A_SLICE: Final = 100


class QuorumRecords:
    """The control records that describe the quorum in a snapshot; none with static voters."""

    def __init__(self, kraft_version: int, voters: VoterSet | None) -> None:
        self._kraft_version = kraft_version
        self._voters = voters

    def messages(self) -> list[Any]:
        if not self._kraft_version:
            return []
        version = KRaftVersionRecord(version=CONTROL_VERSION, kraft_version=self._kraft_version)
        return [version] if self._voters is None else [version, to_record(self._voters)]


STATIC_QUORUM: Final = QuorumRecords(0, None)


def snapshot_contents(
    epoch: int,
    last_contained_log_timestamp: int,
    quorum: QuorumRecords,
    records: Iterable[VersionedRecord],
    wall_ms: int,
    limit_bytes: int,
) -> Iterator[bytes]:
    """Yield the batches of a snapshot, one after another. Their offsets count from 0: they are of no log."""
    header = SnapshotHeaderRecord(version=CONTROL_VERSION, last_contained_log_timestamp=last_contained_log_timestamp)
    first = [header, *quorum.messages()]
    yield control_batch(first, wall_ms, epoch)
    offset, remaining = len(first), iter(records)
    while records_slice := list(islice(remaining, RECORDS_A_SLICE)):
        yield from batches_of(records_slice, wall_ms, epoch, limit_bytes, offset)
        offset += len(records_slice)
    yield control_batch([SnapshotFooterRecord(version=CONTROL_VERSION)], wall_ms, epoch, offset)


def snapshot_steps(
    log: MetadataLog,
    snapshot_id: SnapshotId,
    last_timestamp: int,
    contents: Iterator[bytes],
    wall_ms: int,
) -> Steps:
    """Write a snapshot, and delete what it makes superfluous."""
    fs, path = log.fs, snapshot_path(log.directory, snapshot_id)
    part = path.removesuffix(SUFFIX) + PART_SUFFIX
    file = fs.open(part, OpenMode.CREATE)
    try:
        file.truncate(0)
        yield from _write(file, contents)
        yield [fs.begin_sync(file)]
        size_bytes = file.size()
    except DiskFull:
        remove_if_present(fs, part)  # what it holds is the room that others need
        raise
    except MetadataError as error:  # records of this metadata.version can not hold it all: the log stays as it is
        remove_if_present(fs, part)
        log.problems.append(f"there is no snapshot {snapshot_id}: {error}")
        return
    finally:
        file.close()
    fs.rename(part, path)
    yield [fs.begin_sync_directory(log.directory)]
    log.snapshots.append(SnapshotFile(snapshot_id, size_bytes, last_timestamp))
    yield from retention_steps(log, wall_ms)


def _write(file: File, contents: Iterator[bytes]) -> Steps:
    position = 0
    for batch in contents:
        position = write_fully(file, position, [batch])
        yield GIVE_WAY
