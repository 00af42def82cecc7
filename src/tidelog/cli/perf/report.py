"""What was measured: a line of JSON, or a table with a histogram; and a PNG where matplotlib is installed."""

import argparse
import json
from collections.abc import Sequence
from typing import Any

from tidelog.cli.failing import CommandFailed, WrongUsage
from tidelog.cli.output.latencies import histogram_lines
from tidelog.cli.output.rows import show_rows, text
from tidelog.cli.perf.measurement import Measurement


def check_png(options: argparse.Namespace) -> None:
    """Raise WrongUsage where no plot can be made, before the work and not after it."""
    if options.png is None:
        return
    try:
        import matplotlib  # type: ignore[import-not-found,unused-ignore]  # noqa: F401
    except ImportError as error:
        raise WrongUsage("--png needs matplotlib: `pip install matplotlib`") from error


def report(measurements: Sequence[Measurement], options: argparse.Namespace) -> None:
    if options.png is not None:
        write_png(measurements, options.png)
    if options.json:
        for each in measurements:
            print(json.dumps(each.result()))
        return
    rows = [_row(each.result()) for each in measurements]
    show_rows(rows, dict.fromkeys(rows[0], text), as_json=False)
    for each in measurements:
        if each.latencies_ms:
            print(f"\n{each.name}, latency of {_of_how_many(each)}", *histogram_lines(each.latencies_ms), sep="\n")


def _of_how_many(measurement: Measurement) -> str:
    """Return how many records the latencies are of. A fast test is measured by a sample: looking at the clock for every
    record would be most of its work."""
    shown, records = len(measurement.latencies_ms), measurement.result()["records"]
    return f"{records:,} records" if shown >= records else f"{shown:,} of {records:,} records"


def _row(result: dict[str, Any]) -> dict[str, str]:
    row = {
        "test": result["test"],
        "records": f"{result['records']:,}",
        "seconds": f"{result['seconds']:.2f}",
        "records/s": f"{result['records_per_second']:,.0f}",
        "MB/s": f"{result['mb_per_second']:,.1f}",
    }
    return row | {f"{name} ms": f"{value:.3f}" for name, value in result.get("latency_ms", {}).items()}


def write_png(measurements: Sequence[Measurement], path: str) -> None:
    from matplotlib.figure import Figure  # type: ignore[import-not-found,unused-ignore]

    figure = Figure(figsize=(10, 4), layout="constrained")
    rates, latencies = figure.subplots(1, 2)
    for each in measurements:
        rates.plot([at for at, *_ in each.rates], [rate / 1e6 for *_, rate in each.rates], label=each.name)
        if each.latencies_ms:
            latencies.hist(each.latencies_ms, bins=60, histtype="step", label=each.name)
    rates.set(title="throughput", xlabel="seconds", ylabel="MB/s", ylim=(0, None))
    latencies.set(title="latency", xlabel="ms", ylabel="records", yscale="log")
    for axes in (rates, latencies):
        if axes.get_legend_handles_labels()[0]:
            axes.legend()
    try:
        figure.savefig(path, dpi=120)
    except (OSError, ValueError) as error:
        raise CommandFailed(f"{path}: {error}") from error
