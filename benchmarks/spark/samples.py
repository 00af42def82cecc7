"""Jobs by turns: wall time and CPU of each, and that all of them found the same."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.spark.processes import cpu_seconds

Run = Callable[[], Any]


@dataclass(slots=True)
class Outcome:
    """The outcome of a run that has more to say than what it found."""

    found: Any  # where it takes work to find out: a function, called when the clock has stopped
    seconds: float | None = None  # where the run knows better than the clock around it
    more: Mapping[str, float] = field(default_factory=dict)  # other figures, by name


@dataclass(slots=True)
class Figures:
    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    more: dict[str, list[float]] = field(default_factory=dict)

    @property
    def median_seconds(self) -> float:
        return statistics.median(self.seconds)

    @property
    def median_cpu(self) -> float:
        return max(statistics.median(self.cpu), 1e-9)

    def median_of(self, name: str) -> float:
        return statistics.median(self.more[name])

    def add(self, outcome: Outcome, seconds: float, cpu: float) -> None:
        self.seconds.append(seconds if outcome.seconds is None else outcome.seconds)
        self.cpu.append(cpu)
        for name, value in outcome.more.items():
            self.more.setdefault(name, []).append(value)


class Disagreement(Exception):
    """The error for contenders that did not find the same: nothing that they measured counts."""


def alternate(runs: Mapping[str, Run], *, warm_ups: int, rounds: int, brokers: Sequence[int]) -> dict[str, Figures]:
    """Run each contender in turn; the first `warm_ups` rounds are not counted. What they find must be equal."""
    figures = {name: Figures() for name in runs}
    for number in range(warm_ups + rounds):
        found: dict[str, Any] = {}
        for name, run in runs.items():
            cpu, began = cpu_seconds(brokers), time.perf_counter()
            result = run()
            seconds, cpu = time.perf_counter() - began, cpu_seconds(brokers) - cpu
            outcome = result if isinstance(result, Outcome) else Outcome(result)
            found[name] = outcome.found() if callable(outcome.found) else outcome.found
            if number >= warm_ups:
                figures[name].add(outcome, seconds, cpu)
        if len({repr(each) for each in found.values()}) > 1:
            raise Disagreement(f"the contenders differ: {found}")
    return figures
