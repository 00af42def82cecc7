"""The committed metadata from its beginning: the newest snapshot, then the log, batch by batch, as far as it goes.

Whoever keeps an image of the cluster (a broker, a machine that is loaded) pulls from here. `offset`, `epoch` and
`timestamp` are those of the last record handed out: between two batches, and outside the snapshot, they say what an
image contains, wherever it was begun.

Without a file descriptor nothing can be read for now (`MetadataLog.is_unread`). That is not the end of the log, and
whoever needs all of it looks at `is_short`.
"""

from collections import deque
from collections.abc import Iterator

from tidelog.ports.errors import TooManyOpenFiles
from tidelog.server.metadata_log.batches import MetadataBatch
from tidelog.server.metadata_log.log import MetadataLog
from tidelog.server.metadata_log.snapshots import read_snapshot, snapshot_path


class MetadataLogReader:
    """One reader, and how far it is."""

    __slots__ = ("_is_begun", "_latest", "_log", "_read", "_snapshot", "epoch", "is_short", "next_offset", "timestamp")

    def __init__(self, log: MetadataLog) -> None:
        self._log = log
        self._read: deque[MetadataBatch] = deque()
        self._snapshot: Iterator[MetadataBatch] | None = None
        self._is_begun = False  # a batch of the snapshot was handed out
        self.is_short = False  # the last `next` found no descriptor
        self.next_offset, self.epoch, self.timestamp = log.log.log_start_offset, 0, -1
        self._latest = log.latest_snapshot
        if self._latest is not None:
            self._snapshot = read_snapshot(log.fs, snapshot_path(log.directory, self._latest))
            self.next_offset, self.epoch = self._latest

    @property
    def offset(self) -> int:
        return self.next_offset - 1

    @property
    def is_in_snapshot(self) -> bool:
        """Tell whether what was handed out ends within a snapshot: an image of it is not that of any offset."""
        return self._snapshot is not None

    def next(self) -> MetadataBatch | None:
        """Return the next batch. None: that is all for now, or, with `is_short`, all that can be read for now."""
        self.is_short = self._log.is_unread
        if self.is_short:
            return None
        try:
            return self._next()
        except TooManyOpenFiles as shortage:
            self._begin_snapshot_anew(shortage)
            self._log.note_unread(shortage)
            self.is_short = True
            return None

    def _begin_snapshot_anew(self, shortage: TooManyOpenFiles) -> None:
        """Open the snapshot again after a shortage: a generator that has failed is at its end, and must not be taken
        for one that is through."""
        if self._snapshot is not None and self._latest is not None:
            if self._is_begun:
                raise shortage
            self._snapshot = read_snapshot(self._log.fs, snapshot_path(self._log.directory, self._latest))

    def _next(self) -> MetadataBatch | None:
        batch = self._next_of_snapshot()
        if batch is not None:
            return batch
        if not self._read and self.next_offset < self._log.high_watermark:
            self._read.extend(self._log.read(self.next_offset))
        if not self._read:
            return None
        batch = self._read.popleft()
        assert batch.base_offset == self.next_offset, "the metadata log has no holes"
        self.next_offset, self.epoch, self.timestamp = batch.last_offset + 1, batch.epoch, batch.timestamp
        return batch

    def _next_of_snapshot(self) -> MetadataBatch | None:
        if self._snapshot is None:
            return None
        batch = next(self._snapshot, None)
        self._is_begun = True
        if batch is None:
            self._snapshot = None
        elif self.timestamp < 0 and batch.control:
            self.timestamp = batch.control[0].last_contained_log_timestamp
        return batch
