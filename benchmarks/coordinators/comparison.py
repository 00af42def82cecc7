"""Our coordinators beside those of Apache Kafka 4.3.1: the same load, in one run, by turns, on loopback.

    python -m benchmarks coordinators            five rounds, about ten minutes
    python -m benchmarks coordinators --quick    two rounds, small loads: three minutes

Both brokers run at the same time and are loaded one after the other, as in `benchmarks broker`. Whole rounds that do
not count warm the JVM up. CPU seconds are those of the broker's process. Needs `java` and `javac`, `mvn` (once, for the
jars) and a C compiler.
"""

import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from tests.interop.apache.jars import ApacheMissing

from benchmarks.broker.bars import Bar, Samples, lines_of, show
from benchmarks.broker.comparison import TURN_MS_MAX, OwnFigures
from benchmarks.broker.load import Load
from benchmarks.broker.measures import CPU_REQUEST, RATE
from benchmarks.broker.plot import draw
from benchmarks.broker.systems import APACHE, OURS, running
from benchmarks.coordinators.joining import JoinLoad
from benchmarks.coordinators.loading import load_offsets
from benchmarks.coordinators.measures import (
    COMMITS,
    COMMITS_GROUPS,
    FULL,
    IDEMPOTENT,
    IDEMPOTENT_CPU,
    IN_TRANSACTIONS,
    JAVA,
    JOIN,
    LIBRDKAFKA,
    MEASURES,
    QUICK,
    SECONDS,
    SETTINGS,
    TRANSACTIONS_S,
    CoordinatorBench,
    CoordinatorSizes,
)
from benchmarks.coordinators.transactions import Confluent, java_client
from benchmarks.coordinators.turns import longest_turn_ms
from benchmarks.harness import asked_for, console

PLOT = Path("build/bench/coordinators.png")
LOAD_SECONDS_MAX = 5.0

BARS = (
    Bar(COMMITS, RATE, 1.5, True),
    Bar(COMMITS, CPU_REQUEST, 0.6, False),
    Bar(COMMITS_GROUPS, RATE, 1.5, True),
    Bar(COMMITS_GROUPS, CPU_REQUEST, 0.6, False),
    Bar(LIBRDKAFKA, TRANSACTIONS_S, 1.5, True),
    Bar(JAVA, TRANSACTIONS_S, 1.5, True),
    Bar(IDEMPOTENT, IDEMPOTENT_CPU, 1.2, False, is_own=True),
    Bar(JOIN, SECONDS, 0.7, False),
)


def started(stack: ExitStack, scratch: Path, sizes: CoordinatorSizes) -> dict[str, CoordinatorBench]:
    load, joining = Load(scratch), JoinLoad(scratch)
    benches = {}
    for name in (OURS, APACHE):
        try:
            system = stack.enter_context(running(name, scratch / name.split()[0], SETTINGS))
        except ApacheMissing as missing:
            console.print(f"[bold red]APACHE DID NOT RUN, THERE IS NOTHING TO COMPARE WITH: {missing}")
            continue
        benches[name] = CoordinatorBench(system, load, joining, sizes)
    return benches


def prepare(stack: ExitStack, benches: dict[str, CoordinatorBench], scratch: Path, sizes: CoordinatorSizes) -> None:
    for name, bench in benches.items():
        bench.prepare()
        bench.librdkafka = Confluent(bench.system, IN_TRANSACTIONS)
        bench.java = stack.enter_context(java_client(bench.system, IN_TRANSACTIONS, scratch))
        for _ in range(sizes.warm_ups if name == APACHE else 1):
            for measure in MEASURES.values():
                measure(bench)


def alternate(benches: dict[str, CoordinatorBench], rounds: int) -> Samples:
    samples: Samples = {name: {system: [] for system in benches} for name in MEASURES}
    for number in range(rounds):
        for name, measure in MEASURES.items():
            for system, bench in benches.items():
                samples[name][system].append(measure(bench))
        console.print(f"[dim]round {number + 1} of {rounds}[/]")
    return samples


def compare(sizes: CoordinatorSizes) -> int:
    own = OwnFigures()
    with tempfile.TemporaryDirectory(prefix="tidelog-bench-") as name:
        scratch = Path(name)
        loaded = load_offsets(scratch / "loading", sizes.groups)
        own.hold(f"start with {loaded.offsets:,} committed offsets", loaded.seconds, LOAD_SECONDS_MAX, "s")
        own.hold("longest turn of the loop meanwhile", loaded.longest_turn_ms, TURN_MS_MAX, "ms")
        with ExitStack() as stack:
            benches = started(stack, scratch, sizes)
            prepare(stack, benches, scratch, sizes)
            lines = lines_of(alternate(benches, sizes.rounds), BARS)
        own.hold("longest turn under the load", longest_turn_ms(scratch / "turns", sizes), TURN_MS_MAX, "ms")
    draw(lines, PLOT)
    met = [show(lines, sizes.rounds), own.show()]
    return met.count(False)


def main() -> int:
    """Run the comparison; return how many tables missed a bar."""
    return compare(QUICK if asked_for("--quick") else FULL)


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
