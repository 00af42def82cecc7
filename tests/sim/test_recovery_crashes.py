"""Recovery itself is crashed: after every single operation that it makes, by power and by death, and several times in a
row. However far it had come, the logs come out the same as from an undisturbed recovery.

That holds for a power loss too: what a first one left is on the medium, so that a second one can take away only what
recovery itself has written.
"""

import random
from copy import deepcopy

import pytest
from tests.sim.broker import Broker
from tests.sim.crashing import cut_short, facts, problems
from tests.sim.test_log_crashes import CONFIG, NEVER, PARTITIONS, Workload, machine

from tidelog.sim.clock import SimClock
from tidelog.sim.files import SimFileSystem

Facts = dict[str, dict[str, object]]


def crashed_machine(seed: int, share: float) -> SimFileSystem:
    """Return a machine that lost power after this share of the workload's operations."""
    fs, clock = machine(seed, NEVER)
    Workload(seed, fs, clock).run()
    crash_at = max(1, int(fs.trace.count * share))
    fs, clock = machine(seed, NEVER)
    assert cut_short(fs, Workload(seed, fs, clock).run, crash_at, by_power=True)
    return fs


def recover(fs: SimFileSystem) -> Facts:
    clock = fs.clock
    assert isinstance(clock, SimClock)
    broker = Broker(fs, clock, config=CONFIG).start()
    assert not broker.logs.directories["/disk/logs"].corrupt, broker.progress.problems
    return {str(each): facts(log) for each in PARTITIONS if (log := broker.logs.get(each)) is not None}


def undisturbed(fs: SimFileSystem) -> tuple[Facts, int]:
    """Recover; return the facts of the logs, and how many operations the recovery took."""
    before = fs.trace.count
    return recover(fs), fs.trace.count - before


def check_promises(fs: SimFileSystem) -> None:
    """Check that a broker which stops in order after such a start leaves a directory in which nothing is wrong."""
    clock = fs.clock
    assert isinstance(clock, SimClock)
    fs.kill()
    broker = Broker(fs, clock, config=CONFIG).start()
    broker.retain()  # so that deleted files go
    broker.stop()
    # (A log that was never durable has lost its topic id, and gets one when it is next created.)
    assert [each for each in problems(fs) if "partition.metadata" not in each] == []


@pytest.mark.parametrize("by_power", [True, False])
@pytest.mark.parametrize(("seed", "share"), [(16, 0.5), (14, 0.8), (39, 0.9)])
def test_a_recovery_that_is_cut_anywhere(seed: int, share: float, by_power: bool) -> None:
    crashed = crashed_machine(seed, share)
    expected, operations = undisturbed(deepcopy(crashed))
    assert operations > 5, "there is something to recover"
    for operation in range(1, operations + 1):
        fs = deepcopy(crashed)
        assert cut_short(fs, lambda fs=fs: recover(fs), operation, by_power=by_power)  # type: ignore[misc]
        assert recover(fs) == expected, f"seed {seed}, recovery cut at {operation}"
        check_promises(fs)


@pytest.mark.parametrize("seed", range(8))
def test_several_recoveries_that_are_cut_one_after_another(seed: int) -> None:
    chance = random.Random(seed)
    crashed = crashed_machine(seed, chance.uniform(0.3, 1))
    expected, operations = undisturbed(deepcopy(crashed))
    for _ in range(6):
        fs = deepcopy(crashed)
        for _ in range(chance.randint(2, 5)):
            cut = chance.randint(1, operations)
            cut_short(fs, lambda fs=fs: recover(fs), cut, by_power=chance.random() < 0.5)  # type: ignore[misc]
            fs.kill()
        assert recover(fs) == expected
        check_promises(fs)
