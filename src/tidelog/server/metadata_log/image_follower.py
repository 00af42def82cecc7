"""The cluster as this node sees it: an image of the committed metadata, brought up to date turn by turn.

Every node keeps one, the controller too: what its machine has decided, and what is not committed yet, is not in it. So
snapshots are taken of it.
"""

from collections.abc import Callable
from itertools import islice

from tidelog.metadata.changes import Changes
from tidelog.metadata.draft import MetadataDraft
from tidelog.metadata.errors import MetadataError, UnreadableMetadata
from tidelog.metadata.image import MetadataImage, empty_image
from tidelog.metadata.snapshot_records import image_records
from tidelog.protocol.errors import ProtocolError
from tidelog.raft.voter_history import VoterHistory
from tidelog.records.errors import RecordError
from tidelog.server.metadata_log.batches import RECORDS_A_SLICE, MetadataBatch
from tidelog.server.metadata_log.committed_reader import MetadataLogReader
from tidelog.server.metadata_log.log import MetadataLog
from tidelog.server.metadata_log.retention import SnapshotSchedule
from tidelog.server.metadata_log.snapshot_writer import QuorumRecords, snapshot_contents, snapshot_steps
from tidelog.server.metadata_log.snapshots import SnapshotId
from tidelog.storage.directories.operations import Operation


class ImageFollower:
    """The image of one node, and the reader that it is made from."""

    def __init__(self, log: MetadataLog, history: VoterHistory, now_ms: int) -> None:
        self.image: MetadataImage = empty_image()
        self._log = log
        self._history = history
        self._reader = MetadataLogReader(log)
        self._draft = MetadataDraft(tracks_changes=True)
        self._schedule = SnapshotSchedule(log.config, now_ms)
        self._batch: MetadataBatch | None = None  # the batch that is being replayed
        self._replayed = 0  # how many records of it
        self._snapshot: Operation | None = None

    @property
    def is_behind(self) -> bool:
        """Tell whether there is more to replay: the next turn should come at once."""
        is_at_end = self._batch is None and not self._reader.is_in_snapshot
        return not is_at_end or self._reader.next_offset < self._log.high_watermark

    def advance(self, is_over: Callable[[], bool]) -> Changes | None:
        """Replay what is committed until the time is over. Where that came to the end of a batch that leaves the
        cluster whole, `image` is new, and what changed is returned."""
        moved = False
        while self._replay_slice():
            moved = True
            if is_over():
                break
        is_whole = self._batch is None and not self._reader.is_in_snapshot and not self._draft.in_transaction
        if not moved or not is_whole:
            return None
        self.image = self._draft.freeze(self._reader.offset, self._reader.epoch, self._reader.timestamp)
        return self._draft.take_changes()

    def _replay_slice(self) -> bool:
        """Replay some records of one batch; return whether there was a batch."""
        try:
            batch = self._batch = self._batch or self._reader.next()
        except (ProtocolError, RecordError) as error:
            raise UnreadableMetadata(self._log.directory, self._where(0), error) from error
        if batch is None:
            return False
        count = 0
        try:
            for message, _version in islice(batch.records, RECORDS_A_SLICE):
                self._draft.replay(message)
                count += 1
        except (MetadataError, ProtocolError, RecordError) as error:
            raise UnreadableMetadata(self._log.directory, self._where(self._replayed + count), error) from error
        self._replayed = 0 if count < RECORDS_A_SLICE else self._replayed + count
        if count < RECORDS_A_SLICE:
            self._batch = None
            self._schedule.note(0 if self._reader.is_in_snapshot else batch.size_bytes)
        return True

    def _where(self, index: int) -> str:
        """Say which record is the `index`th of the batch that is being replayed, or that comes next."""
        if self._reader.is_in_snapshot:
            return f"a record of the snapshot {self._log.latest_snapshot}"
        offset = self._reader.next_offset if self._batch is None else self._batch.base_offset
        return f"the record at offset {offset + index}"

    def snapshot_if_due(self, now_ms: int, wall_ms: int) -> None:
        if self._schedule.is_due(now_ms):
            self.take_snapshot(now_ms, wall_ms)

    def take_snapshot(self, now_ms: int, wall_ms: int) -> Operation | None:
        """Begin to write a snapshot of the current image, in slices. None where one is under way, or nothing is new."""
        provenance, latest = self.image.provenance, self._log.latest_snapshot
        snapshot_id = SnapshotId(provenance.offset + 1, provenance.epoch)
        is_under_way = self._snapshot is not None and not self._snapshot.is_done
        is_new = snapshot_id.offset > (0 if latest is None else latest.offset)
        is_short = self._log.ballast.is_released  # what room there is belongs to the log
        if is_under_way or not is_new or is_short or self._log.fault is not None:
            return None
        self._schedule.begun(now_ms)
        contents = snapshot_contents(
            snapshot_id.epoch,
            provenance.timestamp_ms,
            self._quorum_records(snapshot_id.offset),
            image_records(self.image),
            wall_ms,
            self._log.config.batch_bytes_max,
        )
        steps = snapshot_steps(self._log, snapshot_id, provenance.timestamp_ms, contents, wall_ms)
        self._snapshot = self._log.operations.begin(self._log.directory, steps)
        return self._snapshot

    def _quorum_records(self, end_offset: int) -> QuorumRecords:
        return QuorumRecords(self._history.kraft_version_at(end_offset), self._history.voters_at(end_offset))
