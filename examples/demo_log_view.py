"""What the demo shows: a table of the streams as they run, and the broker's own footprint below it."""

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from examples.demo_log_traffic import Counts, Stream, Traffic
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from tidelog.testing import Broker

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class View:
    """The table of the streams. Rates and percentiles are those since the last call of `draw`."""

    def __init__(self, broker: Broker, traffic: Traffic, version: str) -> None:
        self._broker = broker
        self._traffic = traffic
        self._version = version
        self._began = self._drawn = time.monotonic()
        self._before = {topic: Counts() for topic in traffic.counts}
        self._cpu_before_s = _cpu_s(broker.pid)

    def draw(self) -> RenderableType:
        now = time.monotonic()
        passed_s = max(now - self._drawn, 1e-3)
        table = _new_table()
        for stream in self._traffic.streams:
            self._add_row(table, stream, passed_s)
        below = Text("\n".join(_settings(stream) for stream in self._traffic.streams), style="dim")
        footer = self._footer(now - self._began, passed_s)
        self._drawn = now
        title = f"[bold]Tidelog[/] at [bold cyan]{self._broker.bootstrap_servers}[/]"
        content = Group(table, "", below, footer, Text(self._version, style="dim"))
        return Panel(content, title=title, title_align="left", subtitle="Ctrl-C ends it", expand=False)

    def _add_row(self, table: Table, stream: Stream, passed_s: float) -> None:
        counts, before = self._traffic.counts[stream.topic], self._before[stream.topic]
        self._before[stream.topic] = replace(counts, ack_ms=[], end_to_end_ms=[])
        ack_ms, counts.ack_ms = counts.ack_ms, []
        end_to_end_ms, counts.end_to_end_ms = counts.end_to_end_ms, []
        table.add_row(
            stream.topic,
            f"{(counts.produced - before.produced) / passed_s:,.0f}",
            f"{(counts.consumed - before.consumed) / passed_s:,.0f}",
            f"{(counts.produced_bytes - before.produced_bytes) / passed_s / 1e6:.2f}",
            _percentiles(ack_ms),
            _percentiles(end_to_end_ms),
            f"{counts.acknowledged:,}",
            f"{max(0, counts.acknowledged - counts.consumed):,}",
            shown_bytes(size_of(self._broker.data_directory, f"{stream.topic}-*")),
        )

    def _footer(self, uptime_s: float, passed_s: float) -> Text:
        cpu_s = _cpu_s(self._broker.pid)
        data = shown_bytes(size_of(self._broker.data_directory))
        text = f"broker: pid {self._broker.pid}, {uptime_s:.0f} s, data {data}"
        if cpu_s is not None and self._cpu_before_s is not None:
            share = (cpu_s - self._cpu_before_s) / passed_s
            text += f", memory {shown_bytes(_resident_bytes(self._broker.pid))}, CPU {share:.0%} of a core"
        self._cpu_before_s = cpu_s
        return Text(text, style="dim")


def _new_table() -> Table:
    """Return a table that is narrow enough for a terminal of 80 columns. Latencies are p50 and p99."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("\ntopic", no_wrap=True)
    names = ("in/s", "out/s", "MB/s", "ack ms\np50 p99", "end to end\np50 p99", "records", "lag", "on disk")
    for name in names:
        table.add_column(name if "\n" in name else f"\n{name}", justify="right", no_wrap=True)
    return table


def _settings(stream: Stream) -> str:
    count = f"{stream.partitions} partition{'s' if stream.partitions > 1 else ''}"
    acks = "all" if stream.acks == -1 else stream.acks
    codec = stream.compression.name.lower()
    return f"{stream.topic}: {count}, {stream.value_bytes:,} bytes a record, compression {codec}, acks={acks}"


def _percentiles(latencies: Sequence[float]) -> str:
    if not latencies:
        return "-"
    ordered = sorted(latencies)
    return f"{_shown_ms(ordered[len(ordered) // 2])} {_shown_ms(ordered[len(ordered) * 99 // 100]):>5}"


def _shown_ms(latency_ms: float) -> str:
    """Return a latency in five characters: the table has 80 columns, and a busy machine must not cost it the names of
    the topics."""
    return f"{latency_ms:.1f}" if latency_ms < 100 else f"{latency_ms:.0f}"


def size_of(directory: Path, pattern: str = "*") -> int:
    """Return the allocated bytes, as `du` counts them: segments and indexes are made larger than they are filled."""
    total = 0
    for path in directory.glob(f"{pattern}/**/*"):
        try:
            total += path.stat().st_blocks * 512
        except FileNotFoundError:
            continue  # a segment that retention has just removed
    return total


def shown_bytes(size: float) -> str:
    for unit in ("B", "KB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def _cpu_s(pid: int) -> float | None:
    if sys.platform != "linux":
        return None
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def _resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES
