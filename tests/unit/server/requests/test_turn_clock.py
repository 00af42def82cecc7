"""When a turn looks at the clock, and which turns do more than serve the data path."""

from typing import Any, cast

import pytest
from tests.unit.server.requests.test_first_contact import create, fetch, produce

from tidelog.server.requests.turn import CREDIT_BYTES, FETCHING_NS, HANDLING_NS, Turn
from tidelog.sim.clock import SimClock
from tidelog.sim.node_world import NodeWorld


class LookedAtClock(SimClock):
    """A clock that counts the looks, and moves only when it is told to."""

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


def test_fetches_of_many_partitions_have_a_part_of_the_turn_and_one_gets_on_in_any(
    clock: LookedAtClock, turn: Turn
) -> None:
    assert turn.may_fetch()
    assert turn.may_fetch()
    clock.now_ns = FETCHING_NS + 1
    assert not turn.may_fetch()
    turn.begin()
    clock.now_ns += 5 * FETCHING_NS  # time that other work took
    assert turn.may_fetch()
    assert not turn.may_fetch()


def test_those_whose_wait_ends_have_a_part_of_the_turn(clock: LookedAtClock, turn: Turn) -> None:
    clock.now_ns = HANDLING_NS
    assert turn.may_expire(True)
    assert not turn.is_expiring_over()
    clock.now_ns += FETCHING_NS + 1
    assert turn.is_expiring_over()


def test_fetches_that_come_and_waits_that_end_take_turns(turn: Turn) -> None:
    """A turn serves one of the two kinds where there are both, so that a produce waits for one fetch of many
    partitions, not two."""
    taken = []
    for _ in range(4):
        turn.begin()
        taken.append((turn.may_fetch(), turn.may_expire(True)))
    assert taken == [(True, False), (False, True), (True, False), (False, True)]
    turn.begin()
    assert turn.may_fetch()
    assert turn.may_expire(False)
    turn.begin()
    assert turn.may_fetch(), "nobody was put off"


class WaitingFetch:
    """A connection whose next request is a fetch of many partitions, which takes `FETCHING_NS` and more."""

    def __init__(self, clock: LookedAtClock, turn: Turn) -> None:
        self._clock, self._turn = clock, turn
        self.resumed = 0

    def resume(self) -> None:
        self.resumed += 1
        assert self._turn.may_fetch()
        self._clock.now_ns += FETCHING_NS + 1


def test_fetches_that_wait_for_a_turn_are_not_looked_at_before_theirs(clock: LookedAtClock, turn: Turn) -> None:
    waiting = [WaitingFetch(clock, turn) for _ in range(3)]
    turn.fetching.extend(waiting)
    for number in range(3):
        assert turn.has_backlog
        turn.begin()
        assert [each.resumed for each in waiting] == [1] * (number + 1) + [0] * (2 - number)
    assert not turn.has_backlog


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
