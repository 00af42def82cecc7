"""`make sim`: the crash tests of the log over many seeds, each cut at some of its operations, by power and by death.

`python -m tools.sim FIRST COUNT [CUTS]`. What fails is printed as the call that shows it again.
"""

import random
import sys

from rich.console import Console
from rich.progress import track
from tests.sim.test_log_crashes import NEVER, Workload, machine, run_one


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


def main(arguments: list[str]) -> int:
    first, count, cuts = [*map(int, arguments), *(1000, 100, 20)[len(arguments) :]]
    console = Console()
    failures: list[str] = []
    for seed in track(range(first, first + count), "seeds", console=console):
        for failure in failures_of(seed, cuts):
            console.print(f"[red]{failure}", soft_wrap=True)
            failures.append(failure)
    console.print(f"{count} seeds from {first}, {cuts} cuts each, by power and by death: {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
