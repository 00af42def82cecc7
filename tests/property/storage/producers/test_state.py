"""Group commits of any requests, some written and some not, against a dumb twin: the list of all batches in the log,
from which every answer is worked out anew.

The invariants: duplicates get the offsets that the list has; what is not written changes nothing; and a state that is
replayed from the list, or loaded from a snapshot in the middle of it and then replayed, equals the live one.
"""

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.storage.producing import CLIENT, COORDINATOR, REPLICATION, data, marker

from tidelog.model.errors import ErrorCode
from tidelog.storage.append.outcome import AppendedBatch, Refused
from tidelog.storage.producers.append import DuplicateBatch, Outcome, ProducerAppend
from tidelog.storage.producers.snapshot import decode_snapshot, encode_snapshot
from tidelog.storage.producers.state import CompletedTransaction, ProducerState, ProducerStateConfig

CONFIG = ProducerStateConfig(verification_enabled=False)


@dataclass
class Request:
    producer_id: int
    kind: str  # data, transactional, commit, abort
    ahead: int  # how far its sequence is ahead of the one that is due
    epoch_ahead: int
    count: int


REQUESTS = st.builds(
    Request,
    producer_id=st.integers(1, 3),
    kind=st.sampled_from(["data", "transactional", "transactional", "commit", "abort"]),
    ahead=st.sampled_from([0, 0, 0, 0, -1, -2, -4, 1]),
    epoch_ahead=st.sampled_from([0, 0, 0, 0, 0, 1, -1]),
    count=st.integers(1, 3),
)
TURNS = st.lists(st.tuples(st.lists(REQUESTS, max_size=6), st.booleans(), st.integers(0, 20)), max_size=12)


@dataclass
class Twin:
    """A log as a list of batches. Nothing is remembered; everything is looked up."""

    batches: list[AppendedBatch] = field(default_factory=list)

    @property
    def end(self) -> int:
        return self.batches[-1].last_offset + 1 if self.batches else 0

    def of(self, producer_id: int) -> list[AppendedBatch]:
        return [batch for batch in self.batches if batch.producer_id == producer_id]

    def epoch(self, producer_id: int) -> int:
        return self.of(producer_id)[-1].producer_epoch if self.of(producer_id) else -1

    def window(self, producer_id: int) -> list[AppendedBatch]:
        """Return the producer's data batches since its epoch last changed."""
        gathered: list[AppendedBatch] = []
        epoch = -1
        for batch in self.of(producer_id):
            if batch.producer_epoch != epoch:
                epoch, gathered = batch.producer_epoch, []
            if not batch.is_control:
                gathered.append(batch)
        return gathered

    def due(self, producer_id: int) -> int:
        window = self.window(producer_id)
        return window[-1].last_sequence + 1 if window else 0

    def open_since(self, producer_id: int, before: int | None = None) -> int | None:
        since = None
        for batch in self.of(producer_id):
            if before is not None and batch.base_offset >= before:
                break
            if batch.is_control:
                since = None
            elif batch.is_transactional and since is None:
                since = batch.base_offset
        return since

    def expect(self, batch: AppendedBatch) -> ErrorCode | tuple[int, int]:
        epoch, producer_id = self.epoch(batch.producer_id), batch.producer_id
        if batch.is_control:
            return ErrorCode.INVALID_PRODUCER_EPOCH if batch.producer_epoch < epoch else ErrorCode.NONE
        for known in self.window(producer_id)[-5:]:
            same = (known.base_sequence, known.last_sequence) == (batch.base_sequence, batch.last_sequence)
            if same and batch.producer_epoch == epoch:
                return known.base_offset, known.last_offset
        if batch.producer_epoch < epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        due = self.due(producer_id) if batch.producer_epoch == epoch else 0
        if epoch >= 0 and batch.base_sequence != due:
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        if self.open_since(producer_id) is not None and not batch.is_transactional:
            return ErrorCode.INVALID_TXN_STATE
        return ErrorCode.NONE

    def completed(self) -> list[CompletedTransaction]:
        gathered = []
        for batch in self.batches:
            at = batch.base_offset
            first = self.open_since(batch.producer_id, at) if batch.is_control else None
            if first is not None and batch.marker is not None:
                others = [self.open_since(each, at) for each in (1, 2, 3) if each != batch.producer_id]
                stable = min((other for other in others if other is not None), default=at + 1)
                gathered.append(CompletedTransaction(batch.producer_id, first, at, not batch.marker.committed, stable))
        return gathered

    def first_unstable(self, high_watermark: int) -> int | None:
        firsts = [self.open_since(producer_id) for producer_id in (1, 2, 3)]
        firsts += [each.first_offset for each in self.completed() if each.last_offset >= high_watermark]
        return min((first for first in firsts if first is not None), default=None)


