"""Contenders side by side. These machines are noisy, so the contenders take turns within each round and the figures
are medians of CPU time (`time.process_time_ns`): what else the machine does meanwhile hardly shows."""

import gc
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

console = Console()


def asked_for(flag: str) -> bool:
    """Return whether a flag was given. Flags are for whoever knows them: `--quick` makes some benchmarks smaller,
    `--full` some larger."""
    return flag in sys.argv


def verdict(met: bool) -> str:
    return "[green]met[/]" if met else "[red]MISSED[/]"


@dataclass(slots=True)
class HeldBar:
    what: str
    measured: str
    wanted: str
    met: bool


_bars: list[HeldBar] = []


def hold(what: str, measured: str, wanted: str, met: bool) -> bool:
    """Note how a figure stands to its bar, for the table at the end; return whether it is met."""
    _bars.append(HeldBar(what, measured, wanted, met))
    return met


def show_bars() -> None:
    """Print every bar of this run in one table."""
    table = Table(title="Bars", title_justify="left", title_style="bold")
    for column in ("", "measured", "bar", ""):
        table.add_column(column, justify="right" if column else "left")
    for bar in _bars:
        table.add_row(bar.what, bar.measured, bar.wanted, verdict(bar.met))
    console.print(table)


@dataclass(slots=True)
class Result:
    name: str
    cpu_ns: float  # median, per operation
    spread: float  # (slowest - fastest) / median


def measure(
    contenders: dict[str, Callable[[], object]],
    *,
    operations: int,
    rounds: int = 7,
    before: Callable[[], object] = lambda: None,
) -> list[Result]:
    """Measure the CPU of contenders by turns. Each does `operations` operations a call; the result is nanoseconds an
    operation. A call that is over in less than 20 ms is repeated within the round until it is not. `before` runs before
    each call, and is not counted."""
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    repeats = {name: _repeats(work, before) for name, work in contenders.items()}
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, work in contenders.items():
                elapsed = sum(_cpu_ns(work, before) for _ in range(repeats[name]))
                samples[name].append(elapsed / operations / repeats[name])
    finally:
        gc.enable()
    return [
        Result(name, median := statistics.median(times), (max(times) - min(times)) / median)
        for name, times in samples.items()
    ]


def _cpu_ns(work: Callable[[], object], before: Callable[[], object]) -> int:
    before()
    started = time.process_time_ns()
    work()
    return time.process_time_ns() - started


def _repeats(work: Callable[[], object], before: Callable[[], object]) -> int:
    """Return how often to call within a round. The first call is thrown away: it compiles and caches."""
    _cpu_ns(work, before)
    return max(1, 20_000_000 // max(1, _cpu_ns(work, before)))


def show(title: str, unit: str, results: list[Result], *, ours: str, bar: dict[str, float] | None = None) -> bool:
    """Print one table; return whether every bar is met. `bar` is by how much `ours` has to beat each peer."""
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
        said = ""
        if wanted is not None:
            ok = hold(f"{title}: beside {result.name}", f"{ratio:.2f}x", f">= {wanted:g}x", ratio >= wanted)
            met = met and ok
            said = f"{verdict(ok)} (>= {wanted:g}x)"
        name = f"[bold cyan]{result.name}" if result.name == ours else result.name
        table.add_row(name, f"{result.cpu_ns:,.1f}", f"{ratio:.2f}x", said, f"{result.spread:.0%}")
    console.print(table)
    return met


def show_cost(title: str, unit: str, results: list[Result], *, ours: Sequence[str], base: str, bar: float) -> bool:
    """Print a table of what each costs in terms of `base`; return whether ours cost no more than `bar` times that."""
    table = Table(title=title, title_justify="left", title_style="bold")
    for column in ("", f"CPU ns / {unit}", f"of {base}", "bar", "spread"):
        table.add_column(column, justify="right" if column else "left")
    floor = next(result.cpu_ns for result in results if result.name == base)
    met = True
    for result in results:
        ratio, said = result.cpu_ns / floor, ""
        if result.name in ours:
            ok = hold(f"{title}: {result.name}", f"{ratio:.2f}x", f"<= {bar:g}x of {base}", ratio <= bar)
            met = met and ok
            said = f"{verdict(ok)} (<= {bar:g}x)"
        name = f"[bold cyan]{result.name}" if result.name in ours else result.name
        table.add_row(name, f"{result.cpu_ns:,.0f}", f"{ratio:.2f}x", said, f"{result.spread:.0%}")
    console.print(table)
    return met
