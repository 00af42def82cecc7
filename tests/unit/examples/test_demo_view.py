"""The view of the demo, from snapshots that were never live."""

import io

from examples.demo_view import draw, draw_verdict, line, shown_latency
from examples.demo_watch import Snapshot
from rich.console import Console, RenderableType

from tidelog_pipelines.traffic.answers import MINUTE_MS, Answers, Sales
from tidelog_pipelines.traffic.verdict import Check

START = 29_383_333 * MINUTE_MS  # 02:13
FOUND = Answers(
    sales_5m={START - 3 * MINUTE_MS: Sales(1_300, 12_345_678), START + MINUTE_MS: Sales(1, 1)},
    sales_per_minute={START + n * MINUTE_MS: Sales(1_000 - n, 98_765_400 + n) for n in (-9, 0, 1)},
    top_viewed_products={START: (("p0009", 9),), START + MINUTE_MS: (("p0001", 12_000), ("p0002", 6_000))},
    dead_letters={"too late": 12, "missing or wrong-typed field": 1_234},
    records={"product_viewed": 1_000_000, "add_to_cart": 200_000, "purchase_completed": 30_000},
)
RATES = {"product_viewed": 15_000.0, "add_to_cart": 4_200.0, "purchase_completed": 800.0}
LAG = {"results": 1_234, "dead_letters": 23_456, "archive": 34_567}
FULL = Snapshot(83.4, FOUND, RATES, LAG, list(range(0, 10_000, 100)), 4_321)


def shown(what: RenderableType) -> str:
    """Return what is printed on a terminal of 80 columns; nothing may be cut."""
    output = io.StringIO()
    Console(file=output, width=80).print(what)
    text = output.getvalue()
    assert "…" not in text
    return text


def test_everything_that_is_known_is_shown() -> None:
    text = shown(draw(FULL, "127.0.0.1:9092", "Ctrl-C ends it", "tidelog 1.0"))
    for part in (
        "123,456.78  sold in the five minutes from 02:10, in 1,300 purchases",
        "02:14         999  987,654.01",
        "p0001    12,000  ████████",
        "p0002     6,000  ████ ",
        "1,230,000, 20,000 a second",
        "product_viewed 15,000  add_to_cart 4,200  purchase_completed",
        "results 1,234, dead_letters 23,456, archive 34,567",
        "p50 5.0 s, p95 9.5 s",
        "4,321 committed",
        "missing or wrong-typed field 1,234, too late 12",
        "127.0.0.1:9092",
        "Ctrl-C ends it",
        "tidelog 1.0",
    ):
        assert part in text, part
    assert "p0009" not in text, "of the minutes only the last is shown"


def test_before_there_is_anything_to_show() -> None:
    empty = Snapshot(0.0, Answers())
    text = shown(draw(empty, "127.0.0.1:9092", "", ""))
    assert "Spark is starting: 0 s; the first results take about half a minute" in text
    assert "none" in text
    assert line(empty) == "   0 s: 0 events, 0/s; Spark is starting"


def test_what_is_going_on_until_the_first_results() -> None:
    begun = Snapshot(21.4, Answers(records={"product_viewed": 9_000}), lag={"results": 9_000})
    assert "Spark counts its first events: 21 s" in shown(draw(begun, "127.0.0.1:9092", "", ""))
    assert line(begun) == "  21 s: 9,000 events, 0/s; Spark counts its first events"
    counted = Snapshot(25.0, Answers(top_viewed_products={START: (("p0001", 1),)}), updates=1)
    assert "no sales yet" in shown(draw(counted, "127.0.0.1:9092", "", ""))
    assert line(counted) == "  25 s: 0 events, 0/s; lag: -; 1 results; -"


def test_a_line_for_a_log() -> None:
    first, second, third, fourth = line(FULL).split("; ")
    assert (first, second) == (
        "  83 s: 1,230,000 events, 20,000/s",
        "lag: results 1,234, dead_letters 23,456, archive 34,567",
    )
    assert (third, fourth) == ("4,321 results", "p50 5.0 s, p95 9.5 s from event to committed result")


def test_percentiles_of_one() -> None:
    assert shown_latency([1_500]) == "p50 1.5 s, p95 1.5 s from event to committed result"


def test_the_verdict_says_how_much_differs_and_the_first_of_it() -> None:
    checks = [Check("sales", "5", "5", ()), Check("views", "6", "7", tuple(f"window {n}" for n in range(8)))]
    text = shown(draw_verdict(checks))
    assert [row.split() for row in text.splitlines()][1:3] == [
        ["sales", "5", "5", "equal"],
        ["views", "6", "7", "8", "differ"],
    ]
    assert "views: window 4" in text
    assert "window 5" not in text
    assert "views: and 3 more" in text
