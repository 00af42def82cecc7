"""Every figure as a part of its bar, in one picture."""

import importlib
from pathlib import Path
from typing import Any

from benchmarks.harness import console
from benchmarks.spark.scores import ScoreLine

MET_COLOUR, MISSED_COLOUR = "#2a9d8f", "#e76f51"
OF_BAR_MAX = 3.0  # longer ones are cut, their figure is beside them


def draw(lines: list[ScoreLine], path: Path) -> None:
    """Draw the picture; print that matplotlib (the `bench` extra) is missing where it is."""
    try:
        pyplot: Any = importlib.import_module("matplotlib.pyplot")
    except ImportError:
        console.print("no plot: it needs matplotlib (pip install 'tidelog\\[bench]')")
        return
    figure, axes = pyplot.subplots(figsize=(12, 1 + 0.3 * len(lines)))
    for at, line in enumerate(reversed(lines)):
        length = min(line.of_bar, OF_BAR_MAX)
        axes.barh(at, length, color=MET_COLOUR if line.is_met else MISSED_COLOUR, height=0.6)
        axes.annotate(line.measured, (length, at), xytext=(4, -3), textcoords="offset points", fontsize=8)
    axes.axvline(1, color="grey", linewidth=1)
    axes.set_yticks(range(len(lines)), [line.what for line in reversed(lines)], fontsize=8)
    axes.set_xlim(0, OF_BAR_MAX * 1.1)
    axes.set_xlabel("of the bar: right of 1 is met")
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    console.print(f"plot: {path}")
