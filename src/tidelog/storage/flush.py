"""What of one log is known to be on the disk, and how more of it gets there.

    due -> begin -> tickets complete, in any number of turns -> the recovery point moves to where the log ended at begin

Everything below the recovery point is durable: bytes, names, leader epochs, and the indexes of every segment that ends
there or before. A flush therefore syncs the `.log` of each segment from the recovery point on, the indexes too where
the segment is sealed, the directory (and the one above, for a new log) when names were made in it, and the epochs. One
flush a log is under way at a time: with `flush.messages=1` the appends that come meanwhile share the next.

A failed sync is final. `complete` hands the fault on, the recovery point stays, and the directory goes offline.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tidelog.ports.errors import DiskFull, StorageFault
from tidelog.ports.files import Completion, Ticket
from tidelog.ports.paths import join
from tidelog.storage.checkpoints import LEADER_EPOCH_CHECKPOINT
from tidelog.storage.flush_queue import FlushQueue
from tidelog.storage.producer_replay import begin_sync_snapshots, sync_snapshots
from tidelog.storage.segment import Segment
from tidelog.storage.small_files import begin_sync_path, sync_path

if TYPE_CHECKING:
    from tidelog.storage.log import Log


@dataclass(slots=True)
class Begun:
    """A flush under way."""

    until: int  # the recovery point, once all of it is durable
    indexes_until: int
    tickets: dict[Ticket, None] = field(default_factory=dict)
    epochs: Ticket | None = None  # of these, the one of the epochs
    took_ns: int = 0  # of the tickets that are done


class Flush:
    __slots__ = (
        "begun",
        "indexes_durable_to",
        "is_asked_for",
        "is_new",
        "queue",
        "recovery_point",
        "unflushed_since_ms",
        "unsynced_files",
        "unsynced_names",
    )

    def __init__(self, recovery_point: int, indexes_durable_to: int, queue: FlushQueue | None = None) -> None:
        self.recovery_point = recovery_point
        self.indexes_durable_to = indexes_durable_to  # of segments that begin below it; a segment's base offset
        self.queue = FlushQueue() if queue is None else queue
        self.unsynced_names: dict[str, None] = {}  # directories in which names were made
        self.unsynced_files: dict[str, None] = {}  # names of small files beside the segments
        self.unflushed_since_ms: int | None = None
        self.is_new = False  # not even the name of the first segment is durable: see `GroupCommit._next_run`
        self.is_asked_for = False  # by a roll: a sealed segment is synced soon, whatever the policy
        self.begun: Begun | None = None

    @property
    def checkpoint(self) -> int:
        """The recovery point to write down: one that makes recovery scan every segment with unsynced indexes.

        Recovery scans the segment that holds the recovery point and those behind it. Where the log is durable to the
        very end of a segment whose indexes are not, that would be the next one; so one record less is claimed.
        """
        if self.recovery_point > self.indexes_durable_to:
            return max(self.indexes_durable_to, self.recovery_point - 1)
        return self.recovery_point

    def note_append(self, log: "Log", now_ms: int) -> None:
        if self.unflushed_since_ms is None:
            self.unflushed_since_ms = now_ms
            self.queue.note(log, now_ms + log.config.flush_ms)

    def ask(self, log: "Log") -> None:
        """With the next turn that has time for it, whatever the policy."""
        self.is_asked_for = True
        self.queue.ask(log)

    def note_names(self, directories: Iterable[str]) -> None:
        self.unsynced_names.update(dict.fromkeys(directories))

    def is_due(self, log: "Log", now_ms: int) -> bool:
        if self.begun is not None or log.is_unsettled:
            return False
        unflushed = log.log_end_offset - self.recovery_point
        return self.is_asked_for or unflushed >= log.config.flush_messages or self._is_old(log.config.flush_ms, now_ms)

    def _is_old(self, flush_ms: int, now_ms: int) -> bool:
        """A clock that was set back says nothing about the age of what is unflushed: take it for old."""
        since = self.unflushed_since_ms
        return since is not None and not since <= now_ms < since + flush_ms

    def begin(self, log: "Log") -> Iterable[Ticket]:
        """Everything that is written by now; a StorageFault when it can not even begin."""
        assert self.begun is None, "a flush is under way"
        assert not log.is_unsettled, "what is being cut may not count as durable"
        begun = Begun(log.log_end_offset, log.segments.active.base_offset)
        tickets = [ticket for segment in self._unsynced(log) for ticket in segment.begin_flush()]
        tickets += begin_sync_snapshots(log)
        tickets += [begin_sync_path(log.fs, join(log.directory, name)) for name in self.unsynced_files]
        tickets += [log.fs.begin_sync_directory(directory) for directory in self.unsynced_names]
        if log.epochs.is_dirty:
            begun.epochs = log.fs.begin_replace(join(log.directory, LEADER_EPOCH_CHECKPOINT), log.epochs.encode())
            log.epochs.is_dirty = False
            tickets.append(begun.epochs)
        begun.tickets = dict.fromkeys(tickets)
        self._forget_unsynced(log)
        self.begun = begun
        if not tickets:
            self._finish(begun)
        return tickets

    def _forget_unsynced(self, log: "Log") -> None:
        log.unsynced_snapshots.clear()
        self.unsynced_files.clear()
        self.unsynced_names.clear()
        self.unflushed_since_ms = None
        self.is_asked_for = False

    def _unsynced(self, log: "Log") -> Iterable[Segment]:
        return log.segments.from_offset(min(self.recovery_point, self.indexes_durable_to))

    def complete(self, log: "Log", completion: Completion) -> StorageFault | None:
        """One ticket of the flush under way. Whoever gets a fault back takes the log directory offline."""
        if self.begun is None or completion.ticket not in self.begun.tickets:
            return None
        begun = self.begun
        del begun.tickets[completion.ticket]
        begun.took_ns += completion.took_ns
        if completion.fault is not None:
            if completion.ticket != begun.epochs or not isinstance(completion.fault, DiskFull):
                return completion.fault
            # No room for the epochs, which is no failed sync: the next flush writes them anew. Until then the recovery
            # point may not pass them.
            log.epochs.is_dirty = True
            begun.until = begun.indexes_until = 0
        if not begun.tickets:
            self._finish(begun)
        return None

    def _finish(self, begun: Begun) -> None:
        self.begun = None
        self.is_new = False
        self.recovery_point = max(self.recovery_point, begun.until)
        self.indexes_durable_to = max(self.indexes_durable_to, begun.indexes_until)

    def now(self, log: "Log") -> None:
        """The same at once, for closing: the active segment is sealed by then. None may be under way, whose epochs
        would be written beside ours."""
        assert self.begun is None
        for segment in self._unsynced(log):
            segment.flush()
        sync_snapshots(log)
        for name in self.unsynced_files:
            sync_path(log.fs, join(log.directory, name))
        for directory in self.unsynced_names:
            log.fs.sync_directory(directory)
        log.epochs.flush(log.fs, log.directory)
        self._forget_unsynced(log)
        self._finish(Begun(log.log_end_offset, log.log_end_offset))

    def begin_at(self, offset: int) -> None:
        """The log is empty, durably, and begins here."""
        self.recovery_point = self.indexes_durable_to = offset

    def truncate(self, offset: int, base_offset: int) -> None:
        """The log was cut at `offset`, in the segment that begins at `base_offset`. What a flush under way has begun
        with is gone from there on; what comes in its place is not covered by it."""
        self.recovery_point = min(self.recovery_point, offset)
        self.indexes_durable_to = min(self.indexes_durable_to, base_offset)
        if self.begun is not None:
            self.begun.until = min(self.begun.until, offset)
            self.begun.indexes_until = min(self.begun.indexes_until, base_offset)
