"""A measurement while it runs: counts, rates second by second, latencies; and the live table that shows it."""

import sys
import time
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from tidelog.cli.output.latencies import summary

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

TICK_S: Final = 0.25
SHOWN_LATENCIES: Final = 10_000  # the live table sorts only the latest ones


class Measurement(AbstractContextManager["Measurement"]):
    """A measurement that runs in a `with` block, and shows itself on a terminal, and only there."""

    def __init__(self, name: str, *, is_shown: bool) -> None:
        self.name = name
        self.records = 0
        self.size_bytes = 0
        self.latencies_ms: list[float] = []
        self.rates: list[tuple[float, float, float]] = []  # at, records/s, bytes/s
        self._is_shown = is_shown and sys.stderr.isatty()
        self._live: Live | None = None
        self._began = self._ticked = time.perf_counter()
        self._ended: float | None = None
        self._before = (0, 0)

    def __enter__(self) -> "Measurement":
        if self._is_shown:
            from rich.console import Console
            from rich.live import Live

            self._live = Live(self._table(), console=Console(stderr=True), refresh_per_second=4, transient=True)
            self._live.start()
        self._began = self._ticked = time.perf_counter()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._ended = time.perf_counter()
        if self._live is not None:
            self._live.stop()

    @property
    def seconds(self) -> float:
        return max((self._ended or time.perf_counter()) - self._began, 1e-9)

    def tick(self) -> None:
        """Note the rates and refresh the table, four times a second however often this is called."""
        now = time.perf_counter()
        passed = now - self._ticked
        if passed < TICK_S:
            return
        records, size_bytes = self.records - self._before[0], self.size_bytes - self._before[1]
        self.rates.append((now - self._began, records / passed, size_bytes / passed))
        self._before, self._ticked = (self.records, self.size_bytes), now
        if self._live is not None:
            self._live.update(self._table())

    def result(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "test": self.name,
            "records": self.records,
            "bytes": self.size_bytes,
            "seconds": round(self.seconds, 3),
            "records_per_second": round(self.records / self.seconds, 1),
            "mb_per_second": round(self.size_bytes / self.seconds / 1e6, 2),
        }
        latency = summary(self.latencies_ms)
        return {**found, "latency_ms": latency} if latency else found

    def _table(self) -> "Table":
        from rich.table import Table

        rate = self.rates[-1] if self.rates else (0.0, 0.0, 0.0)
        cells = {
            "seconds": f"{self.seconds:.1f}",
            "records": f"{self.records:,}",
            "records/s": f"{rate[1]:,.0f}",
            "MB/s": f"{rate[2] / 1e6:,.1f}",
        }
        latest = summary(self.latencies_ms[-SHOWN_LATENCIES:])
        cells |= {f"{name} ms": f"{value:.3f}" for name, value in latest.items()}
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        table.add_column(f"{self.name} (Ctrl-C ends it)")
        for name in cells:
            table.add_column(name, justify="right")
        table.add_row("", *cells.values())
        return table
