"""Runs the quorum's machine on the metadata log: its effects in order, and what comes of them back as events.

    effects -> Persist: `quorum-state` is replaced, off the loop; what is behind it waits for that
            -> AppendControl: staged and written in the leader's epoch
            -> HighWatermarkAdvanced: the log may be read so far
            -> LeaderChanged: `leader_id` and `epoch` say so from now on

Without room for `quorum-state`, even without the ballast, nothing that stands on it leaves this node: it is silent, and
tries again. Without room for the record that begins its epoch a leader resigns, and stands for the next one later. The
only voter of a quorum reads its log meanwhile: what it has on disk is committed, whoever leads.

This is also the log that a replicated machine writes to while this node leads (`replicated.ReplicatedLog`).
"""

from collections import deque
from collections.abc import Generator, Iterable, Sequence

from tidelog.model.ids import NodeId
from tidelog.ports.errors import StorageFault
from tidelog.ports.files import Completion
from tidelog.ports.paths import join
from tidelog.raft.effects import (
    AppendControl,
    Appended,
    Effect,
    Event,
    HighWatermarkAdvanced,
    LeaderChanged,
    Persist,
    ResignRequested,
    Started,
    Synced,
    Ticked,
)
from tidelog.raft.quorum import Quorum
from tidelog.raft.quorum_state import QUORUM_STATE, ElectionState, encode_quorum_state
from tidelog.server.metadata_log.batches import VersionedRecord, control_batch, encode_steps
from tidelog.server.metadata_log.log import MetadataLog
from tidelog.storage.directories.operations import PAUSE_MS, Operation, Steps
from tidelog.storage.log.group_commit import survives

# Steps of the log's operations in one turn: each is about a millisecond of work.
PIECES_A_TURN = 10
RETRY_MS = 1_000  # after a vote that found no room


