"""Groups, offsets and transactions on a whole node, and everything that may happen to it; see `coordinator_ledger` for
what has to hold.

A failure prints its seed: `live(seed, syncs_everything, loses_power)` shows it again, and `run_one(seed, crash_at,
ends_by_power)`. `make sim` tries many more.
"""

import logging

import pytest
from tests.sim.coordinator_life import CoordinatorLife, Plan
from tests.sim.test_log_crashes import NEVER, CrashingTrace, PowerLoss

STRIDE = 53
WARM = 200  # steps, until all members have joined and all transactions begun
SHORT = 120


@pytest.fixture(autouse=True)
def _quiet() -> None:
    """Silence the log, in which each of the dozens of disk failures here would be reported."""
    logging.getLogger("tidelog").setLevel(logging.CRITICAL)


def live(seed: int, syncs_everything: bool, loses_power: bool, lives: int = 1) -> CoordinatorLife:
    life = CoordinatorLife(seed, Plan(syncs_everything, loses_power, lives=lives))
    life.run()
    life.world.kill()
    return life


@pytest.mark.parametrize(
    ("seed", "syncs_everything", "loses_power"), [(0, True, True), (1, False, False), (2, False, True)]
)
def test_what_coordinators_told_holds(seed: int, syncs_everything: bool, loses_power: bool) -> None:
    life = live(seed, syncs_everything, loses_power)
    assert all(client.heard > 2 for client in life.everybody), "everybody got something done"
    assert len(life.ledger.transactions) > 30
    assert life.validated > 12


class ShortLife(CoordinatorLife):
    """A life without random faults of disk and network, which is cut by a crash at a given operation."""

    def __init__(self, seed: int, crash_at: int) -> None:
        self.trace = CrashingTrace(NEVER)
        super().__init__(seed, Plan(syncs_everything=True, faults=False), self.trace)
        self.serve(WARM)
        self.trace.crash_at = self.trace.count + crash_at

    def cut(self) -> bool:
        """Serve until the crash; return whether it came before the life's end."""
        try:
            self.serve(SHORT)
        except PowerLoss:
            return True
        return False

    def end_by(self, by_power: bool) -> None:
        self.trace.crash_at = NEVER
        if by_power:
            self.world.lose_power()
        else:
            self.world.kill()


def run_one(seed: int, crash_at: int, ends_by_power: bool) -> bool:
    life = ShortLife(seed, crash_at)
    crashed = life.cut()
    for _ in range(2):  # the second start finds the files that the first one left
        life.end_by(ends_by_power)
        life.world.start()
        life.check()
    life.world.kill()
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
    assert count > 100, "the workload does something"
