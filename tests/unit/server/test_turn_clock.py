"""When a turn looks at the clock, and what makes it more than the data path's."""

from typing import Any, cast

import pytest
from tests.unit.server.test_first_contact import create, fetch, produce

from tidelog.server.turn import CREDIT_BYTES, HANDLING_NS, Turn
from tidelog.sim.clock import SimClock
from tidelog.sim.node_world import NodeWorld


class LookedAtClock(SimClock):
    """Counts the looks, and moves only when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = 0
        self.now_ns = 0

    def monotonic_ns(self) -> int:
        self.looks += 1
        return self.now_ns


@pytest.fixture
def clock() -> LookedAtClock:
    return LookedAtClock()


@pytest.fixture
def turn(clock: LookedAtClock) -> Turn:
    turn = Turn(clock, cast(Any, None))
    turn.begin()
    return turn


def test_a_turn_begins_with_credit_and_gets_more_for_a_look_at_the_clock(clock: LookedAtClock, turn: Turn) -> None:
    assert turn.credit == CREDIT_BYTES
    turn.credit = -5
    looks = clock.looks
    assert not turn.is_over()
    assert (turn.credit, clock.looks) == (CREDIT_BYTES, looks + 1)


def test_a_turn_whose_time_is_up_gives_no_more_credit(clock: LookedAtClock, turn: Turn) -> None:
    turn.credit = 0
    clock.now_ns = HANDLING_NS + 1
    assert turn.is_over()
    assert turn.is_over()
    assert turn.credit == 0
    turn.begin()
    assert not turn.is_over()


def test_only_what_is_not_the_data_path_is_eventful() -> None:
    world = NodeWorld(seed=5)
    client = world.client()
    turn = world.running.broker.turn
    dispatched: list[bool] = []
    handle = world.running.broker.dispatch.handle

    def noting(*arguments: Any) -> None:
        turn.is_eventful = False
        handle(*arguments)
        dispatched.append(turn.is_eventful)

    world.running.broker.dispatch.handle = noting  # type: ignore[method-assign, assignment]
    create(client, "eventful")
    produce(client, "eventful", b"a")
    assert fetch(client, "eventful") == [b"a"]
    assert dispatched == [True, False, False]