def batch_of(request: Request, twin: Twin) -> AppendedBatch:
    epoch = max(0, twin.epoch(request.producer_id) + request.epoch_ahead)
    if request.kind in ("commit", "abort"):
        return marker(twin.end, request.producer_id, epoch, commit=request.kind == "commit")
    sequence = max(0, twin.due(request.producer_id) + request.ahead)
    if request.epoch_ahead > 0 and request.ahead == 0:
        sequence = 0
    transactional = request.kind == "transactional"
    return data(twin.end, request.producer_id, epoch, sequence, request.count, txn=transactional)


def stage(append: ProducerAppend, batch: AppendedBatch) -> Outcome:
    if batch.is_control:
        return append.stage([batch], COORDINATOR, transaction_version=1)
    return append.stage([batch], CLIENT)


def said(outcome: Outcome) -> ErrorCode | tuple[int, int]:
    match outcome:
        case Refused(code):
            return code
        case DuplicateBatch(first_offset, last_offset):
            return first_offset, last_offset
        case _:
            return ErrorCode.NONE


def replayed(state: ProducerState, batches: list[AppendedBatch]) -> ProducerState:
    append = state.begin()
    assert append.stage(batches, REPLICATION) is None
    state.commit(append, batches[-1].last_offset + 1 if batches else state.map_end_offset)
    state.validate_state()
    return state


@settings(max_examples=150, deadline=None, derandomize=True)
@given(TURNS)
def test_the_state_is_what_the_log_says(turns: list[tuple[list[Request], bool, int]]) -> None:
    log, state, completed, high_watermark = Twin(), ProducerState(CONFIG), [], 0
    for requests, is_written, replicated in turns:
        staged, append = Twin(list(log.batches)), state.begin()
        for request in requests:
            batch = batch_of(request, staged)
            expected = staged.expect(batch)
            assert said(stage(append, batch)) == expected
            if expected is ErrorCode.NONE:
                staged.batches.append(batch)
        if is_written:
            completed += state.commit(append, staged.end)
            log = staged
        high_watermark = min(high_watermark + replicated, log.end)
        state.advance_high_watermark(high_watermark)
        state.validate_state()
        assert completed == log.completed()
        assert state.first_unstable_offset == log.first_unstable(high_watermark)
    assert replayed(ProducerState(CONFIG), log.batches).producers == state.producers


@settings(max_examples=100, deadline=None, derandomize=True)
@given(TURNS, st.integers(0, 100))
def test_a_snapshot_and_the_log_behind_it_are_the_state(turns: list[tuple[list[Request], bool, int]], cut: int) -> None:
    log, state = Twin(), ProducerState(CONFIG)
    for request in (request for requests, _, _ in turns for request in requests):
        batch, append = batch_of(request, log), state.begin()
        if stage(append, batch) is None:
            state.commit(append, batch.last_offset + 1)
            log.batches.append(batch)
    at = cut % (len(log.batches) + 1)
    before = replayed(ProducerState(CONFIG), log.batches[:at])
    restarted = ProducerState(CONFIG)
    restarted.reset(before.map_end_offset, decode_snapshot(encode_snapshot(before.producers.values()), "it"))
    replayed(restarted, log.batches[at:])
    assert restarted.first_undecided_offset == state.first_undecided_offset
    for producer_id, entry in state.producers.items():
        again = restarted.producers[producer_id]
        assert again.batches == entry.batches[len(entry.batches) - len(again.batches) :]
        again.batches = entry.batches
        assert again == entry
