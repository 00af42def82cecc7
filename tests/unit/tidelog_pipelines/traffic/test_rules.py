import json
from random import Random
from typing import Any

import pytest

from tidelog_pipelines.traffic.malformed import spoilt
from tidelog_pipelines.traffic.rules import (
    IN_THE_FUTURE,
    NEGATIVE_AMOUNT,
    NOT_JSON,
    REASONS,
    TOO_LATE,
    WRONG_FIELD,
    event_or_reason,
    is_robot,
)

AT = 1_763_000_000_000
COMMON = {"event_id": "1", "user_id": "u1", "session_id": "s", "at": AT, "user_agent": "Firefox", "dwell_ms": 900}
ITEM = {"product_id": "p1", "quantity": 2, "price_cents": 50}
VIEWED = {**COMMON, "product_id": "p1", "category": "café", "price_cents": 50}
ADDED = {**COMMON, **ITEM}
BOUGHT = {**COMMON, "order_id": "o1", "items": [ITEM], "amount_cents": 100}
EVENTS = {"product_viewed": VIEWED, "add_to_cart": ADDED, "purchase_completed": BOUGHT}


def judged(topic: str, event: Any, late_ms: int = 0) -> dict[str, Any] | str:
    return event_or_reason(topic, json.dumps(event, ensure_ascii=False).encode(), AT + late_ms)


@pytest.mark.parametrize("topic", EVENTS)
def test_a_good_event_is_given_back(topic: str) -> None:
    assert judged(topic, EVENTS[topic]) == EVENTS[topic]
    assert judged(topic, EVENTS[topic] | {"more": None}) == EVENTS[topic] | {"more": None}


@pytest.mark.parametrize("topic", EVENTS)
def test_every_field_is_needed_and_of_its_type(topic: str) -> None:
    for name, value in EVENTS[topic].items():
        without = {key: each for key, each in EVENTS[topic].items() if key != name}
        assert judged(topic, without) == WRONG_FIELD
        wrongs: list[Any] = [None, 1.5, True, {}, 5 if isinstance(value, str) else "5"]
        for wrong in wrongs:
            assert judged(topic, EVENTS[topic] | {name: wrong}) == WRONG_FIELD


@pytest.mark.parametrize("item", [{}, [], None, 5, ITEM | {"quantity": "2"}])
def test_every_item_is_looked_at(item: object) -> None:
    assert judged("purchase_completed", BOUGHT | {"items": [ITEM, item]}) == WRONG_FIELD


WHOLE = json.dumps(VIEWED).encode()


@pytest.mark.parametrize("value", [b"", b"{", b"null", b"[]", b'"text"', b"7", b"[%b]" % WHOLE, WHOLE + b"x"])
def test_what_is_no_object_in_json(value: bytes) -> None:
    assert event_or_reason("product_viewed", value, AT) == NOT_JSON


def test_what_is_in_another_encoding_is_no_json() -> None:
    value = json.dumps(VIEWED, ensure_ascii=False).encode("latin-1")
    assert event_or_reason("product_viewed", value, AT) == NOT_JSON


def test_nothing_is_paid_out() -> None:
    assert judged("purchase_completed", BOUGHT | {"amount_cents": -1}) == NEGATIVE_AMOUNT
    assert judged("purchase_completed", BOUGHT | {"amount_cents": 0}) == BOUGHT | {"amount_cents": 0}


def test_thirty_seconds_are_not_too_late_and_a_millisecond_more_is() -> None:
    assert judged("add_to_cart", ADDED, 30_000) == ADDED
    assert judged("add_to_cart", ADDED, 30_001) == TOO_LATE
    assert judged("add_to_cart", ADDED, -30_000) == ADDED
    assert judged("add_to_cart", ADDED, -30_001) == IN_THE_FUTURE


@pytest.mark.parametrize("agent", ["Googlebot", "my CRAWLER", "Spider", "HeadlessChrome"])
@pytest.mark.parametrize("topic", EVENTS)
def test_robots_that_say_so(topic: str, agent: str) -> None:
    assert is_robot(topic, EVENTS[topic] | {"user_agent": agent})
    assert not is_robot(topic, EVENTS[topic])


def test_haste_tells_a_robot_only_where_it_looks() -> None:
    assert is_robot("product_viewed", VIEWED | {"dwell_ms": 49})
    assert not is_robot("product_viewed", VIEWED | {"dwell_ms": 50})
    assert not is_robot("purchase_completed", BOUGHT | {"dwell_ms": 49})


@pytest.mark.parametrize("topic", EVENTS)
def test_what_is_spoilt_is_never_taken_for_good(topic: str) -> None:
    chance = Random(1).random
    value = json.dumps(EVENTS[topic], ensure_ascii=False, separators=(",", ":")).encode()
    reasons = {str(event_or_reason(topic, spoilt(topic, value, chance), AT)) for _ in range(500)}
    malformed = set(REASONS) - {TOO_LATE, IN_THE_FUTURE}
    assert reasons == (malformed if topic == "purchase_completed" else malformed - {NEGATIVE_AMOUNT})
