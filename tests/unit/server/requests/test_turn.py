"""A turn's time is shared out: no request waits for all the work of another."""

import pytest
from tests.support.raw_connection import Raw, raw_request

from tidelog.protocol.messages.metadata import MetadataRequest
from tidelog.protocol.server_connection import Request
from tidelog.server.requests.connection import ClientConnection
from tidelog.sim.clock import SimClock
from tidelog.sim.node_world import NodeWorld

REQUESTS = 200
LOOK_NS = 4_000_000  # the time that a look at the clock takes: a turn is over after a few requests


def turn(world: NodeWorld) -> None:
    """Run a turn: with such a clock, the world itself would not know when one is due."""
    world.running.turn()
    world.client_host.poll()
    world.clock.advance(1)


def slow_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every look at the clock take `LOOK_NS`."""
    right, passed_ns = SimClock.monotonic_ns, 0

    def slow(clock: SimClock) -> int:
        nonlocal passed_ns
        passed_ns += LOOK_NS
        return right(clock) + passed_ns

    monkeypatch.setattr(SimClock, "monotonic_ns", slow)


def test_who_has_one_request_does_not_wait_for_who_has_hundreds(monkeypatch: pytest.MonkeyPatch) -> None:
    world = NodeWorld(seed=51)
    busy, modest = [Raw(world) for _ in range(4)], world.client()
    modest.ask(MetadataRequest(topics=[]), 9)
    slow_down(monkeypatch)
    for raw in busy:
        raw.send(raw_request(18, 0) * REQUESTS)
    for _ in range(20):
        turn(world)
    modest.send(MetadataRequest(topics=[]), 9)
    turns = 0
    while modest.poll() is None:
        turns += 1
        turn(world)
    assert turns < 50  # not the hundreds of turns that all the others take
    assert len(world.running.broker.turn.backlog) >= 3, "they are still at it"


def test_of_a_crowd_each_gets_one_request_handled_before_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """If one pipeline took a whole turn, a client behind the crowd would wait a turn for each of its members."""
    world = NodeWorld(seed=52)
    busy = [Raw(world) for _ in range(4)]
    slow_down(monkeypatch)
    for raw in busy:
        raw.send(raw_request(18, 0) * REQUESTS)
    for _ in range(20):
        turn(world)
    handled: list[int] = []
    dispatch = world.running.broker.dispatch
    handle = dispatch.handle

    def noted(connection: ClientConnection, request: Request, frame_start: int) -> None:
        handled.append(connection.id)
        handle(connection, request, frame_start)

    monkeypatch.setattr(dispatch, "handle", noted)
    for _ in range(20):
        turn(world)
    rounds = [handled[at : at + len(busy)] for at in range(0, len(handled) - len(busy), len(busy))]
    assert len(rounds) > 5
    assert all(len(set(each)) == len(busy) for each in rounds), handled
