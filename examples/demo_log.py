"""`make demo-log`: a broker of its own, three streams of traffic through a real client, and a live table, until Ctrl-C.

At the end it says whether every acknowledged record came back. Where nobody looks (no terminal) it ends by itself.
"""

import argparse
import sys
import time
from contextlib import nullcontext

from examples.demo_log_traffic import Traffic
from examples.demo_log_view import View
from rich.console import Console
from rich.live import Live

from tidelog import testing
from tidelog.cli.main import version_line

UNATTENDED_S = 5.0
REFRESH_S = 1.0
PAUSE_S = 0.05


def run(console: Console, seconds: float | None) -> int:
    began = time.monotonic()
    with testing.broker(auto_create_topics_enable=False) as broker:
        console.print(f"broker ready on {broker.bootstrap_servers} after {time.monotonic() - began:.2f} s")
        traffic = Traffic(broker.bootstrap_servers)
        try:
            traffic.start()
            _show(console, View(broker, traffic, version_line()), traffic, seconds)
        except KeyboardInterrupt:
            pass
        finally:
            is_complete = traffic.finish()
        return _verdict(console, traffic, is_complete)


def _show(console: Console, view: View, traffic: Traffic, seconds: float | None) -> None:
    """Show a table that stays where it is; where the output is a file, only the last one."""
    end = float("inf") if seconds is None else time.monotonic() + seconds
    drawn = view.draw()
    with Live(console=console, auto_refresh=False) if console.is_terminal else nullcontext() as live:
        while time.monotonic() < end and traffic.failure is None:
            _pause(min(REFRESH_S, end - time.monotonic()), traffic)
            drawn = view.draw()
            if live is not None:
                live.update(drawn, refresh=True)
    if live is None:
        console.print(drawn)


def _pause(seconds: float, traffic: Traffic) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until and traffic.failure is None:
        time.sleep(PAUSE_S)


def _verdict(console: Console, traffic: Traffic, is_complete: bool) -> int:
    if traffic.failure is not None:
        raise traffic.failure
    acknowledged = sum(counts.acknowledged for counts in traffic.counts.values())
    consumed = sum(counts.consumed for counts in traffic.counts.values())
    style = "green" if is_complete else "red"
    console.print(f"[{style}]{acknowledged:,} records acknowledged, {consumed:,} read back[/]")
    return 0 if is_complete else 1


def main() -> int:
    parser = argparse.ArgumentParser(description="Traffic through a broker, and a live table of it.")
    parser.add_argument("--seconds", type=float, help="end after so long (at a terminal: Ctrl-C; else 5)")
    seconds = parser.parse_args().seconds
    if seconds is None and not sys.stdout.isatty():
        seconds = UNATTENDED_S
    return run(Console(highlight=False), seconds)


if __name__ == "__main__":
    sys.exit(main())
