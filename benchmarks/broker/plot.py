"""The figures as a picture: ours as a part of Apache's, each with the bar that it is held against."""

import importlib
from pathlib import Path
from typing import Any

from benchmarks.broker.bars import FigureLine
from benchmarks.harness import console

OURS_COLOUR, MISSED_COLOUR, BAR_COLOUR = "#2a9d8f", "#e76f51", "#264653"


def draw(lines: list[FigureLine], path: Path) -> None:
    """Draw the picture; print that matplotlib (the `bench` extra) is missing where it is."""
    shown = [line for line in lines if line.ratio is not None and line.bar is not None and not line.bar.is_own]
    try:
        pyplot: Any = importlib.import_module("matplotlib.pyplot")
    except ImportError:
        console.print("no plot: it needs matplotlib (pip install 'tidelog\\[bench]')")
        return
    figure, axes = pyplot.subplots(figsize=(10, 1 + 0.42 * len(shown)))
    for at, line in enumerate(reversed(shown)):
        _draw_line(axes, at, line)
    axes.axvline(1, color="grey", linewidth=1)
    axes.set_yticks(range(len(shown)), [f"{line.measure}: {line.figure}" for line in reversed(shown)])
    axes.set_xlabel("of Apache Kafka 4.3.1 in the same run (| : the bar)")
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    console.print(f"plot: {path}")


def _draw_line(axes: Any, at: int, line: FigureLine) -> None:
    ratio, bar = line.ratio, line.bar
    assert ratio is not None
    assert bar is not None
    error = ratio * line.spread / 2
    axes.barh(at, ratio, xerr=error, color=OURS_COLOUR if line.met else MISSED_COLOUR, height=0.6)
    axes.plot([bar.limit, bar.limit], [at - 0.4, at + 0.4], color=BAR_COLOUR, linewidth=2.5)
    axes.annotate(f"{ratio:.2f}x", (ratio + error, at), xytext=(4, -3), textcoords="offset points", fontsize=8)
