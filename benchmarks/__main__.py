"""`make bench`: every benchmark in turn; the exit code says whether every bar was met."""

import importlib
import platform
import sys

from benchmarks.harness import console
from tidelog.cli.main import version_line

BENCHMARKS = ("records", "codec")


def main(names: list[str]) -> int:
    console.print(f"[dim]{version_line()}, {platform.processor() or platform.machine()}, CPU time, medians[/]")
    missed = 0
    for name in names or BENCHMARKS:
        console.rule(f"benchmarks/{name}")
        missed += importlib.import_module(f"benchmarks.{name}").main()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
