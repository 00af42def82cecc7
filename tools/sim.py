"""`make sim`: the crash tests of the log over many seeds, each cut at some of its operations, by power and by death.

`python -m tools.sim FIRST COUNT [CUTS]`. What fails is printed as the call that shows it again. Then the same for whole
nodes with their clients, and for nodes whose coordinators are busy: as many seeds, each with all faults and cut at a
few of its operations; as many of nodes whose batches are prepared beside the loop; and a tenth as many rebalance storms
of each kind. Last the Hypothesis twins of the log, for ten times as many histories as in `make test`, and other ones
each time; a failure is made small.
"""

import argparse
import logging
import random
import sys
from collections.abc import Callable
from functools import partial

from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from rich.console import Console
from rich.progress import track
from tests.property.storage.test_log_twin import SETTINGS, CompactedLogAndList, LogAndList
from tests.sim import test_coordinator_crashes as coordinators
from tests.sim import test_node_crashes as nodes
from tests.sim import test_preparation_crashes as preparations
from tests.sim import test_rebalance_storms as storms
from tests.sim.test_log_crashes import NEVER, Workload, machine, run_one

NODE_OPERATIONS = 400  # about as many as a short life of a node makes
# Whether everything is synced, and whether the power may fail.
COORDINATOR_PLANS = ((True, True), (False, False), (False, True))


def operations(seed: int) -> int:
    """How many the whole workload makes."""
    fs, clock = machine(seed, NEVER)
    Workload(seed, fs, clock).run()
    return fs.trace.count


def failures_of(seed: int, cuts: int) -> list[str]:
    total = operations(seed)
    chosen = sorted(random.Random(seed).sample(range(1, total + 1), min(cuts, total)))
    found = []
    for crash_at in chosen:
        for ends_by_power in (True, False):
            try:
                run_one(seed, crash_at, ends_by_power)
            except Exception as error:  # noqa: BLE001 - whatever it is, the hunt goes on and the seed is kept
                found.append(f"run_one({seed}, {crash_at}, {ends_by_power})  # {type(error).__name__}: {error}")
    return found


def node_failures_of(seed: int, cuts: int) -> list[str]:
    found = [failure_of(f"nodes.live({seed}, {each}, 3)", partial(nodes.live, seed, each, 3)) for each in (False, True)]
    for crash_at in sorted(random.Random(seed).sample(range(1, NODE_OPERATIONS), cuts // 5)):
        for by_power in (True, False):
            call = f"nodes.run_one({seed}, {crash_at}, {by_power})"
            found.append(failure_of(call, partial(nodes.run_one, seed, crash_at, by_power)))
    return [each for each in found if each is not None]


def coordinator_failures_of(seed: int, cuts: int) -> list[str]:
    found = [
        failure_of(f"coordinators.live({seed}, {syncs}, {loses}, 2)", partial(coordinators.live, seed, syncs, loses, 2))
        for syncs, loses in COORDINATOR_PLANS
    ]
    for crash_at in sorted(random.Random(seed).sample(range(1, NODE_OPERATIONS), cuts // 5)):
        for by_power in (True, False):
            call = f"coordinators.run_one({seed}, {crash_at}, {by_power})"
            found.append(failure_of(call, partial(coordinators.run_one, seed, crash_at, by_power)))
    return [each for each in found if each is not None]


def preparation_failures_of(seed: int, _cuts: int) -> list[str]:
    calls = [
        (f"preparations.live({seed}, {each}, 2)", partial(preparations.live, seed, each, 2)) for each in (False, True)
    ]
    return [found for call, attempt in calls if (found := failure_of(call, attempt)) is not None]


def storm_failures_of(seed: int, _cuts: int) -> list[str]:
    calls = [(f"storms.storm({seed}, {kind!r})", partial(storms.storm, seed, kind)) for kind in storms.KINDS]
    return [found for call, attempt in calls if (found := failure_of(call, attempt)) is not None]


def failure_of(call: str, attempt: Callable[[], object]) -> str | None:
    try:
        attempt()
    except Exception as error:  # noqa: BLE001 - whatever it is, the hunt goes on and the seed is kept
        return f"{call}  # {type(error).__name__}: {error}"
    return None


def twin_fails(console: Console, machine_class: type[LogAndList]) -> bool:
    deep = settings(
        SETTINGS,
        max_examples=10 * SETTINGS.max_examples,
        derandomize=False,
        print_blob=True,
        phases=(Phase.explicit, Phase.generate, Phase.shrink),
    )
    try:
        run_state_machine_as_test(machine_class, settings=deep)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is shown and counts
        console.print_exception(max_frames=4)
        console.print(f"[red]{machine_class.__name__}: {type(error).__name__}")
        return True
    console.print(f"{machine_class.__name__}: {deep.max_examples} histories")
    return False


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.sim", description="Crash logs and nodes, seed by seed.")
    parser.add_argument("first", type=int, nargs="?", default=1000, help="the first seed (%(default)s)")
    parser.add_argument("count", type=int, nargs="?", default=100, help="how many (%(default)s)")
    parser.add_argument("cuts", type=int, nargs="?", default=20, help="operations to crash at, for each (%(default)s)")
    options = parser.parse_args(arguments)
    first, count, cuts = options.first, options.count, options.cuts
    console = Console()
    failures: list[str] = []
    for seed in track(range(first, first + count), "seeds", console=console):
        for failure in failures_of(seed, cuts):
            console.print(failure, style="red", markup=False, soft_wrap=True)
            failures.append(failure)
    console.print(f"{count} seeds from {first}, {cuts} cuts each, by power and by death: {len(failures)} failures")
    logging.getLogger("tidelog").setLevel(logging.CRITICAL)  # disks fail by the dozen
    worlds: list[tuple[str, int, Callable[[int, int], list[str]]]] = [
        ("nodes", count, node_failures_of),
        ("coordinators", count, coordinator_failures_of),
        ("preparations", count, preparation_failures_of),
        ("storms", max(1, count // 10), storm_failures_of),
    ]
    for name, seeds, failures_in in worlds:
        for seed in track(range(first, first + seeds), name, console=console):
            for failure in failures_in(seed, cuts):
                console.print(failure, style="red", markup=False, soft_wrap=True)
                failures.append(failure)
        console.print(f"{seeds} {name} from {first}: {len(failures)} failures in all")
    twins = [twin_fails(console, each) for each in (LogAndList, CompactedLogAndList)]
    return 1 if failures or any(twins) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
