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
from typing import TYPE_CHECKING, Final

from tidelog.ports.errors import DiskFull, StorageFault, TooManyOpenFiles
from tidelog.ports.files import Completion, Ticket
from tidelog.ports.paths import join
from tidelog.storage.checkpoints.small_files import begin_sync_path, sync_path
from tidelog.storage.checkpoints.text import LEADER_EPOCH_CHECKPOINT, EpochEntry
from tidelog.storage.log.flush_queue import FlushQueue
from tidelog.storage.producers.replay import begin_sync_snapshots, sync_snapshots
from tidelog.storage.segment.segment import Segment

if TYPE_CHECKING:
    from tidelog.storage.log.log import Log


RETRY_MS: Final = 1_000


@dataclass(slots=True)
class Begun:
    """A flush under way."""

    until: int  # the recovery point, once all of it is durable
    indexes_until: int
    tickets: dict[Ticket, None] = field(default_factory=dict)
    epochs: Ticket | None = None  # which of `tickets` writes the epochs
    epoch_entries: list[EpochEntry] = field(default_factory=list)
    took_ns: int = 0  # how long the tickets that are done took, added up
    is_whole: bool = True  # nothing was left out for want of descriptors


class Flush:
    __slots__ = (
        "begun",
        "indexes_durable_to",
        "indexes_lack_room",
        "is_asked_for",
        "is_held_up",
        "is_new",
        "queue",
        "recovery_point",
        "retry_ms",
        "unflushed_since_ms",
        "unsynced_files",
        "unsynced_names",
    )

    def __init__(self, recovery_point: int, indexes_durable_to: int, queue: FlushQueue | None = None) -> None:
        self.recovery_point = recovery_point
        self.indexes_durable_to = indexes_durable_to  # the indexes of segments that begin below it are durable
        self.indexes_lack_room = False  # there was no room for those of a sealed segment: they are in memory alone
        self.queue = FlushQueue() if queue is None else queue
        self.unsynced_names: dict[str, None] = {}  # directories in which names were made
        self.unsynced_files: dict[str, None] = {}  # names of small files beside the segments
        self.unflushed_since_ms: int | None = None
        self.is_new = False  # not even the name of the first segment is durable: see `GroupCommit._next_run`
        self.is_asked_for = False  # by a roll: a sealed segment is synced soon, whatever the policy
        self.is_held_up = False  # there was no room for the epochs: the next flush has to wait
        self.retry_ms: int | None = None
        self.begun: Begun | None = None

    @property
    def checkpoint(self) -> int:
        """The recovery point to write down: one that makes recovery scan every segment with unsynced indexes.

        Recovery scans the segment that holds the recovery point and those behind it. Where the log is durable to the
        very end of a segment whose indexes are not, that would be the next one; so one record less is claimed. Where
        there was no room for indexes, the segment without them may lie further back.
        """
        if self.indexes_lack_room:
            return min(self.recovery_point, self.indexes_durable_to)
        if self.recovery_point > self.indexes_durable_to:
            return max(self.indexes_durable_to, self.recovery_point - 1)
        return self.recovery_point

    def note_append(self, log: "Log", now_ms: int) -> None:
        if self.unflushed_since_ms is None:
            self.unflushed_since_ms = now_ms
            self.queue.note(log, now_ms + log.config.flush_ms)

    def ask(self, log: "Log") -> None:
        """Have the log flushed with the next turn that has time for it, whatever the policy."""
        self.is_asked_for = True
        self.queue.ask(log)

    def note_names(self, directories: Iterable[str]) -> None:
        self.unsynced_names.update(dict.fromkeys(directories))

    def is_due(self, log: "Log", now_ms: int) -> bool:
        if self.begun is not None or log.is_unsettled or (self.is_held_up and not self._is_over(log, now_ms)):
            return False
        unflushed = log.log_end_offset - self.recovery_point
        return self.is_asked_for or unflushed >= log.config.flush_messages or self._is_old(log.config.flush_ms, now_ms)

    def _is_over(self, log: "Log", now_ms: int) -> bool:
        """Tell whether the pause after a flush that found no room for the epochs is over."""
        if self.retry_ms is None:
            self.retry_ms = now_ms + RETRY_MS
            self.queue.note(log, self.retry_ms)
        if self.retry_ms - RETRY_MS <= now_ms < self.retry_ms:
            return False
        self.is_held_up, self.is_asked_for, self.retry_ms = False, True, None
        return True

    def _is_old(self, flush_ms: int, now_ms: int) -> bool:
        """Tell whether something has been unflushed for `flush_ms`. It also counts as old after the clock was set back,
        which says nothing about its age."""
        since = self.unflushed_since_ms
        return since is not None and not since <= now_ms < since + flush_ms

    def begin(self, log: "Log") -> Iterable[Ticket]:
        """Begin to sync everything that is written by now; return the tickets to wait for. Raises a StorageFault when
        it can not even begin."""
        assert self.begun is None, "a flush is under way"
        assert not log.is_unsettled, "what is being cut may not count as durable"
        begun = Begun(log.log_end_offset, log.segments.active.base_offset)
        tickets: list[Ticket] = []
        try:
            self._begin_all(log, begun, tickets)
            self._forget_unsynced(log)
        except TooManyOpenFiles:
            # What was begun by now is waited for, and then everything else is begun anew. The directory's sync has a
            # helper wait until there is a descriptor again.
            begun.until = begun.indexes_until = 0
            begun.is_whole, self.is_asked_for = False, True
            tickets.append(log.fs.begin_sync_directory(log.directory))
        begun.tickets = dict.fromkeys(tickets)
        self.begun = begun
        if not tickets:
            self._finish(begun)
        return tickets

    def _begin_all(self, log: "Log", begun: Begun, tickets: list[Ticket]) -> None:
        """Begin every sync, and add each to `tickets` at once: where a shortage interrupts this, those were begun all
        the same."""
        segments = list(self._unsynced(log))
        for segment in segments:
            segment.begin_flush(tickets)
        begun.indexes_until = self._indexes_until(segments, begun.indexes_until)
        begin_sync_snapshots(log, tickets)
        for name in self.unsynced_files:
            tickets.append(begin_sync_path(log.fs, join(log.directory, name)))  # noqa: PERF401 - one by one
        for directory in self.unsynced_names:
            tickets.append(log.fs.begin_sync_directory(directory))  # noqa: PERF401
        if log.epochs.is_dirty:
            begun.epoch_entries = log.epochs.entries()
            begun.epochs = log.fs.begin_replace(join(log.directory, LEADER_EPOCH_CHECKPOINT), log.epochs.encode())
            log.epochs.is_dirty = False
            tickets.append(begun.epochs)

    def _indexes_until(self, segments: Iterable[Segment], limit: int) -> int:
        """The offset up to which the indexes are durable after this flush: not past a segment for whose indexes there
        was no room."""
        lacking = [segment.base_offset for segment in segments if segment.lacks_indexes]
        self.indexes_lack_room = bool(lacking)
        return min([limit, *lacking])

    def _forget_unsynced(self, log: "Log") -> None:
        log.unsynced_snapshots.clear()
        self.unsynced_files.clear()
        self.unsynced_names.clear()
        self.unflushed_since_ms = None
        self.is_asked_for = False

    def _unsynced(self, log: "Log") -> Iterable[Segment]:
        return log.segments.from_offset(min(self.recovery_point, self.indexes_durable_to))

    def complete(self, log: "Log", completion: Completion) -> StorageFault | None:
        """Take the completion of one ticket of the flush under way. Whoever gets a fault back takes the log directory
        offline."""
        if self.begun is None or completion.ticket not in self.begun.tickets:
            return None
        begun = self.begun
        del begun.tickets[completion.ticket]
        begun.took_ns += completion.took_ns
        if completion.fault is not None:
            if completion.ticket != begun.epochs or not isinstance(completion.fault, DiskFull | TooManyOpenFiles):
                return completion.fault
            # Want of room for the epochs is no failed sync: the next flush writes them anew. Until then the recovery
            # point may not pass the first of them that is not in the file.
            log.epochs.is_dirty = True
            self.is_held_up = isinstance(completion.fault, DiskFull)  # a descriptor is waited for by the helper
            self.is_asked_for = self.is_asked_for or not self.is_held_up
            begun.until = min(begun.until, log.epochs.first_unwritten(begun.until))
            begun.indexes_until = min(begun.indexes_until, begun.until)
        elif completion.ticket == begun.epochs:
            log.epochs.written = begun.epoch_entries
        if not begun.tickets:
            self._finish(begun)
        return None

    def _finish(self, begun: Begun) -> None:
        self.begun = None
        self.is_new = self.is_new and not begun.is_whole
        self.recovery_point = max(self.recovery_point, begun.until)
        self.indexes_durable_to = max(self.indexes_durable_to, begun.indexes_until)

    def now(self, log: "Log") -> None:
        """Flush and wait for the disk, to close the log: the active segment is sealed by then. No flush may be under
        way, because it would write the epochs at the same time."""
        assert self.begun is None
        segments = list(self._unsynced(log))
        for segment in segments:
            segment.flush()
        sync_snapshots(log)
        for name in self.unsynced_files:
            sync_path(log.fs, join(log.directory, name))
        for directory in self.unsynced_names:
            log.fs.sync_directory(directory)
        log.epochs.flush(log.fs, log.directory)
        self._forget_unsynced(log)
        self._finish(Begun(log.log_end_offset, self._indexes_until(segments, log.log_end_offset)))

    def begin_at(self, offset: int) -> None:
        """Note that the log is empty, durably, and begins here."""
        self.recovery_point = self.indexes_durable_to = offset

    def truncate(self, offset: int, base_offset: int) -> None:
        """Note that the log was cut at `offset`, in the segment that begins at `base_offset`. A flush under way does
        not cover what comes in place of the records that are gone."""
        self.recovery_point = min(self.recovery_point, offset)
        self.indexes_durable_to = min(self.indexes_durable_to, base_offset)
        if self.begun is not None:
            self.begun.until = min(self.begun.until, offset)
            self.begun.indexes_until = min(self.begun.indexes_until, base_offset)
