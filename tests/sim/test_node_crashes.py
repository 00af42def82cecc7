"""A whole node, its clients, and everything that may happen to it; see `node_ledger` for what has to hold.

A failure prints its seed: `live(seed, syncs_everything)` and `run_one(seed, crash_at, ends_by_power)` show it again.
`make sim` tries many more.
"""

import logging

import pytest
from tests.sim.node_life import NodeLife, Plan
from tests.sim.test_log_crashes import NEVER, CrashingTrace, PowerLoss

STRIDE = 61
SHORT = 60  # steps


@pytest.fixture(autouse=True)
def _quiet() -> None:
    """Silence the log, in which each of the dozens of disk failures here would be reported."""
    logging.getLogger("tidelog").setLevel(logging.CRITICAL)


def live(seed: int, syncs_everything: bool, lives: int = 2) -> NodeLife:
    life = NodeLife(seed, Plan(syncs_everything, lives=lives))
    life.run()
    return life


@pytest.mark.parametrize("syncs_everything", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_what_clients_were_told_holds(seed: int, syncs_everything: bool) -> None:
    life = live(seed, syncs_everything)
    assert all(client.heard > 2 for client in life.clients), "everybody got something done"
    assert sum(len(each.acknowledged) for each in life.ledger.partitions.values()) > 50


class ShortLife(NodeLife):
    """A life without random faults of disk and network: serve, stop in order, start, serve."""

    def __init__(self, seed: int, crash_at: int) -> None:
        self.trace = CrashingTrace(NEVER)
        super().__init__(seed, Plan(syncs_everything=True, faults=False), self.trace)
        self.trace.crash_at = self.trace.count + crash_at

    def run(self) -> None:
        self.serve(SHORT)
        self.world.stop()
        self.world.start()
        self.serve(SHORT)

    def end(self, by_power: bool) -> None:
        self.trace.crash_at = NEVER
        if by_power:
            self.world.lose_power()
        else:
            self.world.kill()


def run_one(seed: int, crash_at: int, ends_by_power: bool) -> bool:
    """Run the life with a crash, restart, and check; return whether the crash came before the life's end."""
    life = ShortLife(seed, crash_at)
    crashed = False
    try:
        life.run()
    except PowerLoss:
        crashed = True
    for _ in range(2):  # the second start finds the files that the first one left
        life.end(ends_by_power)
        life.world.start()
        life.check()
    life.serve(SHORT)
    return crashed


def every_operation(seed: int, ends_by_power: bool, first: int = 1, stride: int = 1) -> int:
    crash_at = first
    while True:
        try:
            if not run_one(seed, crash_at, ends_by_power):
                return crash_at
        except Exception as error:
            raise AssertionError(f"run_one({seed}, {crash_at}, {ends_by_power})") from error
        crash_at += stride


@pytest.mark.parametrize(("seed", "ends_by_power"), [(0, True), (1, False)])
def test_a_crash_after_operations_of_every_kind(seed: int, ends_by_power: bool) -> None:
    count = every_operation(seed, ends_by_power, first=1 + seed, stride=STRIDE)
    assert count > 120, "the workload does something"
