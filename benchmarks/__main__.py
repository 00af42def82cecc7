"""`make bench`: every benchmark in turn. A bar that was missed is said in its table and at the end; with `--strict` it
is a failure too."""

import importlib
import platform
import sys

from benchmarks.harness import console
from tidelog.cli.main import version_line

BENCHMARKS = ("records", "codec", "storage_append", "storage_segment", "compaction", "restart")


def main(names: list[str]) -> int:
    console.print(f"[dim]{version_line()}, {platform.processor() or platform.machine()}, CPU time, medians[/]")
    strict = "--strict" in names
    missed = 0
    for name in [name for name in names if name != "--strict"] or BENCHMARKS:
        console.rule(f"benchmarks/{name}")
        missed += importlib.import_module(f"benchmarks.{name}").main()
    if missed:
        console.print(f"[red]{missed} tables with a bar missed")
    return 1 if missed and strict else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
