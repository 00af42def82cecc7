"""A turn's time is shared out: nobody waits for another's work to end."""

from typing import Any, cast

from tidelog.server.turn import HANDLING_NS, Turn
from tidelog.sim.clock import SimClock

MS = 1_000_000


class Connection:
    """One that has so many requests waiting, each of which takes ten milliseconds."""

    def __init__(self, turn: Turn, clock: "Clock", requests: int) -> None:
        self._turn, self._clock, self.requests = turn, clock, requests

    def resume(self) -> None:
        while self.requests:
            if self._turn.credit <= 0 and self._turn.is_over():
                self._turn.backlog.append(cast(Any, self))
                return
            self.requests -= 1
            self._turn.credit = 0
            self._clock.ns += 10 * MS


class Clock(SimClock):
    def __init__(self) -> None:
        super().__init__()
        self.ns = 0

    def monotonic_ns(self) -> int:
        return self.ns


def test_who_has_one_request_does_not_wait_for_who_has_a_thousand() -> None:
    clock = Clock()
    turn = Turn(clock, cast(Any, None))
    busy = [Connection(turn, clock, 1_000) for _ in range(4)]
    modest = Connection(turn, clock, 1)
    turn.backlog = cast(Any, [*busy, modest])
    turns = 0
    while modest.requests:
        turns += 1
        turn.begin()
    assert turns == 5
    for _ in range(40):
        turn.begin()
    left = [each.requests for each in busy]
    assert max(left) - min(left) <= 2 * HANDLING_NS // (10 * MS)
    assert len(turn.backlog) == 4
