"""The longest turn of our node under the load of the comparison, on a node of its own that writes its turns down.

Beside Apache's broker, its Java client and the load tools, a turn's length on the wall is mostly the time that others
had the processors: on a busy machine one of 254 ms was 2 ms of work (`broker/timed_node.py`).
"""

from pathlib import Path

from benchmarks.broker.load import Load
from benchmarks.broker.systems import OURS, running
from benchmarks.coordinators.joining import JoinLoad
from benchmarks.coordinators.measures import (
    IN_TRANSACTIONS,
    JAVA,
    MEASURES,
    SETTINGS,
    CoordinatorBench,
    CoordinatorSizes,
)
from benchmarks.coordinators.transactions import Confluent
from benchmarks.harness import console


def longest_turn_ms(scratch: Path, sizes: CoordinatorSizes) -> float:
    """Return the longest turn of the node's own time. All measures run once, without the Java client, which is
    Apache's."""
    with running(OURS, scratch, SETTINGS, is_timed=True) as system:
        bench = CoordinatorBench(system, Load(scratch), JoinLoad(scratch), sizes)
        bench.prepare()
        bench.librdkafka = Confluent(system, IN_TRANSACTIONS)
        for name, measure in MEASURES.items():
            if name != JAVA:
                measure(bench)
    turn = system.longest_turn()
    console.print(f"[dim]longest turn: {turn.own_ms:.1f} ms, {turn.cpu_ms:.1f} CPU, {turn.wall_ms:.1f} on the wall[/]")
    return turn.own_ms
