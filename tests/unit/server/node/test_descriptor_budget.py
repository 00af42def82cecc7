"""The descriptors of a process and how they are shared out; and the client that is one too many for them."""

import logging

import pytest
from tests.support.raw_connection import Raw, raw_request

from tidelog.server.node.descriptor_budget import FILES_MAX, SHARED_MIN, TooFewDescriptors, share_out
from tidelog.server.node.life_lines import LifeLines
from tidelog.sim.node_world import NodeWorld


@pytest.mark.parametrize("limit", [82, 160, 1_024, 20_000, 1 << 20])
def test_the_shares_are_the_whole_and_none_is_empty(limit: int) -> None:
    budget = share_out(limit, directories=1, workers=1, others=2)
    shares = (budget.reserved, budget.connections, budget.open_files, budget.pinned_files)
    assert sum(shares) == limit
    assert min(shares) >= SHARED_MIN // 6
    assert budget.open_files <= FILES_MAX
    assert budget.connections >= (limit - budget.reserved) // 2


def test_too_few_are_refused_with_how_many_it_takes() -> None:
    with pytest.raises(TooFewDescriptors, match=r"only 60 open files .* at least 82 are needed"):
        share_out(60, directories=1, workers=1, others=2)


def test_more_directories_and_workers_take_more_of_it() -> None:
    assert share_out(1_024, directories=3, workers=2, others=2).connections < (
        share_out(1_024, directories=1, workers=1, others=2).connections
    )


@pytest.mark.parametrize(("limit", "is_few"), [(1_024, True), (100_000, False)])
def test_few_descriptors_are_told_with_the_reason_and_what_to_do(
    caplog: pytest.LogCaptureFixture, limit: int, is_few: bool
) -> None:
    world = NodeWorld(seed=92)
    world.running.budget = share_out(limit, directories=1, workers=1, others=2)
    with caplog.at_level(logging.INFO):
        LifeLines(world.running, {})
    line = next(each for each in caplog.records if "ulimit -n" in each.getMessage())
    assert line.levelno == (logging.WARNING if is_few else logging.INFO)
    assert ("clients beyond them are closed" in line.getMessage()) == is_few
    assert ("LimitNOFILE= of a systemd unit) to 100000" in line.getMessage()) == is_few


def test_clients_beyond_the_descriptors_are_closed_with_one_line_and_the_others_served(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = NodeWorld(seed=91)
    world.running.broker.connections.budget = 3
    with caplog.at_level(logging.WARNING):
        clients = [Raw(world) for _ in range(40)]
        for client in clients:
            client.send(raw_request(18, 0))
        world.run(100)
    assert len(world.running.broker.connections) == 3
    assert world.running.broker.connections.refused_total == 37
    lines = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
    assert lines == ["all 3 connections that ulimit -n leaves room for are taken, and more are closed: raise the limit"]
    served = [client for client in clients if not client.is_closed]
    assert len(served) == 3
    assert all(client.frame() for client in served)
    caplog.clear()
    world.run(20_000)
    assert [each.getMessage() for each in caplog.records] == ["connections beyond ulimit -n: 36 more in the last 10 s"]
