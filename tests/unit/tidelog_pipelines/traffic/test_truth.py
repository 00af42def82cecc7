import json
from collections import Counter
from itertools import takewhile
from typing import Any

import pytest

from tidelog_pipelines.traffic.answers import Answers, Sales, epoch_ms, iso
from tidelog_pipelines.traffic.generator import Event, Plan, events
from tidelog_pipelines.traffic.rules import NOT_JSON, TOO_LATE, event_or_reason, is_robot
from tidelog_pipelines.traffic.truth import Truth, most_viewed

MINUTE = 60_000
START = 29_383_333 * MINUTE
COMMON = {"user_id": "u1", "session_id": "s", "user_agent": "Firefox", "dwell_ms": 900}


def viewed(event_id: str, at: int, product_id: str = "p1", **changes: Any) -> Event:
    value = {**COMMON, "event_id": event_id, "at": at, "product_id": product_id, "category": "c", "price_cents": 1}
    return Event("product_viewed", b"u1", json.dumps(value | changes).encode(), at)


def bought(event_id: str, at: int, amount_cents: int) -> Event:
    value = {**COMMON, "event_id": event_id, "at": at, "order_id": "o", "items": [], "amount_cents": amount_cents}
    return Event("purchase_completed", b"u1", json.dumps(value).encode(), at)


def answers_of(*made: Event) -> Answers:
    truth = Truth()
    for event in made:
        truth.add(event)
    return truth.answers()


def test_a_sale_is_in_its_minute_and_in_five_windows() -> None:
    found = answers_of(bought("a", START, 100), bought("b", START + MINUTE - 1, 20), bought("c", START + MINUTE, 3))
    assert found.sales_per_minute == {START: Sales(2, 120), START + MINUTE: Sales(1, 3)}
    assert found.sales_5m == {
        START - 4 * MINUTE: Sales(2, 120),
        START - 3 * MINUTE: Sales(3, 123),
        START - 2 * MINUTE: Sales(3, 123),
        START - 1 * MINUTE: Sales(3, 123),
        START: Sales(3, 123),
        START + MINUTE: Sales(1, 3),
    }


def test_views_are_counted_by_minute_and_product() -> None:
    found = answers_of(viewed("a", START), viewed("b", START, "p0"), viewed("c", START + MINUTE), viewed("d", START))
    assert found.top_viewed_products == {START: (("p1", 2), ("p0", 1)), START + MINUTE: (("p1", 1),)}


def test_ten_are_on_top_and_names_settle_ties() -> None:
    views = {f"p{n:02}": 1 for n in range(20, 0, -1)} | {"p99": 2}
    assert [name for name, _ in most_viewed(views)] == ["p99", *(f"p{n:02}" for n in range(1, 10))]


def test_a_repeat_counts_once_however_often_ids_are_forgotten() -> None:
    """Other events come in between, so that remembered ids are dropped at every possible moment."""
    for shift in range(0, 40_000, 1_000):
        others = [viewed(f"{shift}-{n}", START + n * 1_000) for n in range(shift // 1_000)]
        once = viewed("same", START + shift)
        again = once._replace(timestamp_ms=START + shift + 10_000)
        truth = Truth()
        for event in (*others, once, again):
            truth.add(event)
        assert truth.repeats == 1
        assert sum(views.total() for views in truth.views.values()) == len(others) + 1


def test_ids_that_are_long_gone_are_forgotten() -> None:
    truth = Truth()
    for n in range(200):
        truth.add(viewed(str(n), START + n * 1_000))
    assert len(truth._seen) + len(truth._seen_before) <= 31


def test_robots_and_dead_letters_are_in_no_result() -> None:
    truth = Truth()
    truth.add(viewed("a", START, dwell_ms=3))
    truth.add(viewed("b", START)._replace(value=b"?"))
    truth.add(viewed("c", START)._replace(timestamp_ms=START + 30_001))
    found = truth.answers()
    assert (truth.robots, found.dead_letters) == (1, {NOT_JSON: 1, TOO_LATE: 1})
    assert (found.sales_5m, found.sales_per_minute, found.top_viewed_products) == ({}, {}, {})
    assert found.records == {"product_viewed": 3, "add_to_cart": 0, "purchase_completed": 0}


@pytest.mark.parametrize("seed", [1, 2])
def test_counted_as_it_goes_or_all_at_the_end_it_is_the_same(seed: int) -> None:
    """The twin has every record at once, and puts each sale into its windows one by one."""
    made = list(events(Plan(seed, START + 17_000, rate=2_000.0, speed=40.0, events=20_000)))
    counted: dict[tuple[str, str], dict[str, Any]] = {}
    for event in made:
        found = event_or_reason(event.topic, event.value, event.timestamp_ms)
        if isinstance(found, dict) and not is_robot(event.topic, found):
            counted.setdefault((event.topic, found["event_id"]), found)
    sales = [each for (topic, _), each in counted.items() if topic == "purchase_completed"]
    views = [each for (topic, _), each in counted.items() if topic == "product_viewed"]
    truth = answers_of(*made)
    for start, expected in truth.sales_5m.items():
        within = [each["amount_cents"] for each in sales if start <= each["at"] < start + 5 * MINUTE]
        assert Sales(len(within), sum(within)) == expected
    assert sum(each.purchases for each in truth.sales_per_minute.values()) == len(sales) > 100
    for start, top in truth.top_viewed_products.items():
        seen = Counter(each["product_id"] for each in views if start <= each["at"] < start + MINUTE)
        assert list(top) == [(name, seen[name]) for name in sorted(seen, key=lambda name: (-seen[name], name))[:10]]


def test_the_first_part_of_the_traffic_has_a_truth_of_its_own() -> None:
    """Ctrl-C may come at any record."""
    made = list(events(Plan(5, START, events=5_000)))
    part = list(takewhile(lambda event: event.timestamp_ms < START + 2_000, made))
    assert sum(answers_of(*part).records.values()) == len(part) == 2_000


def test_answers_survive_their_file() -> None:
    found = answers_of(*events(Plan(5, START, rate=2_000.0, speed=40.0, events=5_000)))
    assert Answers.from_json(json.loads(json.dumps(found.to_json()))) == found
    assert found.sales_5m


def test_times_of_windows_are_iso_with_a_zone() -> None:
    assert iso(START) == "2025-11-13T02:13:00.000Z"
    assert epoch_ms(iso(START)) == epoch_ms("2025-11-13T03:13:00+01:00") == epoch_ms(START) == START
    with pytest.raises(ValueError, match="zone"):
        epoch_ms("2025-11-13T02:13:00")
