"""`make bench`: every benchmark in turn, or those that are named. The table at the end has every bar of the run, met or
MISSED; with `--strict` one that is missed is a failure too. `--quick` and `--full` change sizes (see each benchmark).
Apache's cleaner runs where there is a JDK (its jars are fetched by `mvn` once); without, that is said in capitals."""

import importlib
import platform
import sys

from benchmarks.harness import console, show_bars
from tidelog.cli.main import version_line

BENCHMARKS = (
    "records",
    "codec",
    "storage_append",
    "storage_segment",
    "random_reads",
    "compaction",
    "restart",
    "broker",
    "coordinators",
    "spark",
)
FLAGS = ("--strict", "--quick", "--full")


def main(arguments: list[str]) -> int:
    names = [each for each in arguments if each not in FLAGS] or list(BENCHMARKS)
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        console.print(f"no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}, and {', '.join(FLAGS)}")
        return 2
    console.print(f"[dim]{version_line()}, {platform.processor() or platform.machine()}, CPU time, medians[/]")
    missed = 0
    for name in names:
        console.rule(f"benchmarks/{name}")
        missed += importlib.import_module(f"benchmarks.{name}").main()
    console.rule()
    show_bars()
    return 1 if missed and "--strict" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
