"""Our source, sink, lake writer and pipeline beside Spark's own connector 4.2.0, default and tuned: the same jobs on
the same broker, in one run.

    python -m benchmarks spark             4 M records a topic, three rounds after three to warm up: about 40 minutes
    python -m benchmarks spark --quick     1 M records, one round after one: about 10 minutes, and figures to match
    python -m benchmarks.spark.comparison --only stream,sink [--quick]     these parts alone; `--only help` names them

The broker is ours, and its CPU is not counted; that of the JVM and of the Python workers is. Needs `java`, and `mvn`
once, for the connector's jars.
"""

import os
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.broker.systems import OURS as OUR_BROKER
from benchmarks.broker.systems import running
from benchmarks.harness import asked_for, console, show_bars
from benchmarks.spark import batch, lake, pipeline, plans, sink, sink_age, streams
from benchmarks.spark.bench import FULL, QUICK, SparkBench, SparkSizes
from benchmarks.spark.plot import draw

PLOT = Path("build/bench/spark.png")
TERMINATED = 143
PARTS: dict[str, Callable[[SparkBench], None]] = {
    "batch1": batch.one_core,
    "columns": batch.few_columns,
    "stream": streams.large,
    "small": streams.small,
    "lake": lake.to_parquet,
    "batch2": batch.two_cores,
    "sink": sink.write,
    "age": sink_age.age,
    "plan": plans.plan,
    "pipeline": pipeline.run,
}


def chosen() -> list[str]:
    """Return all parts, or those that `--only` names."""
    if not asked_for("--only"):
        return list(PARTS)
    names = sys.argv[sys.argv.index("--only") + 1].split(",")
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        raise SystemExit(f"no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    return names


def compare(sizes: SparkSizes, parts: list[str]) -> bool:
    with tempfile.TemporaryDirectory(prefix="tidelog-bench-") as name:
        scratch = Path(name)
        with running(OUR_BROKER, scratch / "broker") as broker:
            bench = SparkBench(broker, scratch, sizes)
            for part in parts:
                console.print(f"[dim]{part}: load average {os.getloadavg()[0]:.1f} before it[/]")
                PARTS[part](bench)
            bench.end_session()
    draw(bench.scores.lines, PLOT)
    return bench.scores.are_met


def main() -> int:
    """Run the comparison; return 1 where a bar is missed."""
    return 0 if compare(QUICK if asked_for("--quick") else FULL, chosen()) else 1


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))  # by way of every `with`: nothing is left running
    missed = main()
    show_bars()
    sys.exit(missed)
