"""What the figures are held against, and the tables and the plot that say how they stand."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table

from benchmarks.broker.measures import (
    BESIDE,
    BESIDE_WAITING,
    BULK_LZ4,
    BULK_PLAIN,
    BULK_ZSTD,
    COLD_READER,
    CONSUME_1,
    CONSUME_10,
    CPU_GB,
    CPU_REQUEST,
    MB_S,
    P50,
    P99,
    RATE,
    SMALL_1,
    SMALL_32,
    WAITING_50,
    WAITING_LARGE,
    Figures,
)
from benchmarks.broker.systems import APACHE, OURS
from benchmarks.harness import console, hold, verdict

Samples = dict[str, dict[str, list[Figures]]]  # by measure, by system: one a round


@dataclass(slots=True)
class Bar:
    """A limit for a figure, as a ratio to Apache's figure in the same run; where `is_own`, for the figure itself."""

    measure: str
    figure: str
    limit: float
    at_least: bool
    is_own: bool = False

    def holds(self, value: float) -> bool:
        return value >= self.limit if self.at_least else value <= self.limit

    @property
    def text(self) -> str:
        sign = ">=" if self.at_least else "<="
        return f"{sign} {self.limit:g}x" if not self.is_own else f"{sign} {self.limit:g}"


def _pair(measure: str, faster: float, cheaper: float) -> list[Bar]:
    return [Bar(measure, MB_S, faster, True), Bar(measure, CPU_GB, cheaper, False)]


BARS: Sequence[Bar] = (
    Bar(SMALL_32, RATE, 1.6, True),
    Bar(SMALL_32, CPU_REQUEST, 0.45, False),
    Bar(SMALL_32, P99, 0.5, False),
    Bar(SMALL_1, P50, 0.8, False),
    *_pair(BULK_PLAIN, 1.3, 0.85),
    *_pair(BULK_LZ4, 1.0, 1.0),
    *_pair(BULK_ZSTD, 1.0, 1.0),
    *_pair(CONSUME_1, 1.5, 0.5),
    *_pair(CONSUME_10, 1.5, 0.5),
    Bar(COLD_READER, BESIDE, 2.0, False, is_own=True),
    Bar(WAITING_50, BESIDE_WAITING, 1.2, False, is_own=True),
    Bar(WAITING_LARGE, BESIDE_WAITING, 1.2, False, is_own=True),
)


@dataclass(slots=True)
class FigureLine:
    """One figure of both systems."""

    measure: str
    figure: str
    ours: float
    apache: float | None
    spread: float  # of ours: (largest - smallest) / median
    bar: Bar | None

    @property
    def ratio(self) -> float | None:
        return None if not self.apache else self.ours / self.apache

    @property
    def met(self) -> bool | None:
        if self.bar is None:
            return None
        held = self.ours if self.bar.is_own else self.ratio
        return held is not None and self.bar.holds(held)


def lines_of(samples: Samples, bars: Sequence[Bar] = BARS) -> list[FigureLine]:
    lines = []
    for measure, by_system in samples.items():
        for figure in by_system[OURS][0]:
            ours = [one[figure] for one in by_system[OURS]]
            apache_samples = [one[figure] for one in by_system.get(APACHE, [])]
            apache = statistics.median(apache_samples) if apache_samples else None
            median = statistics.median(ours)
            bar = next((each for each in bars if (each.measure, each.figure) == (measure, figure)), None)
            spread = (max(ours) - min(ours)) / median if median else 0.0
            lines.append(FigureLine(measure, figure, median, apache, spread, bar))
    return lines


def show(lines: list[FigureLine], rounds: int) -> bool:
    """Print the figures; return whether every bar is met."""
    table = Table(title=f"{OURS} beside {APACHE}, medians of {rounds}", title_justify="left", title_style="bold")
    for column in ("", "figure", OURS, APACHE, "ratio", "bar", "spread"):
        table.add_column(column, justify="left" if column in ("", "figure") else "right")
    before = ""
    for line in lines:
        apache = "" if line.apache is None else f"{line.apache:,.4g}"
        ratio = "" if line.ratio is None else f"{line.ratio:.2f}x"
        said = "" if line.bar is None else f"{verdict(bool(line.met))} ({line.bar.text})"
        title = line.measure if line.measure != before else ""
        table.add_row(title, line.figure, f"{line.ours:,.4g}", apache, ratio, said, f"{line.spread:.0%}")
        before = line.measure
    console.print(table)
    noted = [_noted(line) for line in lines]
    return all(noted)


def _noted(line: FigureLine) -> bool:
    if line.bar is None:
        return True
    measured = f"{line.ours:.2f}" if line.bar.is_own else f"{line.ratio or 0:.2f}x"
    return hold(f"{line.measure}: {line.figure}", measured, line.bar.text, bool(line.met))
