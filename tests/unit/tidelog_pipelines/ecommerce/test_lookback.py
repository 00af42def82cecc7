"""The ids that the log is searched for: those of events that count."""

import json
from typing import Any

import pytest

from tidelog_pipelines.ecommerce.lookback import counted_id

AT_MS = 1_790_000_000_000
VIEW: dict[str, Any] = {
    "event_id": "e1",
    "user_id": "u000001",
    "session_id": "s1",
    "at": AT_MS,
    "user_agent": "Firefox",
    "dwell_ms": 50,
    "product_id": "p0001",
    "category": "café",
    "price_cents": 5,
}


def id_of(late_ms: int = 0, **changed: Any) -> str | None:
    value = json.dumps(VIEW | changed).encode()
    return counted_id("product_viewed", value, AT_MS + late_ms)


def test_an_event_that_counts() -> None:
    assert id_of() == id_of(30_000) == id_of(-30_000) == "e1"


@pytest.mark.parametrize("changed", [{"dwell_ms": 49}, {"user_agent": "Googlebot"}, {"user_id": 5}, {"event_id": None}])
def test_events_that_do_not(changed: dict[str, Any]) -> None:
    assert id_of(**changed) is None


def test_times_that_are_not_believed() -> None:
    assert id_of(30_001) is None
    assert id_of(-30_001) is None


@pytest.mark.parametrize("value", [None, b"", b"nothing", b'{"event_id":"e1"'])
def test_what_is_no_event(value: bytes | None) -> None:
    assert counted_id("product_viewed", value, AT_MS) is None
