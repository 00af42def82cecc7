"""The text format, the times of turns, and the page that documents the metrics."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
from tests.support.prometheus import NotPrometheus, parse

from tidelog.server.metrics.catalogue import FAMILIES
from tidelog.server.metrics.declaration import Family, Kind, Sample
from tidelog.server.metrics.reference import render as render_reference
from tidelog.server.metrics.text import LINES_A_PIECE, render
from tidelog.server.requests.request_metrics import BOUNDS_NS, Histogram, RequestMetrics
from tidelog.server.requests.turn_times import SLOT_MS, TurnTimes

if TYPE_CHECKING:
    from tidelog.server.metrics.scrape import Scrape

ROOT = Path(__file__).parents[4]
NO_SCRAPE = cast("Scrape", None)
MS = 1_000_000


def family(kind: Kind, samples: Iterable[Sample], *labels: str, name: str = "a") -> Family:
    return Family(name, kind, "What\nit \\ is.", lambda _scrape: samples, labels)


def text_of(*families: Family) -> str:
    return "".join(render(families, NO_SCRAPE))


def test_labels_are_escaped_and_come_back() -> None:
    hostile = 'a"b\\c\nd{x="y"} 1'
    text = text_of(family(Kind.GAUGE, [((hostile, "2"), 1.5)], "topic", "partition"))
    assert parse(text).value("a", topic=hostile, partition="2") == 1.5
    assert text.startswith("# HELP a What\\nit \\\\ is.\n# TYPE a gauge\n")


def test_a_family_that_has_nothing_to_tell_is_left_out() -> None:
    assert text_of(family(Kind.GAUGE, []), family(Kind.GAUGE, [((), 1)], name="b")).count("#") == 2


def test_a_histogram_is_cumulative_and_in_seconds() -> None:
    histogram = Histogram()
    histogram.add(BOUNDS_NS[0])  # a bound is part of its bucket
    histogram.add(3 * MS, 4)
    histogram.add(10**12)
    found = parse(text_of(family(Kind.HISTOGRAM, [(("x",), histogram)], "request")))
    assert found.value("a_bucket", request="x", le="1e-05") == 1
    assert found.value("a_bucket", request="x", le="0.002") == 1
    assert found.value("a_bucket", request="x", le="0.005") == 5
    assert found.value("a_bucket", request="x", le="+Inf") == found.value("a_count", request="x") == 6
    assert found.value("a_sum", request="x") == pytest.approx(1000.01201)


def test_many_samples_come_in_pieces_of_one_family() -> None:
    samples: list[Sample] = [((str(number),), number) for number in range(1000)]
    pieces = list(render([family(Kind.GAUGE, samples, "n")], NO_SCRAPE))
    assert max(piece.count("\n") for piece in pieces) == LINES_A_PIECE
    assert len(parse("".join(pieces)).samples["a"]) == 1000


@pytest.mark.parametrize(
    "text",
    [
        "a 1",
        "a 1\n",
        "# TYPE a gauge\na 1\n",
        "# HELP a x\n# TYPE a counter\na 1\n",
        "# HELP a_total x\n# TYPE a_total gauge\na_total 1\n",
        "# HELP a x\n# TYPE a gauge\na 1\na 2\n",
        "# HELP a x\n# TYPE a gauge\nb 1\n",
        '# HELP a x\n# TYPE a gauge\na{b="c"d"} 1\n',
        "# HELP a x\n# TYPE a gauge\na 1\n# HELP a x\n# TYPE a gauge\na 1\n",
    ],
)
def test_the_reader_of_these_tests_is_strict(text: str) -> None:
    with pytest.raises((NotPrometheus, KeyError)):
        parse(text)


def test_names_follow_the_rules() -> None:
    for each in FAMILIES:
        assert (each.kind is Kind.COUNTER) == each.name.endswith("_total"), each.name
        assert each.kind is not Kind.HISTOGRAM or each.name.endswith("_seconds"), each.name
        assert not each.name.endswith(("_count_total", "_bucket", "_sum", "_info")), each.name
        assert each.name.startswith("kafka_") == bool(each.kafka), each.name


def test_the_committed_page_is_what_the_declarations_say() -> None:
    assert (ROOT / "docs/metrics.md").read_text() == render_reference(), "run `make docs`"


def test_the_worst_turn_is_kept_and_that_of_the_last_minute_forgotten() -> None:
    times = TurnTimes()
    times.add(40 * MS, now_ms=1_000)
    times.add(5 * MS, now_ms=2_000)
    assert times.worst_of_minute_ns(2_000) == 40 * MS
    times.add(7 * MS, now_ms=31_000)
    assert times.worst_of_minute_ns(59_000) == 40 * MS
    assert times.worst_of_minute_ns(61_000) == 7 * MS
    assert times.worst_of_minute_ns(31_000 + 7 * SLOT_MS) == 0
    assert times.worst_ns == 40 * MS
    assert times.histogram.total == 3


def test_answers_are_counted_to_the_end_of_the_turn_that_sent_them() -> None:
    metrics = RequestMetrics()
    metrics.answered(1, received_ns=0, started_ns=1 * MS, handled_ns=3 * MS, now_ns=6 * MS)
    metrics.answered_quickly(1, 3, began_ns=5 * MS, now_ns=6 * MS)
    of_api = metrics.of(1)
    assert of_api.total.total == 0, "not before they have left"
    metrics.sent(10 * MS)
    metrics.sent(99 * MS)
    assert (of_api.total.total, of_api.total.sum_ns) == (4, 10 * MS + 3 * 5 * MS)
    assert of_api.response.sum_ns == 4 * 4 * MS
    parts = (of_api.queue, of_api.local, of_api.remote, of_api.response)
    assert sum(each.sum_ns for each in parts) == of_api.total.sum_ns
    assert [each.total for each in parts] == [4, 4, 4, 4]
