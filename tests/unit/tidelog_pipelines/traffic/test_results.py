import json
from typing import Any

import pytest

from tidelog_pipelines.traffic.answers import Sales
from tidelog_pipelines.traffic.results import LATENCY_OVER_MS, ResultState

START_TEXT = "2025-11-13T02:13:00.000Z"
START = 29_383_333 * 60_000
KEY = json.dumps({"window_start": START_TEXT}).encode()


def row(start: str = START_TEXT, **fields: Any) -> bytes:
    return json.dumps({"window_start": start, "window_end": "", "updated_to": START + 5_000, **fields}).encode()


def letter(offset: int, reason: str = "too late") -> bytes:
    return json.dumps({"reason": reason, "topic": "add_to_cart", "partition": 1, "offset": offset}).encode()


def test_the_last_value_of_a_key_counts() -> None:
    state = ResultState()
    state.add("sales_5m", KEY, row(purchases=1, amount_cents=5), START + 6_000)
    state.add("sales_5m", KEY, row(purchases=2, amount_cents=9), START + 6_500)
    state.add("sales_per_minute", KEY, row(purchases=1, amount_cents=7), START + 6_500)
    state.add("top_viewed_products", KEY, row(top=[{"product_id": "p1", "views": 3}]), START + 7_000)
    found = state.answers({"add_to_cart": 1})
    assert found.sales_5m == {START: Sales(2, 9)}
    assert found.sales_per_minute == {START: Sales(1, 7)}
    assert found.top_viewed_products == {START: (("p1", 3),)}
    assert found.records == {"add_to_cart": 1}
    assert (state.updates, state.latencies_ms, state.faults) == (4, [1_000, 1_500, 1_500, 2_000], [])


def test_a_tombstone_takes_a_result_away() -> None:
    state = ResultState()
    state.add("sales_5m", KEY, row(purchases=1, amount_cents=5), START)
    state.add("sales_5m", KEY, None, START)
    assert state.answers({}).sales_5m == {}


def test_the_time_of_the_last_event_may_be_iso() -> None:
    state = ResultState()
    state.add("sales_5m", KEY, row(purchases=1, amount_cents=5, updated_to=START_TEXT), START + 40)
    assert state.latencies_ms == [40]


def test_latency_is_that_of_the_latest_results() -> None:
    state = ResultState()
    for read_ms in (0, 1_000, LATENCY_OVER_MS, LATENCY_OVER_MS + 500):
        value = row(purchases=1, amount_cents=5, updated_to=START)
        state.add("sales_5m", KEY, value, START + 60_000 + read_ms)
    assert [latency - 60_000 for latency in state.latencies_ms] == [1_000, LATENCY_OVER_MS, LATENCY_OVER_MS + 500]


def test_what_waited_for_the_start_of_the_job_does_not_count_as_its_latency() -> None:
    state = ResultState()
    assert state.steady_latencies_ms == []
    for sent_ms, read_ms in ((0, 40_000), (39_999, 41_000), (40_000, 41_500), (41_200, 42_000)):
        value = row(purchases=1, amount_cents=5, updated_to=START + sent_ms)
        state.add("sales_5m", KEY, value, START + read_ms)
    assert state.latencies_ms == [40_000, 1_001, 1_500, 800]
    assert state.steady_latencies_ms == [1_500, 800]


def test_dead_letters_are_counted_by_reason_and_come_once() -> None:
    state = ResultState()
    for value in (letter(1), letter(2), letter(3, "not JSON")):
        state.add("dead_letters", b"u1", value, START)
    assert state.answers({}).dead_letters == {"too late": 2, "not JSON": 1}
    assert not state.faults
    state.add("dead_letters", b"u1", letter(2), START)
    assert state.faults == ["dead_letters: the one of add_to_cart-1 offset 2 came twice"]


@pytest.mark.parametrize(
    ("topic", "key", "value"),
    [
        ("sales_5m", None, row(purchases=1, amount_cents=5)),
        ("sales_5m", KEY, b"{"),
        ("sales_5m", KEY, row()),
        ("sales_5m", KEY, row("2025-11-13T02:14:00.000Z", purchases=1, amount_cents=5)),
        ("sales_5m", KEY, row("2025-11-13T02:13:00", purchases=1, amount_cents=5)),
        ("top_viewed_products", KEY, row(purchases=1, amount_cents=5)),
        ("dead_letters", b"u1", None),
        ("dead_letters", b"u1", b"{}"),
        ("dead_letters", b"u1", b"7"),
    ],
)
def test_what_makes_no_sense_is_a_fault(topic: str, key: bytes | None, value: bytes | None) -> None:
    state = ResultState()
    state.add(topic, key, value, START)
    assert len(state.faults) == 1
    assert topic in state.faults[0]
