"""Our node beside Apache Kafka 4.3.1: the same load, in one run, by turns, on loopback.

    python -m benchmarks broker            five rounds, about a quarter of an hour
    python -m benchmarks broker --quick    two rounds, small loads: two minutes

Both brokers run at the same time and are loaded one after the other, so that whatever else the machine does meets both
alike; a broker that is not loaded costs next to nothing. The JVM is warmed up by three whole rounds that do not count.
CPU seconds are those of the broker's process. The load tool (`load.c`) sends frames that were made beforehand: it needs
a fraction of what either broker does. Needs `java`, `mvn` (once, for the jars) and a C compiler.
"""

import statistics
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from rich.table import Table
from tests.interop.apache.jars import ApacheMissing

from benchmarks.broker.alone import IDLE_CPU, KB_EACH, create_partitions, idle_connections, sizes_of_idle, start_seconds
from benchmarks.broker.bars import Samples, lines_of, show
from benchmarks.broker.load import Load
from benchmarks.broker.measures import FULL, MEASURES, QUICK, BrokerBench, BrokerSizes
from benchmarks.broker.plot import draw
from benchmarks.broker.systems import APACHE, OURS, System, running
from benchmarks.harness import asked_for, console, hold, verdict

PLOT = Path("build/bench/broker.png")
START_SECONDS_MAX, COLD_START_SECONDS_MAX = 0.3, 0.4
IDLE_MB_MAX, LOADED_MB_MAX = 45.0, 120.0
CONNECTION_KB_MAX, IDLE_CPU_PERCENT_MAX = 60.0, 1.0
TURN_MS_MAX = 50.0


class OwnFigures:
    """The figures that are asked of our node alone."""

    def __init__(self) -> None:
        self._rows: list[tuple[str, str, str, bool]] = []

    def hold(self, what: str, value: float, limit: float, unit: str) -> None:
        measured, wanted = f"{value:.4g} {unit}", f"<= {limit:g} {unit}"
        self._rows.append((what, measured, wanted, hold(what, measured, wanted, value <= limit)))

    def show(self) -> bool:
        table = Table(title=f"{OURS} alone", title_justify="left", title_style="bold")
        for column in ("", "measured", "bar", " "):
            table.add_column(column, justify="right" if column.strip() else "left")
        for what, measured, wanted, met in self._rows:
            table.add_row(what, measured, wanted, verdict(met))
        console.print(table)
        return all(met for *_rest, met in self._rows)


def started(stack: ExitStack, scratch: Path, load: Load, sizes: BrokerSizes) -> dict[str, BrokerBench]:
    benches = {}
    for name in (OURS, APACHE):
        try:
            system = stack.enter_context(running(name, scratch / name.split()[0]))
        except ApacheMissing as missing:
            console.print(f"[bold red]APACHE DID NOT RUN, THERE IS NOTHING TO COMPARE WITH: {missing}")
            continue
        benches[name] = BrokerBench(system, load, sizes)
    return benches


def prepare(benches: dict[str, BrokerBench], sizes: BrokerSizes) -> None:
    for name, bench in benches.items():
        bench.create_topics()
        bench.fill()
        for _ in range(sizes.warm_ups if name == APACHE else 1):
            for measure in MEASURES.values():
                measure(bench)


def alternate(benches: dict[str, BrokerBench], rounds: int) -> Samples:
    samples: Samples = {name: {system: [] for system in benches} for name in MEASURES}
    for number in range(rounds):
        for name, measure in MEASURES.items():
            for system, bench in benches.items():
                samples[name][system].append(measure(bench))
        console.print(f"[dim]round {number + 1} of {rounds}[/]")
    return samples


def hold_own(own: OwnFigures, system: System, sizes: BrokerSizes) -> None:
    """Measure our node alone, after the load and while it still runs."""
    own.hold("resident memory after the load", system.resident_bytes() / 1e6, LOADED_MB_MAX, "MB")
    count = sizes_of_idle(sizes)
    idle = idle_connections(system, count)
    own.hold(f"{count:,} idle connections, each", idle[KB_EACH], CONNECTION_KB_MAX, "KB")
    own.hold(f"{count:,} idle connections, CPU", idle[IDLE_CPU], IDLE_CPU_PERCENT_MAX, "%")
    seconds = create_partitions(system, sizes.partitions)
    console.print(f"{sizes.partitions:,} partitions created in {seconds:.1f} s")


def compare(sizes: BrokerSizes) -> int:
    own = OwnFigures()
    with tempfile.TemporaryDirectory(prefix="tidelog-bench-") as name:
        scratch = Path(name)
        load = Load(scratch)
        for what, is_cold, limit in (
            ("start to the first metadata answer", False, START_SECONDS_MAX),
            ("start to the first metadata answer, cold files", True, COLD_START_SECONDS_MAX),
        ):
            seconds = start_seconds(OURS, scratch / f"starts-{is_cold}", sizes.starts, is_cold=is_cold)
            own.hold(what, statistics.median(seconds), limit, "s")
        with ExitStack() as stack:
            benches = started(stack, scratch, load, sizes)
            ours = benches[OURS].system
            own.hold("resident memory, idle", ours.resident_bytes() / 1e6, IDLE_MB_MAX, "MB")
            if APACHE in benches:
                apache = benches[APACHE].system
                console.print(f"Apache: answers after {apache.start_seconds:.1f} s, {_megabytes(apache)} idle")
            prepare(benches, sizes)
            lines = lines_of(alternate(benches, sizes.rounds))
            if APACHE in benches:
                console.print(f"Apache: {_megabytes(benches[APACHE].system)} after the load")
            hold_own(own, ours, sizes)
        own.hold("longest turn of the loop", ours.longest_turn_ms() or float("inf"), TURN_MS_MAX, "ms")
    draw(lines, PLOT)
    met = [show(lines, sizes.rounds), own.show()]
    return met.count(False)


def _megabytes(system: System) -> str:
    return f"{system.resident_bytes() / 1e6:,.0f} MB"


def main() -> int:
    """Run the comparison; return how many tables missed a bar."""
    return compare(QUICK if asked_for("--quick") else FULL)


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
