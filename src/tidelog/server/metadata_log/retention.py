"""Which snapshots and segments of the metadata log go, and when a new snapshot is due.

The newest snapshot always stays, and with it the log behind it. An older one goes when all of them together with the
log take more than `metadata.max.retention.bytes`, or when its last record is older than `metadata.max.retention.ms`;
the log then starts at the next one. Nothing has to be synced for it: what a power loss brings back is older than the
newest snapshot, and nobody reads it.
"""

from tidelog.server.metadata_log.log import MetadataLog
from tidelog.server.metadata_log.log_config import MetadataLogConfig
from tidelog.server.metadata_log.snapshots import SnapshotFile, snapshot_path
from tidelog.storage.checkpoints.small_files import remove_if_present
from tidelog.storage.directories.operations import GIVE_WAY, Steps
from tidelog.storage.log.retention import delete_old_segment
from tidelog.storage.segment.deleted_segments import delete_expired


def retention_steps(log: MetadataLog, wall_ms: int) -> Steps:
    """Delete what is due, a file between two yields."""
    while len(log.snapshots) > 1 and _is_due(log, log.snapshots[0], wall_ms):
        oldest = log.snapshots.pop(0)
        log.log.advance_log_start(log.snapshots[0].id.offset)
        remove_if_present(log.fs, snapshot_path(log.directory, oldest.id))
        yield GIVE_WAY
    start = log.snapshots[0].id.offset if log.snapshots else 0
    while delete_old_segment(log.log, start, wall_ms) or delete_expired(log.log, wall_ms):
        yield GIVE_WAY


def _is_due(log: MetadataLog, oldest: SnapshotFile, wall_ms: int) -> bool:
    config = log.config
    size_bytes = log.log.size_bytes + sum(each.size_bytes for each in log.snapshots)
    if 0 <= config.retention_bytes < size_bytes:
        return True
    return 0 <= config.retention_ms < wall_ms - oldest.last_contained_log_timestamp


class SnapshotSchedule:
    """The rule for when a snapshot is due: after so many bytes of new records, or so long after the last snapshot while
    there are new records."""

    __slots__ = ("_bytes", "_config", "_last_ms")

    def __init__(self, config: MetadataLogConfig, now_ms: int) -> None:
        self._config = config
        self._bytes = 0
        self._last_ms = now_ms

    def note(self, size_bytes: int) -> None:
        """Count records that were committed behind the newest snapshot."""
        self._bytes += size_bytes

    def is_due(self, now_ms: int) -> bool:
        interval_ms = self._config.snapshot_interval_ms_max
        if not self._bytes:
            return False
        is_old = interval_ms > 0 and now_ms - self._last_ms >= interval_ms
        return is_old or self._bytes >= self._config.bytes_between_snapshots_max

    def begun(self, now_ms: int) -> None:
        self._bytes = 0
        self._last_ms = now_ms