class MetadataQuorum:
    """The quorum of this node, with its log."""

    def __init__(self, quorum: Quorum, log: MetadataLog) -> None:
        self.quorum = quorum
        self.log = log
        self.leader_id: NodeId | None = None
        self.epoch = 0
        self._effects: deque[Effect] = deque()
        self._persisting: Operation | None = None
        self._lacks_room = False  # for `quorum-state`
        self._retry_ms: int | None = None
        self._turn_ms = 0  # the time of the last turn
        self._staged_end: int | None = None

    @property
    def is_leader(self) -> bool:
        """Tell whether this node leads: its epoch has begun, on disk and in the log, and the log works."""
        return self.leader_id == self.quorum.local.key.id and self.quorum.is_leader and self.log.fault is None

    @property
    def kraft_version(self) -> int:
        """The version of the quorum's records: 1 with voters in the log, 0 with static ones."""
        return self.quorum.history.kraft_version

    @property
    def deadline(self) -> int | None:
        """The time of the next turn on the monotonic clock; a completion of the disk may come before."""
        resume_ms = self._turn_ms + PAUSE_MS if self.log.operations.is_pausing else None
        deadlines = (self.quorum.deadline, self._retry_ms, resume_ms)
        return min((each for each in deadlines if each is not None), default=None)

    @property
    def has_work(self) -> bool:
        """Tell whether the next turn should come at once."""
        return self.log.operations.has_work

    # The node's life

    def start(self, election: ElectionState, now_ms: int, wall_ms: int) -> None:
        self._step(Started(election, self.log.end_offset, self.log.last_epoch), now_ms, wall_ms)

    def turn(self, completions: Iterable[Completion], now_ms: int, wall_ms: int) -> None:
        """Handle what the disk has completed and the deadlines that have passed, and do some of the work that waits for
        nothing else."""
        self._turn_ms = now_ms
        self.log.operations.resume(now_ms)
        self.log.operations.work(PIECES_A_TURN)
        if self.log.complete(completions, wall_ms):
            self._step(Synced(self.log.synced_offset), now_ms, wall_ms)
        deadline = self.quorum.deadline
        if deadline is not None and now_ms >= deadline:
            self._step(Ticked(), now_ms, wall_ms)
        self._run(now_ms, wall_ms)
        if self.log.is_starved and not self.is_leader and self.quorum.is_only_voter:
            self.log.update_high_watermark(max(self.high_watermark, self.log.synced_offset))
        self.log.checkpoint_if_due(now_ms)
        self.log.take_ballast_if_due(now_ms)

    def resign(self, now_ms: int, wall_ms: int, *, is_final: bool) -> None:
        self._step(ResignRequested(is_final), now_ms, wall_ms)

    # A replicated machine's log

    @property
    def end_offset(self) -> int:
        """The offset after everything that is written or staged."""
        return self.log.end_offset if self._staged_end is None else self._staged_end

    @property
    def high_watermark(self) -> int:
        return self.log.high_watermark

    @property
    def is_settled(self) -> bool:
        """Tell whether this node leads, everything in the log is committed, and the log takes more."""
        return self.is_leader and self.high_watermark == self.end_offset and not self.log.log.is_unsettled

    def append_steps(
        self, records: Sequence[VersionedRecord], wall_ms: int, *, is_atomic: bool
    ) -> Generator[None, None, None]:
        """Stage all records at the last step. OversizedBatchError, and nothing is staged, where they do not fit
        together."""
        limit_bytes = self.log.config.batch_bytes_max
        encoded = yield from encode_steps(records, wall_ms, self.epoch, limit_bytes, is_atomic=is_atomic)
        assert self.is_leader, "only a leader appends"
        for batch in encoded:
            self._staged_end = self.log.append(batch, self.epoch, wall_ms)

    def commit(self, now_ms: int, wall_ms: int) -> bool:
        """Write all that is staged at once. False: nothing of it was written, nor ever will be."""
        if self._staged_end is None:
            return self.log.fault is None
        self._staged_end = None
        is_written = self.log.commit(wall_ms)
        if is_written:
            self._step(Appended(self.log.end_offset), now_ms, wall_ms)
        return is_written

    # Effects

    def _step(self, event: Event, now_ms: int, wall_ms: int) -> None:
        self._effects += self.quorum.step(now_ms, event)
        self._run(now_ms, wall_ms)

    def _run(self, now_ms: int, wall_ms: int) -> None:
        while self._effects and self.log.fault is None:
            if self._persisting is not None and not self._persisting.is_done:
                return
            if self._lacks_room:
                self._lacks_room, self._retry_ms = False, now_ms + RETRY_MS
            if self._retry_ms is not None and now_ms < self._retry_ms:
                return
            self._retry_ms = None
            self._carry_out(self._effects.popleft(), now_ms, wall_ms)

    def _carry_out(self, effect: Effect, now_ms: int, wall_ms: int) -> None:
        match effect:
            case Persist(election):
                self._persisting = self.log.operations.begin(self.log.directory, self._persist_steps(election))
            case AppendControl():
                self._append_control(effect, now_ms, wall_ms)
            case LeaderChanged(epoch, leader_id):
                assert epoch >= self.epoch, "epochs never go back"
                self.epoch, self.leader_id = epoch, leader_id
            case HighWatermarkAdvanced(offset):
                self.log.update_high_watermark(offset)

    def _persist_steps(self, election: ElectionState) -> Steps:
        history = self.quorum.history
        contents = encode_quorum_state(election, history.kraft_version, history.voters)
        if not self.log.makes_room():
            return
        try:
            yield [self.log.fs.begin_replace(join(self.log.directory, QUORUM_STATE), contents)]
        except StorageFault as fault:
            if not survives(fault):
                self.log.fail(fault)
                return
            self._effects.appendleft(Persist(election))  # what follows from the vote waits behind it
            self._lacks_room = not self.log.note_shortage(fault)

    def _append_control(self, effect: AppendControl, now_ms: int, wall_ms: int) -> None:
        base_offset = self.log.end_offset
        if not self._write_control(effect, wall_ms):
            self.resign(now_ms, wall_ms, is_final=False)
            return
        for index, message in enumerate(effect.messages):
            self.quorum.history.observe(base_offset + index, message)
        self._effects.extendleft(reversed(self.quorum.step(now_ms, Appended(self.log.end_offset))))

    def _write_control(self, effect: AppendControl, wall_ms: int) -> bool:
        if self.log.log.is_unsettled:
            return False
        self.log.append(control_batch(effect.messages, wall_ms, effect.epoch), effect.epoch, wall_ms)
        return self.log.commit(wall_ms)
