"""Group commit: the appends of one turn into one log, staged one by one, written together at the end of the turn.

    stage (validate, assign offsets, check the producer) ...  ->  write: one write a segment  ->  apply
                                                               ->  or undo: as if the turn had not been

Nothing of the log changes while appends are staged: its end, its producers and its epochs move in `apply`, after all
bytes are in the page cache. A write that fails takes the whole turn back, also what an earlier write of it put into a
segment that was rolled since; every append of the turn is then answered KAFKA_STORAGE_ERROR.

A *run* is what goes into one segment. The producers' changes are kept by run, because the snapshot that belongs to a
roll is of the producers at that very offset.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tidelog.model.errors import ErrorCode
from tidelog.ports.errors import DiskFull, StorageFault, TooManyOpenFiles
from tidelog.records.header import MAX_INT32, NO_TIMESTAMP, BytesLike
from tidelog.storage.appended import AppendedBatch, AppendOrigin, Refused, Validated
from tidelog.storage.errors import UndoFault
from tidelog.storage.producer_append import DuplicateBatch, ProducerAppend
from tidelog.storage.producer_replay import index_aborted, snapshot_at_roll
from tidelog.storage.producer_verification import VerificationGuard
from tidelog.storage.segment import Incoming, Segment

if TYPE_CHECKING:
    from tidelog.storage.log import Log


@dataclass(slots=True)
class Append:
    """One request's append. `code` is None while it is staged; NONE says that it is written, which is not yet that it
    may be acknowledged (`Log.acknowledgeable_offset`)."""

    first_offset: int
    last_offset: int
    log_append_time: int = NO_TIMESTAMP
    code: ErrorCode | None = None


@dataclass(slots=True)
class Run:
    """What one write puts into one segment."""

    producers: ProducerAppend
    base_offset: int
    rolls: bool  # the segment is new
    size_bytes: int = 0
    pieces: list[BytesLike] = field(default_factory=list)
    batches: list[AppendedBatch] = field(default_factory=list)
    segment: Segment | None = None  # once written


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
        run = self._run_for(validated, now_ms)
        if isinstance(run, Refused):
            return run
        outcome = run.producers.stage(validated.batches, origin, guard=guard, transaction_version=transaction_version)
        if isinstance(outcome, Refused):
            return outcome
        if isinstance(outcome, DuplicateBatch):
            return self._answer_again(outcome)
        if not self._runs or run is not self._runs[-1]:
            self._runs.append(run)
        run.pieces += validated.pieces
        run.batches += validated.batches
        run.size_bytes += validated.size_bytes
        self.end_offset = validated.last_offset + 1
        append = Append(validated.first_offset, validated.last_offset, validated.log_append_time)
        self._appends.append(append)
        return append

    def stage_replicated(self, checked: Validated, now_ms: int) -> Append | Refused:
        """Batches from a leader. A fetch may hold more than a segment does, so each batch is placed by itself."""
        view = memoryview(checked.pieces[0])
        position = 0
        for batch in checked.batches:
            piece = view[position : position + batch.size_bytes]
            position += batch.size_bytes
            staged = self.stage(Validated([batch], [piece], batch.size_bytes), AppendOrigin.REPLICATION, now_ms)
            if isinstance(staged, Refused):
                return staged
        self._appends[-1].first_offset = checked.first_offset  # they share one fate: one answer is enough
        return self._appends[-1]

    def _answer_again(self, duplicate: DuplicateBatch) -> Append:
        """The offsets of the first time. Where that is a batch of this very turn, its fate is shared."""
        append = Append(duplicate.first_offset, duplicate.last_offset, duplicate.timestamp)
        if duplicate.last_offset < self._log.log_end_offset:
            append.code = ErrorCode.NONE
        else:
            self._appends.append(append)
        return append

    def _run_for(self, validated: Validated, now_ms: int) -> Run | Refused:
        """The run that takes this append: the last one, or a new one. It is not among the runs yet, since the
        producers may refuse the append."""
        log = self._log
        last = self._runs[-1] if self._runs else None
        if last is None:
            incoming = Incoming(validated.size_bytes, validated.last_offset, validated.max_timestamp)
            rolls = log.should_roll(incoming, now_ms)
        else:
            rolls = self._overflows(last, validated, now_ms)
        if rolls and self._hides_loss(validated):
            log.flush.ask(log)
            return Refused(
                ErrorCode.KAFKA_STORAGE_ERROR,
                f"{log.directory}: what precedes offset {validated.first_offset} is not durable yet",
            )
        if last is None:
            return Run(log.producers.begin(), self._roll_offset(validated), rolls)
        return Run(last.producers.follow(self.end_offset), self._roll_offset(validated), rolls=True) if rolls else last

    def _hides_loss(self, validated: Validated) -> bool:
        """A segment that begins too far behind the one before it looks the same to recovery as one whose predecessors
        a power loss has taken. So it is made only when all before it is durable: rare, and the sender comes again."""
        durable_to = self._log.flush.recovery_point
        if self._log.flush.is_new:
            return True
        return validated.last_offset - durable_to > MAX_INT32 and durable_to < self.end_offset

    def _roll_offset(self, validated: Validated) -> int:
        """A new segment begins where the log ends, even if its first batch (of a follower) begins later: so recovery
        can tell a segment whose end was lost from one that has nothing more. Unless that is too far away."""
        is_near = validated.last_offset - self.end_offset <= MAX_INT32
        return self.end_offset if is_near else validated.first_offset

    def _overflows(self, run: Run, validated: Validated, now_ms: int) -> bool:
        size = run.size_bytes + validated.size_bytes
        if run.rolls:
            too_far = validated.last_offset - run.base_offset > MAX_INT32
            return size > self._log.config.segment_bytes_max or too_far
        return self._log.should_roll(Incoming(size, validated.last_offset, validated.max_timestamp), now_ms)

    def commit(self, now_ms: int) -> StorageFault | None:
        """Write, and settle every append of the turn. A fault that comes back has been undone, and the log goes on if
        `survives` says so; otherwise its directory has to go offline."""
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
        for batch in run.batches:
            log.assign_epoch(batch.leader_epoch, batch.base_offset)
        end_offset = run.batches[-1].last_offset + 1
        index_aborted(run.segment, log.producers.commit(run.producers, end_offset))
        log.advance_end(end_offset, now_ms)

    def _undo(self, fault: StorageFault) -> StorageFault:
        try:
            self._log.cut_back()
        except StorageFault as undo:
            return UndoFault(self._log.directory, fault, undo)
        return fault

    def fail(self) -> None:
        """Nothing of the turn was, or will be, written."""
        for append in self._appends:
            append.code = ErrorCode.KAFKA_STORAGE_ERROR


def survives(fault: StorageFault) -> bool:
    """Whether a log goes on after a write that failed so and was undone. A full disk gets room again, and a process
    its descriptors; any other fault of the device is a reason to trust it with nothing more."""
    return isinstance(fault, DiskFull | TooManyOpenFiles)
