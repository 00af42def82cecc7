"""The committed metadata from its beginning: the newest snapshot, then the log, batch by batch, as far as it goes.

Whoever keeps an image of the cluster (a broker, a machine that is loaded) pulls from here. `offset`, `epoch` and
`timestamp` are those of the last record handed out: between two batches, and outside the snapshot, they say what an
image contains, wherever it was begun.
"""

from collections import deque
from collections.abc import Iterator

from tidelog.server.metadata_log import MetadataLog
from tidelog.server.metadata_log_records import MetadataBatch
from tidelog.server.metadata_snapshot import read_snapshot, snapshot_path


class MetadataLogReader:
    __slots__ = ("_log", "_read", "_snapshot", "epoch", "next_offset", "timestamp")

    def __init__(self, log: MetadataLog) -> None:
        self._log = log
        self._read: deque[MetadataBatch] = deque()
        self._snapshot: Iterator[MetadataBatch] | None = None
        self.next_offset, self.epoch, self.timestamp = log.log.log_start_offset, 0, -1
        latest = log.latest_snapshot
        if latest is not None:
            self._snapshot = read_snapshot(log.fs, snapshot_path(log.directory, latest))
            self.next_offset, self.epoch = latest

    @property
    def offset(self) -> int:
        return self.next_offset - 1

    @property
    def is_in_snapshot(self) -> bool:
        """What was handed out is part of a snapshot: no image of it is that of any offset."""
        return self._snapshot is not None

    def next(self) -> MetadataBatch | None:
        """None: that is all, for now."""
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
        if batch is None:
            self._snapshot = None
        elif self.timestamp < 0 and batch.control:
            self.timestamp = batch.control[0].last_contained_log_timestamp
        return batch
