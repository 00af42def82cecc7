"""How the medians stand to the bars: a table a job, and a line for the plot wherever a figure is held against a bar."""

from collections.abc import Mapping
from dataclasses import dataclass

from rich.table import Table

from benchmarks.harness import console, hold, verdict
from benchmarks.spark.contenders import DEFAULT, OURS, TUNED
from benchmarks.spark.samples import Figures


@dataclass(frozen=True, slots=True)
class Bars:
    """The multiples of a contender's speed that ours has to reach: wall and CPU, against the default one and the tuned
    one."""

    wall: float | None = None
    cpu: float | None = None
    wall_tuned: float | None = None
    cpu_tuned: float | None = None

    def of(self, contender: str) -> tuple[float | None, float | None]:
        return {DEFAULT: (self.wall, self.cpu), TUNED: (self.wall_tuned, self.cpu_tuned)}.get(contender, (None, None))


@dataclass(frozen=True, slots=True)
class ScoreLine:
    """A figure as a part of its bar: 1 and more is met, whichever way the bar goes."""

    what: str
    measured: str
    of_bar: float

    @property
    def is_met(self) -> bool:
        return self.of_bar >= 1


class Scores:
    def __init__(self) -> None:
        self.lines: list[ScoreLine] = []

    @property
    def are_met(self) -> bool:
        return all(line.is_met for line in self.lines)

    def at_least(self, what: str, value: float, limit: float, unit: str = "x") -> str:
        """Hold a figure against its least value; return the verdict, for a table."""
        return self._held(what, f"{value:,.2f}{unit}", f">= {limit:,g}{unit}", value / limit)

    def at_most(self, what: str, value: float, limit: float, unit: str) -> str:
        return self._held(what, f"{value:,.2f}{unit}", f"<= {limit:,g}{unit}", limit / max(value, 1e-9))

    def _held(self, what: str, measured: str, wanted: str, of_bar: float) -> str:
        line = ScoreLine(what, measured, of_bar)
        self.lines.append(line)
        hold(what, measured, wanted, line.is_met)
        return f"{verdict(line.is_met)} ({wanted})"

    def compare(
        self, title: str, rows: int, figures: Mapping[str, Figures], bars: Bars | Mapping[str, float], *, to: str = OURS
    ) -> None:
        """Print a row for each contender, each set against `to`. `bars` that are a mapping are of the wall of those
        contenders against `to`, the other way round: how many times as fast they have to be."""
        table = Table(title=title, title_justify="left", title_style="bold")
        for column in ("", "s", "M rows/s", "M rows/CPU-s", *_ratio_titles(to), ""):
            table.add_column(column, justify="right" if column else "left")
        base = figures[to]
        for name, found in figures.items():
            wall, cpu = found.median_seconds / base.median_seconds, found.median_cpu / base.median_cpu
            if isinstance(bars, Bars):
                said = self._against(title, name, wall, cpu, bars)
            else:
                wall, cpu = 1 / wall, 1 / cpu
                said = self.at_least(f"{title}: {name}, wall", wall, bars[name]) if name in bars else ""
            speeds = rows / found.median_seconds / 1e6, rows / found.median_cpu / 1e6
            shown = f"[bold cyan]{name}" if name.startswith(OURS) else name
            cells = (
                f"{found.median_seconds:.2f}",
                f"{speeds[0]:.2f}",
                f"{speeds[1]:.2f}",
                f"{wall:.2f}x",
                f"{cpu:.2f}x",
            )
            table.add_row(shown, *cells, said)
        console.print(table)

    def _against(self, title: str, name: str, wall: float, cpu: float, bars: Bars) -> str:
        held = zip(("wall", "rows/CPU-s"), (wall, cpu), bars.of(name), strict=True)
        said = [self.at_least(f"{title}: {what} against {name}", of, bar) for what, of, bar in held if bar is not None]
        return " ".join(said)


def _ratio_titles(to: str) -> tuple[str, str]:
    return (f"{to}: wall", f"{to}: rows/CPU-s") if to == OURS else (f"wall, of {to}", f"rows/CPU-s, of {to}")
