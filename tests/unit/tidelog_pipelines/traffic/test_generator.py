import json
from collections import Counter, defaultdict
from itertools import islice, pairwise
from typing import Any

import pytest

from tidelog_pipelines.traffic import rules
from tidelog_pipelines.traffic.generator import Event, Plan, events
from tidelog_pipelines.traffic.shoppers import TOPICS

START_MS = 1_763_000_000_000
PLAN = Plan(seed=7, start_ms=START_MS, rate=2_000.0, speed=20.0, events=30_000)  # five minutes of the visitors' time


@pytest.fixture(scope="module")
def made() -> list[Event]:
    return list(events(PLAN))


def good(made: list[Event]) -> list[tuple[Event, dict[str, Any]]]:
    judged = ((event, rules.event_or_reason(event.topic, event.value, event.timestamp_ms)) for event in made)
    return [(event, found) for event, found in judged if isinstance(found, dict)]


def test_a_seed_gives_the_same_bytes_and_another_seed_others(made: list[Event]) -> None:
    assert list(islice(events(PLAN), 3_000)) == made[:3_000]
    other = Plan(8, PLAN.start_ms, PLAN.rate, PLAN.speed, 3_000)
    assert [event.value for event in events(other)] != [event.value for event in made[:3_000]]


def test_the_number_of_events_and_their_times_are_the_plan_s(made: list[Event]) -> None:
    assert len(made) == PLAN.events
    assert [event.timestamp_ms for event in made] == [START_MS + n * 10 for n in range(len(made))]


def test_without_an_end_it_goes_on() -> None:
    endless = Plan(7, START_MS, 2_000.0, 20.0)
    assert list(islice(events(endless), 500)) == list(islice(events(PLAN), 500))


def test_a_rate_that_no_millisecond_divides_is_kept_in_the_long_run() -> None:
    last = list(events(Plan(7, START_MS, rate=30_000.0, events=3_001)))[-1]
    assert last.timestamp_ms - START_MS in (99, 100)


def test_no_event_is_sent_before_it_happened(made: list[Event]) -> None:
    assert all(found["at"] <= event.timestamp_ms for event, found in good(made))


def test_keys_are_the_users(made: list[Event]) -> None:
    assert all(event.key.decode() == found["user_id"] for event, found in good(made))
    assert {event.topic for event in made} == set(TOPICS)


def test_visitors_look_before_they_take_and_take_before_they_buy(made: list[Event]) -> None:
    """The order is by the times of the events, not by arrival, for visitors who came after the start. Some steps are
    lost on the way, because they are too late or spoilt."""
    steps: defaultdict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for event, found in good(made):
        if int(found["session_id"].rpartition("-")[2], 16) > PLAN.visitors:
            steps[found["session_id"]][event.topic].append(found["at"])
    whole = [each for each in steps.values() if len(each) == len(TOPICS)]
    in_order = [min(v["product_viewed"]) <= min(v["add_to_cart"]) + 250 for v in whole]
    assert len(whole) > 100
    assert sum(in_order) > 0.95 * len(whole)
    assert all(max(v["add_to_cart"]) <= v["purchase_completed"][0] + 250 for v in whole)


def test_there_are_sales_from_the_beginning(made: list[Event]) -> None:
    assert any(event.topic == "purchase_completed" for event in made[:200])


def test_amounts_are_the_sums_of_the_items(made: list[Event]) -> None:
    bought = [found for event, found in good(made) if event.topic == "purchase_completed"]
    assert len(bought) > 100
    for each in bought:
        assert each["amount_cents"] == sum(item["quantity"] * item["price_cents"] for item in each["items"]) > 0


def test_a_few_products_have_most_of_the_views(made: list[Event]) -> None:
    views = Counter(found["product_id"] for event, found in good(made) if event.topic == "product_viewed")
    ordered = [count for _, count in views.most_common()]
    assert sum(ordered[:25]) > 0.5 * sum(ordered)
    assert len(ordered) > 300


def test_every_kind_of_trouble_is_there(made: list[Event]) -> None:
    outcomes = Counter(
        found if isinstance(found, str) else "good"
        for found in (rules.event_or_reason(event.topic, event.value, event.timestamp_ms) for event in made)
    )
    assert set(outcomes) == {"good", *rules.REASONS} - {rules.IN_THE_FUTURE}
    assert outcomes["good"] > 0.98 * len(made)
    found = good(made)
    late = [event.timestamp_ms - each["at"] for event, each in found if event.timestamp_ms - each["at"] > 1_000]
    assert 0.01 * len(made) < len(late) < 0.04 * len(made)
    assert any(29_900 <= each <= 30_000 for each in late)
    robots = [each for event, each in found if rules.is_robot(event.topic, each)]
    assert {each["user_agent"] for each in robots} > {each["user_agent"] for each in robots if each["dwell_ms"] >= 50}
    assert any(each["dwell_ms"] == 50 for _, each in found)


def test_late_events_come_on_both_sides_of_the_brink() -> None:
    """Each event can come exactly when it is due, since there is a record every millisecond."""
    made = events(Plan(3, START_MS, rate=1_000.0, events=50_000))
    whole = [
        event for event in made if rules.event_or_reason(event.topic, event.value, START_MS) not in rules.REASONS[:3]
    ]
    lateness = Counter(event.timestamp_ms - json.loads(event.value)["at"] for event in whole)
    assert lateness[30_000]
    assert lateness[30_001]
    assert max(lateness) > 40_000


def test_repeats_are_the_same_bytes_under_the_same_key_within_ten_seconds(made: list[Event]) -> None:
    first: dict[str, Event] = {}
    repeats = 0
    for event, found in good(made):
        before = first.setdefault(found["event_id"], event)
        if before is not event:
            repeats += 1
            assert (before.topic, before.key, before.value) == (event.topic, event.key, event.value)
            assert 0 <= event.timestamp_ms - before.timestamp_ms <= 10_000
    assert 0.004 * len(made) < repeats < 0.02 * len(made)


def test_records_are_out_of_order_by_the_time_of_their_events(made: list[Event]) -> None:
    times = [found["at"] for _, found in good(made)]
    assert sum(late < early for early, late in pairwise(times)) > 0.02 * len(times)
