"""The driver with machines that answer later, and with the effects that they ask for."""

from dataclasses import dataclass, field
from typing import Any

from tests.unit.server.test_replicated import NEVER, MemoryLog

from tidelog.model.decisions import PENDING, Record, Result
from tidelog.model.errors import ErrorCode
from tidelog.server.replicated import Replicated


class Arrival:
    """A member that arrives. Members are compared by identity, since two may send the same."""


@dataclass
class Meeting:
    """A machine in which each arrival waits for the next one; two of them are recorded together."""

    deadline: int | None = None
    waiting: list[Arrival] = field(default_factory=list)
    meetings: int = 0

    def handle(self, _now_ms: int, request: Any) -> Result:
        if not isinstance(request, Arrival):
            return Result([], self.meetings)
        if not self.waiting:
            self.waiting.append(request)
            return Result([], PENDING)
        (first,), self.waiting = self.waiting, []
        record: Record = ("met", 0)
        return Result([record], "second", answers=[(first, "first")], effects=["ring the bell"])

    def replay(self, _message: Any) -> None:
        self.meetings += 1

    def step(self, _now_ms: int, wall_ms: int) -> Result:
        self.deadline = None
        return Result([], None, answers=[(each, f"alone at {wall_ms}") for each in self.waiting])


class World:
    def __init__(self) -> None:
        self.log = MemoryLog()
        self.effects: list[Any] = []
        self.replicated: Replicated[Meeting] = Replicated(
            self.log, ErrorCode.NOT_COORDINATOR, self._bug, on_effect=self.effects.append
        )
        self.machine = Meeting()
        self.replicated.start(self.machine, iter(()))
        self.turn()

    def _bug(self, _request: Any, bug: Exception) -> None:
        raise bug

    def turn(self) -> None:
        self.replicated.turn(5, 6, NEVER)

    def arrive(self) -> list[Any]:
        answers: list[Any] = []
        self.replicated.submit(0, Arrival(), answers.append)
        self.turn()
        return answers

    def commit_all(self) -> None:
        self.log.high_watermark = self.log.end_offset
        self.replicated.answer()


def test_a_pending_request_is_answered_with_the_decision_that_answers_it_when_that_is_committed() -> None:
    world = World()
    first = world.arrive()
    world.commit_all()
    assert first == [], "nobody else came"
    second = world.arrive()
    assert (first, second, world.effects) == ([], [], []), "it is written, and not committed"
    world.commit_all()
    assert (first, second, world.effects) == (["first"], ["second"], ["ring the bell"])


def test_time_may_answer_it_too() -> None:
    world = World()
    first = world.arrive()
    world.machine.deadline = 5
    world.turn()
    assert first == ["alone at 6"]


def test_a_dropped_machine_leaves_nobody_waiting_and_nothing_done() -> None:
    world = World()
    first, second, third = world.arrive(), world.arrive(), world.arrive()
    world.replicated.drop()
    assert first == second == third == [ErrorCode.NOT_COORDINATOR]
    world.commit_all()
    assert world.effects == [], "what the machine decided may never come true"
