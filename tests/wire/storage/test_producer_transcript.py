"""Three thousand steps that Apache's own log took: appends of every origin, markers, verifications, high watermarks,
expiries, snapshots. Ours takes the same steps and must answer, and remember, the same (golden/README.md)."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tidelog.records.control import EndTransactionMarker
from tidelog.storage.append.outcome import AppendedBatch, AppendOrigin, Refused
from tidelog.storage.producers.append import DuplicateBatch
from tidelog.storage.producers.snapshot import decode_snapshot, encode_snapshot
from tidelog.storage.producers.state import ProducerState, ProducerStateConfig
from tidelog.storage.producers.verification import VerificationGuard

TRANSCRIPT = Path(__file__).parent / "golden" / "producer_transcript.jsonl.gz"
Step = list[Any]


def runs() -> Iterator[tuple[Step, list[Step]]]:
    with gzip.open(TRANSCRIPT, "rt") as lines:
        head: Step = []
        steps: list[Step] = []
        for line in map(json.loads, lines):
            if line[0] == "begin":
                if head:
                    yield head, steps
                head, steps = line, []
            else:
                steps.append(line)
        yield head, steps


class Replay:
    """Our log, as far as the steps need one: a producer state and an end offset."""

    def __init__(self, config: ProducerStateConfig) -> None:
        self.state = ProducerState(config)
        self.guards: dict[int, VerificationGuard] = {}
        self.aborted: list[list[int]] = []

    def step(self, now_ms: int, kind: str, arguments: Step) -> Step:
        self.aborted = []
        return list(getattr(self, kind)(now_ms, *arguments))

    def data(
        self,
        now_ms: int,
        origin: str,
        pid: int,
        epoch: int,
        sequence: int,
        count: int,
        transactional: bool,
        guarded: bool,
        *_: object,
    ) -> Step:
        start = self.state.map_end_offset
        batch = AppendedBatch(start, start + count - 1, now_ms, 100, count)
        batch.producer_id, batch.producer_epoch, batch.base_sequence = pid, epoch, sequence
        batch.is_transactional = transactional
        return self.append(batch, AppendOrigin[origin], self.guards.get(pid) if guarded else None, None)

    def marker(
        self, now_ms: int, origin: str, pid: int, epoch: int, coordinator: int, commit: bool, version: int, *_: object
    ) -> Step:
        start = self.state.map_end_offset
        batch = AppendedBatch(start, start, now_ms, 78, 1, producer_id=pid, producer_epoch=epoch)
        batch.is_transactional = batch.is_control = True
        batch.marker = EndTransactionMarker(commit, coordinator)
        return self.append(batch, AppendOrigin[origin], None, version if origin == "COORDINATOR" else None)

    def append(
        self, batch: AppendedBatch, origin: AppendOrigin, guard: VerificationGuard | None, version: int | None
    ) -> Step:
        append = self.state.begin()
        outcome = append.stage([batch], origin, guard=guard, transaction_version=version)
        if isinstance(outcome, Refused):
            return [outcome.code.name, -1, -1]
        if isinstance(outcome, DuplicateBatch):
            return ["NONE", outcome.first_offset, outcome.last_offset]
        completed = self.state.commit(append, batch.last_offset + 1)
        aborted = [each for each in completed if each.is_aborted]
        self.aborted = [[a.producer_id, a.first_offset, a.last_offset, a.last_stable_offset] for a in aborted]
        return ["NONE", batch.base_offset, batch.last_offset]

    def verify(self, now_ms: int, pid: int, epoch: int, sequence: int, bump: bool, *_: object) -> Step:
        answer = self.state.start_verification(now_ms, pid, epoch, sequence, supports_epoch_bump=bump)
        if isinstance(answer, Refused):
            return [answer.code.name]
        if answer is None:
            return ["ONGOING"]
        self.guards[pid] = answer
        return ["GUARD"]

    def hw(self, now_ms: int, high_watermark: int) -> Step:
        self.state.advance_high_watermark(high_watermark)
        return [high_watermark]

    def expire(self, now_ms: int) -> Step:
        self.state.expire(now_ms)
        return []

    def snapshot(self, now_ms: int, taken: str) -> Step:
        contents = encode_snapshot(self.state.producers.values())
        assert encode_snapshot(decode_snapshot(bytes.fromhex(taken), "taken")) == contents
        return [contents.hex()]

    def remembered(self) -> Step:
        state = self.state
        producers = [
            [
                entry.producer_id,
                entry.producer_epoch,
                entry.coordinator_epoch,
                entry.last_timestamp,
                or_minus_one(entry.current_txn_first_offset),
                [[b.last_sequence, b.last_offset, b.offset_delta, b.timestamp] for b in entry.batches],
            ]
            for _, entry in sorted(state.producers.items())
        ]
        unstable, undecided = or_minus_one(state.first_unstable_offset), or_minus_one(state.first_undecided_offset)
        return [state.map_end_offset, unstable, undecided, producers, self.aborted]


def or_minus_one(offset: int | None) -> int:
    return -1 if offset is None else offset


RUNS = list(runs())
ANSWERS = {"data": 3, "marker": 3, "verify": 1, "hw": 1, "expire": 0, "snapshot": 1}


@pytest.mark.parametrize("run", RUNS, ids=[f"run{head[1]}" for head, _ in RUNS])
def test_answers_and_remembers_as_apache_does(run: tuple[Step, list[Step]]) -> None:
    head, steps = run
    replay = Replay(ProducerStateConfig(expiration_ms=head[3], verification_enabled=head[2]))
    for number, (now_ms, kind, *rest, expected) in enumerate(steps):
        answers = rest[len(rest) - ANSWERS[kind] :]
        assert replay.step(now_ms, kind, rest) == answers, (number, kind, rest)
        assert replay.remembered() == expected, (number, kind, rest)
        replay.state.validate_state()


def test_the_transcript_meets_every_outcome() -> None:
    """A transcript without some outcome would prove less than it claims."""
    answers = [step[-2 - max(0, ANSWERS[step[1]] - 1)] for _, steps in RUNS for step in steps if ANSWERS[step[1]]]
    for outcome in (
        "INVALID_PRODUCER_EPOCH",
        "INVALID_TXN_STATE",
        "OUT_OF_ORDER_SEQUENCE_NUMBER",
        "TRANSACTION_COORDINATOR_FENCED",
        "ONGOING",
        "GUARD",
    ):
        assert answers.count(outcome) > 20
    assert sum(len(step[-1][4]) for _, steps in RUNS for step in steps) > 50, "aborted transactions"
