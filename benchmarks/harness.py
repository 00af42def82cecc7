"""Contenders side by side. These machines are noisy, so the contenders take turns within each round and the figures
are medians of CPU time (`time.process_time_ns`): what else the machine does meanwhile hardly shows."""

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

console = Console()


@dataclass(slots=True)
class Result:
    name: str
    cpu_ns: float  # median, per operation
    spread: float  # (slowest - fastest) / median


def measure(contenders: dict[str, Callable[[], object]], *, operations: int, rounds: int = 7) -> list[Result]:
    """Each contender does `operations` operations a call; the result is nanoseconds of CPU an operation. A call that
    is over in less than 20 ms is repeated within the round until it is not."""
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    repeats = {name: _repeats(work) for name, work in contenders.items()}
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, work in contenders.items():
                started = time.process_time_ns()
                for _ in range(repeats[name]):
                    work()
                elapsed = time.process_time_ns() - started
                samples[name].append(elapsed / operations / repeats[name])
    finally:
        gc.enable()
    return [
        Result(name, median := statistics.median(times), (max(times) - min(times)) / median)
        for name, times in samples.items()
    ]


def _repeats(work: Callable[[], object]) -> int:
    """How often to call within a round. The first call is thrown away: it compiles and caches."""
    work()
    started = time.perf_counter_ns()
    work()
    return max(1, 20_000_000 // max(1, time.perf_counter_ns() - started))


def show(title: str, unit: str, results: list[Result], *, ours: str, bar: dict[str, float] | None = None) -> bool:
    """Print one table. `bar` is by how much `ours` has to beat each peer; True when every bar is met."""
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("")
    table.add_column(f"CPU ns / {unit}", justify="right")
    table.add_column("times ours", justify="right")
    table.add_column("bar", justify="right")
    table.add_column("spread", justify="right", style="dim")
    base = next(result.cpu_ns for result in results if result.name == ours)
    met = True
    for result in results:
        ratio = result.cpu_ns / base
        wanted = (bar or {}).get(result.name)
        verdict = ""
        if wanted is not None:
            ok = ratio >= wanted
            met = met and ok
            verdict = f"[{'green' if ok else 'red'}]{'ok' if ok else 'MISSED'} ({wanted:g}x)"
        name = f"[bold cyan]{result.name}" if result.name == ours else result.name
        table.add_row(name, f"{result.cpu_ns:,.1f}", f"{ratio:.2f}x", verdict, f"{result.spread:.0%}")
    console.print(table)
    return met
