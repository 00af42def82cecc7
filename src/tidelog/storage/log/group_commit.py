"""Group commit: the appends of one turn into one log, staged one by one, written together at the end of the turn.

    stage (validate, assign offsets, check the producer) ...  ->  write: one write a segment  ->  apply
                                                               ->  or undo: as if the turn had not been

Nothing of the log changes while appends are staged: its end, its producers and its epochs move in `apply`, after all
bytes are in the page cache. A write that fails takes the whole turn back, also what an earlier write of it put into a
segment that was rolled since; every append of the turn is then answered KAFKA_STORAGE_ERROR.

A *run* is what goes into one segment. How much that takes is worked out when the run begins: a batch costs three
comparisons. The producers' changes are kept by run, because the snapshot that belongs to a roll is of the producers at
that very offset.

Compiled by mypyc: this runs once a batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidelog.model.errors import ErrorCode
from tidelog.ports.errors import DiskFull, StorageFault, TooManyOpenFiles
from tidelog.records.header import MAX_INT32, NO_TIMESTAMP, BytesLike
from tidelog.storage.append.outcome import AppendedBatch, AppendOrigin, Refused, Validated
from tidelog.storage.errors import UndoFault
from tidelog.storage.producers.append import DuplicateBatch, ProducerAppend
from tidelog.storage.producers.replay import index_aborted, snapshot_at_roll
from tidelog.storage.producers.verification import VerificationGuard
from tidelog.storage.segment.facts import Room
from tidelog.storage.segment.segment import Segment

if TYPE_CHECKING:
    from tidelog.storage.log.log import Log


@dataclass(init=False, slots=True)
class Append:
    """The append of one request. `code` is None while it is staged; NONE says that it is written, which is not yet that
    it may be acknowledged (`Log.acknowledgeable_offset`)."""

    first_offset: int
    last_offset: int
    log_append_time: int
    code: ErrorCode | None

    def __init__(
        self,
        first_offset: int,
        last_offset: int,
        log_append_time: int = NO_TIMESTAMP,
        code: ErrorCode | None = None,
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.log_append_time = log_append_time
        self.code = code


class Run:
    """The batches that one write puts into one segment."""

    __slots__ = ("base_offset", "batches", "pieces", "producers", "rolls", "room", "segment", "size_bytes")

    def __init__(self, producers: ProducerAppend, base_offset: int, room: Room, rolls: bool) -> None:
        self.producers = producers
        self.base_offset = base_offset
        self.room = room  # what the segment could take before the run began
        self.rolls = rolls  # the segment is new
        self.size_bytes = 0
        self.pieces: list[BytesLike] = []
        self.batches: list[AppendedBatch] = []
        self.segment: Segment | None = None  # once written

    def takes(self, size_bytes: int, batches: Sequence[AppendedBatch]) -> bool:
        last = batches[-1]
        max_timestamp = last.max_timestamp
        if len(batches) > 1:
            max_timestamp = max([batch.max_timestamp for batch in batches])
        return self.room.takes(self.size_bytes + size_bytes, last.last_offset, max_timestamp)


class GroupCommit:
    __slots__ = ("_appends", "_log", "_runs", "end_offset")

    def __init__(self, log: "Log") -> None:
        self._log = log
        self._appends: list[Append] = []
        self._runs: list[Run] = []
        self.end_offset = log.log_end_offset  # of the log, once all that is staged is written

    @property
    def size_bytes(self) -> int:
        return sum(run.size_bytes for run in self._runs)

    def stage(
        self,
        validated: Validated,
        origin: AppendOrigin,
        now_ms: int,
        guard: VerificationGuard | None = None,
        transaction_version: int | None = None,
    ) -> Append | Refused:
        batches = validated.batches
        run = self._take(batches, validated.size_bytes, origin, now_ms, guard, transaction_version)
        if isinstance(run, Refused):
            return run
        if isinstance(run, DuplicateBatch):
            return self._answer_again(run)
        run.pieces += validated.pieces
        append = Append(batches[0].base_offset, batches[-1].last_offset, validated.log_append_time)
        self._appends.append(append)
        return append

    def stage_replicated(self, checked: Validated, now_ms: int) -> Append | Refused:
        """Stage batches from a leader. A fetch may hold more than a segment does, so each batch is placed by itself;
        what goes into the same segment is one piece. All of them are written or none, so one Append is enough."""
        view, start, position = memoryview(checked.pieces[0]), 0, 0
        into: Run | None = None
        refused: Refused | None = None
        for batch in checked.batches:
            run = self._take([batch], batch.size_bytes, AppendOrigin.REPLICATION, now_ms, None, None)
            if not isinstance(run, Run):
                assert isinstance(run, Refused), "a leader sends nothing twice"
                refused = run
                break
            if into is not None and run is not into:
                into.pieces.append(view[start:position])
                start = position
            into = run
            position += batch.size_bytes
        if into is not None:
            into.pieces.append(view[start:position])
        if refused is not None:
            return refused
        append = Append(checked.first_offset, checked.last_offset)
        self._appends.append(append)
        return append

    def _take(
        self,
        batches: Sequence[AppendedBatch],
        size_bytes: int,
        origin: AppendOrigin,
        now_ms: int,
        guard: VerificationGuard | None,
        transaction_version: int | None,
    ) -> Run | Refused | DuplicateBatch:
        """Put the batches into a run and return it; adding the bytes to its `pieces` is left to the caller."""
        runs = self._runs
        run: Run | Refused = runs[-1] if runs else self._first_run(now_ms)
        assert isinstance(run, Run)
        if not run.takes(size_bytes, batches):
            run = self._next_run(run, batches, size_bytes)
            if isinstance(run, Refused):
                return run
        if batches[0].producer_id >= 0 or len(batches) > 1:
            outcome = run.producers.stage(batches, origin, guard=guard, transaction_version=transaction_version)
            if outcome is not None:
                return outcome
        if not runs or run is not runs[-1]:
            runs.append(run)
        run.batches += batches
        run.size_bytes += size_bytes
        self.end_offset = batches[-1].last_offset + 1
        return run

    def _answer_again(self, duplicate: DuplicateBatch) -> Append:
        """Answer a duplicate with the offsets of the first time. Where the first one is in this very turn, both share
        one answer."""
        append = Append(duplicate.first_offset, duplicate.last_offset, duplicate.timestamp)
        if duplicate.last_offset < self._log.log_end_offset:
            append.code = ErrorCode.NONE
        else:
            self._appends.append(append)
        return append

    # Runs. A new one is added to `_runs` with its first batch: the producers may still refuse the append.

    def _first_run(self, now_ms: int) -> Run:
        log = self._log
        config = log.config
        room = log.segments.active.room(now_ms, config.segment_bytes_max, config.segment_ms_max)
        return Run(log.producers.begin(), self.end_offset, room, rolls=False)

    def _next_run(self, run: Run, batches: Sequence[AppendedBatch], size_bytes: int) -> Run | Refused:
        """Return the run for batches that do not fit the last one: the log rolls.

        A new log does not roll: it has one segment until the name of that is durable, however large it becomes. If a
        power loss took the first segment and left the second, nothing would tell that the log has lost its beginning.
        """
        log = self._log
        if log.flush.is_new:
            log.flush.ask(log)
            run.room = log.segments.active.room_at_most()
            if run.takes(size_bytes, batches):
                return run
        first_offset, last_offset = batches[0].base_offset, batches[-1].last_offset
        if self._hides_loss(last_offset):
            log.flush.ask(log)
            return Refused(
                ErrorCode.KAFKA_STORAGE_ERROR,
                f"{log.directory}: what precedes offset {first_offset} is not durable yet",
            )
        # A new segment begins where the log ends, even if its first batch (of a follower) begins later: so recovery can
        # tell a segment whose end was lost from one that has nothing more. Unless that is too far away.
        base_offset = self.end_offset if last_offset - self.end_offset <= MAX_INT32 else first_offset
        room = Room(log.config.segment_bytes_max, base_offset + MAX_INT32)
        producers = run.producers.follow(self.end_offset) if run.batches else run.producers
        return Run(producers, base_offset, room, rolls=True)

    def _hides_loss(self, last_offset: int) -> bool:
        """Tell whether a roll has to wait until all before it is durable. A segment that begins too far behind the one
        before it looks the same to recovery as one whose predecessors a power loss has taken. This is rare, and the
        sender comes again."""
        durable_to = self._log.flush.recovery_point
        if self._log.flush.is_new:
            return True
        return last_offset - durable_to > MAX_INT32 and durable_to < self.end_offset

    # At the end of the turn

    def commit(self, now_ms: int) -> StorageFault | None:
        """Write the runs, and settle every append of the turn. A fault that is returned has been undone, and the log
        goes on if `survives` says so; otherwise its directory has to go offline."""
        log = self._log
        try:
            for run in self._runs:
                self._write(run, now_ms)
        except StorageFault as fault:
            self.fail()
            return self._undo(fault)
        try:
            for run in self._runs:
                self._apply(run, now_ms)
        except StorageFault as fault:
            self.fail()
            return UndoFault(log.directory, fault, fault)
        for append in self._appends:
            append.code = ErrorCode.NONE
        return None

    def _write(self, run: Run, now_ms: int) -> None:
        if run.rolls:
            self._log.roll_files(run.base_offset, now_ms)
        segment = self._log.segments.active
        segment.append(run.pieces, run.batches)
        run.segment = segment

    def _apply(self, run: Run, now_ms: int) -> None:
        log = self._log
        assert run.segment is not None
        if run.rolls:
            snapshot_at_roll(log, run.base_offset)
        epoch = log.epochs.latest_epoch
        for batch in run.batches:
            if batch.leader_epoch != epoch:
                log.assign_epoch(batch.leader_epoch, batch.base_offset)
                epoch = log.epochs.latest_epoch
        end_offset = run.batches[-1].last_offset + 1
        index_aborted(run.segment, log.producers.commit(run.producers, end_offset))
        log.advance_end(end_offset, now_ms)

    def _undo(self, fault: StorageFault) -> StorageFault:
        """Take back what was written; return the fault to report. Where taking back lacks room or a descriptor it is
        done before anything else happens to the log (`truncation.settle`), and only the first fault counts."""
        self._log.unsettled += 1
        try:
            self._log.cut_back()
        except StorageFault as undo:
            if not survives(undo):
                return UndoFault(self._log.directory, fault, undo)
            self._log.is_to_be_cut_back = True
        return fault.cause if isinstance(fault, UndoFault) and survives(fault.undo) else fault

    def fail(self) -> None:
        """Answer every append of the turn with an error: nothing of it was, or will be, written."""
        for append in self._appends:
            append.code = ErrorCode.KAFKA_STORAGE_ERROR


def next_offset(log: "Log") -> int:
    """The offset of the next batch that is staged in the log."""
    return log.staging().end_offset


def append_own(log: "Log", stored: bytes, batch: AppendedBatch, now_ms: int) -> Append | Refused:
    """Stage a batch that this broker has just made for `next_offset`, outside of transactions and as the topic wants
    its batches: unlike one from outside (`Log.append_as_leader`) it needs no check and no change."""
    assert not log.unsettled, f"{log.directory}: an append while a cut is on its way to the disk"
    group = log.staging()
    assert batch.base_offset == group.end_offset, f"{log.directory}: a batch for {batch.base_offset}"
    return group.stage(Validated([batch], [stored], batch.size_bytes), AppendOrigin.COORDINATOR, now_ms)


def survives(fault: StorageFault) -> bool:
    """Tell whether a log goes on after a write that failed with this fault and was undone. A full disk gets room again,
    and a process its descriptors; any other fault of the device is a reason to trust it with nothing more."""
    return isinstance(fault, DiskFull | TooManyOpenFiles)
