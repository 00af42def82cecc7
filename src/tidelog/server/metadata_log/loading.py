"""The start of the metadata log from its directory: the newest whole snapshot, the log behind it, voters and election
state.

What must not be is refused with a reason, instead of being repaired: a hole between snapshot and log, damage before
what was durable, another topic's directory, records of a later release. A cluster that starts from less than it had
acknowledged would be another cluster.
"""

from contextlib import suppress

from tidelog.model.ids import METADATA_TOPIC_ID
from tidelog.model.lazy_dataclass import dataclass, field
from tidelog.ports.durable import make_directory_durably
from tidelog.ports.errors import AlreadyExists, DiskFull, SyncFailed
from tidelog.ports.files import FileSystem, Lock
from tidelog.ports.paths import join
from tidelog.raft.quorum_state import QUORUM_STATE, ElectionState, decode_quorum_state
from tidelog.raft.voter_history import VoterHistory
from tidelog.raft.voters import VoterSet
from tidelog.server.metadata_log.ballast import MetadataBallast
from tidelog.server.metadata_log.batches import read_metadata_batch
from tidelog.server.metadata_log.log import METADATA_PARTITION, MetadataLog
from tidelog.server.metadata_log.log_config import MetadataLogConfig, log_config
from tidelog.server.metadata_log.snapshots import (
    CorruptMetadataSnapshotError,
    SnapshotFile,
    check_snapshot,
    snapshot_file,
    snapshot_path,
    tidy_snapshots,
)
from tidelog.storage.checkpoints.errors import CorruptCheckpointError
from tidelog.storage.checkpoints.partition_metadata import read_partition_metadata, write_partition_metadata
from tidelog.storage.checkpoints.small_files import read_if_present
from tidelog.storage.checkpoints.text import RECOVERY_POINT_CHECKPOINT, read_offsets
from tidelog.storage.directories.failed_sync import (
    is_marked_intact,
    mark_failed,
    mark_intact,
    rewrite_partition,
    write_small_again,
)
from tidelog.storage.directories.log_directory import LOCK_NAME
from tidelog.storage.errors import LogError
from tidelog.storage.log.loader import LoadedLog, LogContext, StoredOffsets, load_log
from tidelog.storage.log.reading import FetchIsolation
from tidelog.storage.names import partition_directory


class InconsistentMetadataLogError(LogError):
    """The files do not make up one log."""


@dataclass(slots=True)
class LoadedMetadataLog:
    """The metadata log as it was found, and what its files say of the quorum."""

    log: MetadataLog
    election: ElectionState
    history: VoterHistory
    problems: list[str] = field(default_factory=list)  # found, and dealt with


def load_metadata_log(
    context: LogContext,
    log_dir: str,
    config: MetadataLogConfig,
    static_voters: VoterSet,
    wall_ms: int,
    *,
    takes_lock: bool = False,
) -> LoadedMetadataLog:
    """Load the metadata log of `log_dir`, which is `metadata.log.dir`. `takes_lock` is set where that is none of
    `log.dirs`, whose locks are taken already."""
    fs, directory = context.fs, join(log_dir, partition_directory(*METADATA_PARTITION))
    lock = fs.lock(join(log_dir, LOCK_NAME)) if takes_lock else None
    problems: list[str] = []
    history = VoterHistory(static_voters)
    try:
        with suppress(AlreadyExists):
            make_directory_durably(fs, directory)
        loaded = _load_all(context, log_dir, directory, config, history, wall_ms, lock, problems)
        if takes_lock:  # where it lies among logs, they have to be written again as well (`directories.loading`)
            with suppress(DiskFull):
                mark_intact(fs, log_dir)
        return LoadedMetadataLog(loaded, _read_election(fs, directory), history, problems)
    except BaseException as error:
        if isinstance(error, SyncFailed):
            mark_failed(fs, log_dir)
        if lock is not None:
            lock.release()
        raise


def _load_all(
    context: LogContext,
    log_dir: str,
    directory: str,
    config: MetadataLogConfig,
    history: VoterHistory,
    wall_ms: int,
    lock: Lock | None,
    problems: list[str],
) -> MetadataLog:
    fs = context.fs
    ballast = MetadataBallast(fs, directory)
    if not is_marked_intact(fs, log_dir):
        try:
            _write_again(fs, directory, problems)
        except DiskFull:
            if not ballast.release():
                raise
            _write_again(fs, directory, problems)
    snapshots = _load_snapshots(fs, directory, history, problems)
    try:
        log = _load(context, directory, config, snapshots, wall_ms, lock, ballast, problems)
    except DiskFull:
        if not ballast.release():
            raise
        log = _load(context, directory, config, snapshots, wall_ms, lock, ballast, problems)
    _read_voters(log, history)
    return log


