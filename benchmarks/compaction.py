"""The cleaner beside Apache's, on the same log files, by turns: ten million records of 100 bytes, a million keys.

    python -m benchmarks compaction            a gigabyte of log, plain, and a tenth of that in lz4
    python -m benchmarks compaction --quick    a tenth of it

CPU is that of the whole process while it cleans, for both, after passes over a smaller log that warm up the JVM (they
are not counted, and neither is its start). Of Apache the CPU of the cleaning thread alone is shown too: there the
garbage collector and the JIT compiler are left out. Memory is the peak of each process; ours is also held against the
buffer that the settings grant it, by how much the process grew over what it was before it was given a log.
"""

import shutil
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from rich.table import Table
from tests.interop.apache.jars import ApacheMissing

from benchmarks.cleaners import (
    DEDUPE_BUFFER_BYTES,
    IO_BUFFER_BYTES,
    Pass,
    apache_command,
    ask,
    our_command,
    running,
)
from benchmarks.compaction_log import WrittenLog, linked_copy, write_log
from benchmarks.harness import asked_for, console, hold, verdict
from tidelog.records.compression import CompressionType

ROWS = 10_000_000
QUICK_ROWS = 1_000_000
WARM_UP_ROWS = 400_000
WARM_UPS = 4
ROUNDS = 3
OURS, APACHE = "tidelog", "Apache 4.3.1"
MAX_RATIO = 1.0
# The table and the read buffer are what the settings grant; the interpreter's own arena takes a little beside them.
MAX_GROWTH_BYTES = DEDUPE_BUFFER_BYTES + 2 * IO_BUFFER_BYTES + (2 << 20)
Cleaners = dict[str, "subprocess.Popen[str]"]


def clean_once(cleaner: "subprocess.Popen[str]", log: WrittenLog) -> Pass:
    copy = log.directory.with_name("table-0")
    linked_copy(log, copy)
    try:
        return ask(cleaner, copy, log.end_offset)
    finally:
        shutil.rmtree(copy)


def passes(cleaners: Cleaners, log: WrittenLog, rounds: int) -> dict[str, list[Pass]]:
    taken: dict[str, list[Pass]] = {name: [] for name in cleaners}
    for _ in range(rounds):
        for name, cleaner in cleaners.items():
            taken[name].append(clean_once(cleaner, log))
    return taken


def started(stack: ExitStack, scratch: Path) -> Cleaners:
    cleaners = {OURS: stack.enter_context(running(our_command()))}
    try:
        cleaners[APACHE] = stack.enter_context(running(apache_command(scratch)))
    except ApacheMissing as missing:
        console.print(f"[bold red]APACHE'S CLEANER DID NOT RUN, THERE IS NOTHING TO COMPARE WITH: {missing}")
    return cleaners


def median_seconds(taken: list[Pass]) -> tuple[float, float, float]:
    """Return the median CPU time of the process, CPU time of the thread, and wall time."""
    columns = ([one.cpu_ns for one in taken], [one.thread_cpu_ns for one in taken], [one.wall_ns for one in taken])
    cpu, thread, wall = (statistics.median(column) / 1e9 for column in columns)
    return cpu, thread, wall


def report(title: str, log: WrittenLog, taken: dict[str, list[Pass]]) -> bool:
    table = Table(title=title, title_justify="left", title_style="bold")
    for column in ("", "CPU s", "ns a record", "thread s", "wall s", "peak memory", "of Apache's CPU"):
        table.add_column(column, justify="left" if not column else "right")
    base = median_seconds(taken[APACHE])[0] if APACHE in taken else None
    for name, each in taken.items():
        cpu, thread, wall = median_seconds(each)
        figures = [f"{cpu:.2f}", f"{cpu * 1e9 / log.end_offset:,.0f}", f"{thread:.2f}", f"{wall:.2f}"]
        ratio = f"{cpu / base:.2f}x" if base else ""
        table.add_row(name, *figures, f"{each[-1].peak_bytes / 2**20:,.0f} MiB", ratio)
    console.print(table)
    check_outcomes(taken)
    met = report_memory(title, taken[OURS])
    if base is None:
        return hold(f"{title}: CPU", "Apache did not run", f"<= {MAX_RATIO:g}x of Apache", False)
    measured = median_seconds(taken[OURS])[0] / base
    cpu_met = hold(f"{title}: CPU", f"{measured:.2f}x", f"<= {MAX_RATIO:g}x of Apache", measured <= MAX_RATIO)
    console.print(f"CPU of Apache's cleaner: {verdict(cpu_met)} (bar {MAX_RATIO:g}x)")
    return met and cpu_met


def check_outcomes(taken: dict[str, list[Pass]]) -> None:
    """Check that the cleaners keep the same: one that keeps something else has done something else."""
    outcomes = {(one.records_read, one.records_kept) for each in taken.values() for one in each}
    assert len(outcomes) == 1, f"records read and kept differ: {outcomes}"
    ((read, kept),) = outcomes
    console.print(f"kept {kept:,} of {read:,} records, both the same")


def report_memory(title: str, ours: list[Pass]) -> bool:
    growth, table = max(one.growth_bytes for one in ours), ours[-1].table_bytes
    ok = growth <= MAX_GROWTH_BYTES and table <= DEDUPE_BUFFER_BYTES
    met = hold(f"{title}: memory", f"{growth / 2**20:.0f} MiB", f"<= {MAX_GROWTH_BYTES / 2**20:.0f} MiB", ok)
    figures = f"table {table / 2**20:.1f} MiB, process grew by {growth / 2**20:.1f} MiB"
    console.print(f"memory: {figures}: {verdict(met)} (bar {MAX_GROWTH_BYTES / 2**20:.0f} MiB)")
    return met


def compare(rows: int, codec: CompressionType) -> bool:
    with tempfile.TemporaryDirectory(prefix="tidelog-bench-") as name, ExitStack() as stack:
        scratch = Path(name)
        warm_up = write_log(scratch / "warm-up-0", WARM_UP_ROWS, codec)
        log = write_log(scratch / "source-0", rows, codec)
        cleaners = started(stack, scratch)
        passes({name: cleaner for name, cleaner in cleaners.items() if name == APACHE}, warm_up, WARM_UPS)
        taken = passes(cleaners, log, ROUNDS)
        kind = f"{codec.name.lower()}, {log.size_bytes / 1e6:,.0f} MB"
        title = f"Compaction, {rows:,} records of 100 bytes, {log.keys:,} keys, {kind}"
        return report(title, log, taken)


def main() -> int:
    """Run the comparison; return how many tables missed a bar."""
    rows = QUICK_ROWS if asked_for("--quick") else ROWS
    met = [compare(rows, CompressionType.NONE), compare(rows // 10, CompressionType.LZ4)]
    return met.count(False)


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
