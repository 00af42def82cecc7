"""What the demo shows: sales, the products that are looked at most, and how the pipeline keeps up. Drawn from a
snapshot and nothing else, so that it can be looked at without a pipeline.
"""

from collections.abc import Mapping, Sequence

from examples.demo_watch import Snapshot
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from tidelog_pipelines.traffic.answers import MINUTE_MS, SALES_WINDOW_MS, Answers, iso
from tidelog_pipelines.traffic.verdict import Check, money

MINUTES_SHOWN = 8
BAR_WIDTH = 8
DIFFERENCES_SHOWN = 5


def draw(snapshot: Snapshot, title: str, state: str, version: str) -> RenderableType:
    results = Table.grid(padding=(0, 4))
    results.add_row(_sales(snapshot.found), _top(snapshot.found))
    content = Group(_running(snapshot), "", results, "", _flow(snapshot), "", Text(version, style="dim"))
    heading = f"[bold]Tidelog[/] at [bold cyan]{title}[/]: a shop"
    return Panel(content, title=heading, title_align="left", subtitle=state, expand=False)


def _running(snapshot: Snapshot) -> RenderableType:
    """Return the window that begins with the earliest minute and has the latest sale in it: the last five minutes."""
    found = snapshot.found
    if not found.sales_per_minute:
        return Text(waiting(snapshot), style="dim")
    start = max(found.sales_per_minute) - SALES_WINDOW_MS + MINUTE_MS
    purchases, amount_cents = found.sales_5m.get(start, (0, 0))
    text = f"  sold in the five minutes from {_clock(start)}, in {purchases:,} purchases"
    return Text.assemble((money(amount_cents), "bold green"), text)


def waiting(snapshot: Snapshot) -> str:
    """Return what is shown while there are no results yet."""
    if snapshot.updates:
        return "no sales yet"
    doing = "Spark counts its first events" if snapshot.lag else "Spark is starting"
    return f"{doing}: {snapshot.uptime_s:.0f} s; the first results take about half a minute"


def _sales(found: Answers) -> Table:
    table = _new_table("minute", "purchases", "sold", "")
    latest = sorted(found.sales_per_minute.items())[-MINUTES_SHOWN:]
    most = max((sales.amount_cents for _, sales in latest), default=1)
    for start, sales in latest:
        bar = _bar(sales.amount_cents / most)
        table.add_row(_clock(start), f"{sales.purchases:,}", money(sales.amount_cents), bar)
    return table


def _top(found: Answers) -> Table:
    table = _new_table("product", "views", "")
    minute = max(found.top_viewed_products, default=None)
    listed = () if minute is None else found.top_viewed_products[minute][:MINUTES_SHOWN]
    for product_id, views in listed:
        table.add_row(product_id, f"{views:,}", _bar(views / listed[0][1]))
    return table


def _flow(snapshot: Snapshot) -> Table:
    table = Table.grid(padding=(0, 1))
    rates = "  ".join(f"{topic} {rate:,.0f}" for topic, rate in snapshot.rates.items())
    total = sum(snapshot.found.records.values())
    letters = ", ".join(f"{reason} {count:,}" for reason, count in sorted(snapshot.found.dead_letters.items()))
    table.add_row("[bold]events[/]", f"{total:,}, {sum(snapshot.rates.values()):,.0f} a second")
    table.add_row("", rates, style="dim")
    table.add_row("[bold]lag[/]", shown_lag(snapshot.lag))
    table.add_row("[bold]latency[/]", shown_latency(snapshot.latencies_ms))
    table.add_row("[bold]results[/]", f"{snapshot.updates:,} committed")
    table.add_row("[bold]dead letters[/]", letters or "none")
    return table


def shown_lag(lag: Mapping[str, int]) -> str:
    return ", ".join(f"{query} {records:,}" for query, records in lag.items()) or "-"


def shown_latency(latencies_ms: Sequence[int]) -> str:
    """Return the latency in words: from an event's sending to a result with it in that a read_committed consumer has
    read."""
    if not latencies_ms:
        return "-"
    ordered = sorted(latencies_ms)
    p50, p95 = ordered[len(ordered) // 2], ordered[len(ordered) * 95 // 100]
    return f"p50 {p50 / 1000:.1f} s, p95 {p95 / 1000:.1f} s from event to committed result"


def line(snapshot: Snapshot) -> str:
    """Return one line for a log, where a table would be too much."""
    total = f"{sum(snapshot.found.records.values()):,} events, {sum(snapshot.rates.values()):,.0f}/s"
    if not snapshot.updates:
        return f"{snapshot.uptime_s:4.0f} s: {total}; {waiting(snapshot).partition(':')[0]}"
    latency = shown_latency(snapshot.latencies_ms)
    return (
        f"{snapshot.uptime_s:4.0f} s: {total}; lag: {shown_lag(snapshot.lag)}; {snapshot.updates:,} results; {latency}"
    )


def draw_verdict(checks: Sequence[Check]) -> RenderableType:
    table = _new_table("result", "the truth", "the pipeline", "")
    differences: list[RenderableType] = []
    for check in checks:
        mark = "[green]equal[/]" if check.is_right else f"[red]{len(check.differences)} differ[/]"
        table.add_row(check.name, check.expected, check.found, mark)
        differences += [Text(f"{check.name}: {text}", style="red") for text in check.differences[:DIFFERENCES_SHOWN]]
        if len(check.differences) > DIFFERENCES_SHOWN:
            differences.append(
                Text(f"{check.name}: and {len(check.differences) - DIFFERENCES_SHOWN} more", style="red")
            )
    return Group(table, *differences)


def _new_table(first: str, *others: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column(first, no_wrap=True)
    for name in others:
        table.add_column(name, justify="right" if name else "left", no_wrap=True)
    return table


def _bar(share: float) -> Text:
    return Text("█" * max(1, round(BAR_WIDTH * share)), style="cyan")


def _clock(time_ms: int) -> str:
    return iso(time_ms)[11:16]