def _write_again(fs: FileSystem, directory: str, problems: list[str]) -> None:
    """Write what a failed sync may have lost again. Unlike the logs, this can not be left for the next start: a vote
    that only the page cache has could be given twice."""
    rewrite_partition(fs, directory, _recovery_point(fs, directory, problems))
    for name in (QUORUM_STATE, RECOVERY_POINT_CHECKPOINT):
        write_small_again(fs, join(directory, name))


def _load_snapshots(fs: FileSystem, directory: str, history: VoterHistory, problems: list[str]) -> list[SnapshotFile]:
    """Return the snapshots up to the newest whole one. A damaged one is left where it is, for whoever wants to look at
    it."""
    snapshots: list[SnapshotFile] = []
    for snapshot_id in reversed(tidy_snapshots(fs, directory)):
        try:
            if not snapshots:
                _check_whole(fs, directory, snapshot_file(fs, directory, snapshot_id), history)
            snapshots.insert(0, snapshot_file(fs, directory, snapshot_id))
        except CorruptMetadataSnapshotError as error:
            problems.append(f"{error}; passed over")
    return snapshots


def _check_whole(fs: FileSystem, directory: str, snapshot: SnapshotFile, history: VoterHistory) -> None:
    """Check a snapshot to its last byte; what it says of the voters counts only then."""
    for message in check_snapshot(fs, snapshot_path(directory, snapshot.id)):
        history.observe(snapshot.id.offset - 1, message)


def _load(
    context: LogContext,
    directory: str,
    config: MetadataLogConfig,
    snapshots: list[SnapshotFile],
    wall_ms: int,
    lock: Lock | None,
    ballast: MetadataBallast,
    problems: list[str],
) -> MetadataLog:
    _check_topic(context.fs, directory)
    start = snapshots[-1].id.offset if snapshots else 0
    # What a snapshot contains was committed, hence durable; and nobody reads the log before it any more.
    recovery_point = max(start, _recovery_point(context.fs, directory, problems))
    stored = StoredOffsets(recovery_point, log_start_offset=start, high_watermark=start)
    loaded = load_log(context, directory, METADATA_PARTITION, log_config(config), stored, wall_ms, is_clean=False)
    _check_joined(loaded, start)
    context.fs.sync_directory(directory)
    cuts = [
        f"{each.path}: cut at offset {each.offset}, {each.truncated_bytes} bytes: {each.reason}"
        for each in loaded.truncations
    ]
    problems += [*loaded.problems, *cuts]
    return MetadataLog(loaded.log, config, snapshots, lock, ballast)


def _check_topic(fs: FileSystem, directory: str) -> None:
    metadata = read_partition_metadata(fs, directory)
    if metadata is None:
        write_partition_metadata(fs, directory, METADATA_TOPIC_ID)
    elif metadata.topic_id != METADATA_TOPIC_ID:
        raise InconsistentMetadataLogError(directory, "its partition.metadata names another topic")


def _recovery_point(fs: FileSystem, directory: str, problems: list[str]) -> int:
    try:
        return read_offsets(fs, join(directory, RECOVERY_POINT_CHECKPOINT)).get(METADATA_PARTITION, 0)
    except CorruptCheckpointError as error:
        problems.append(f"{error}; read as empty")
        return 0


def _check_joined(loaded: LoadedLog, start: int) -> None:
    log = loaded.log
    if log.log_start_offset > start:
        covered = f"the newest whole snapshot ends at offset {start}" if start else "there is no whole snapshot"
        reason = f"the log begins at offset {log.log_start_offset}, and {covered}: records are missing in between"
        raise InconsistentMetadataLogError(log.directory, reason)


def _read_voters(log: MetadataLog, history: VoterHistory) -> None:
    """Read the voters from the whole log, also beyond the high watermark: see `voter_history`."""
    offset = log.log.log_start_offset
    while offset < log.end_offset:
        for batch in log.read_encoded(offset, FetchIsolation.LOG_END):
            control = read_metadata_batch(batch).control if batch.header.is_control else []
            for index, message in enumerate(control):
                history.observe(batch.header.base_offset + index, message)
            offset = batch.header.last_offset + 1


def _read_election(fs: FileSystem, directory: str) -> ElectionState:
    path = join(directory, QUORUM_STATE)
    contents = read_if_present(fs, path)
    return ElectionState() if contents is None else decode_quorum_state(contents, path)
