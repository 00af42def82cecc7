"""The rules of the pipeline, for one record at a time, from its bytes. Plain Python, and the slow way on purpose: this
is what the job is held to, so it has to be plain to see that it is right.
"""

import json
import re
from functools import lru_cache
from typing import Any, Final

LATE_MS_MAX: Final = 30_000
FUTURE_MS_MAX: Final = 30_000
DWELL_MS_MIN: Final = 50

NOT_JSON: Final = "not JSON"
WRONG_FIELD: Final = "missing or wrong-typed field"
NEGATIVE_AMOUNT: Final = "negative amount"
TOO_LATE: Final = "too late"
IN_THE_FUTURE: Final = "in the future"
REASONS: Final = (NOT_JSON, WRONG_FIELD, NEGATIVE_AMOUNT, TOO_LATE, IN_THE_FUTURE)

_COMMON: Final = {"event_id": str, "user_id": str, "session_id": str, "at": int, "user_agent": str, "dwell_ms": int}
_ITEM: Final = {"product_id": str, "quantity": int, "price_cents": int}
FIELDS: Final = {
    "product_viewed": {**_COMMON, "product_id": str, "category": str, "price_cents": int},
    "add_to_cart": {**_COMMON, **_ITEM},
    "purchase_completed": {**_COMMON, "order_id": str, "items": list, "amount_cents": int},
}
_JSON: Final = json.JSONDecoder()
_ROBOT: Final = re.compile("bot|crawler|spider|headless", re.IGNORECASE)


def event_or_reason(topic: str, value: bytes, timestamp_ms: int) -> dict[str, Any] | str:
    """Return the event, or why its record is a dead letter."""
    try:
        event = _JSON.decode(value.decode())
    except ValueError:
        return NOT_JSON
    if type(event) is not dict:
        return NOT_JSON
    if not _has(FIELDS[topic], event) or not all(_has(_ITEM, item) for item in event.get("items", ())):
        return WRONG_FIELD
    if event.get("amount_cents", 0) < 0:
        return NEGATIVE_AMOUNT
    if timestamp_ms - event["at"] > LATE_MS_MAX:
        return TOO_LATE
    return IN_THE_FUTURE if event["at"] - timestamp_ms > FUTURE_MS_MAX else event


def _has(fields: dict[str, type], event: Any) -> bool:
    """Return whether an event has every field, of exactly its type: True is no integer here."""
    return type(event) is dict and [*map(type, map(event.get, fields))] == [*fields.values()]


def is_robot(topic: str, event: dict[str, Any]) -> bool:
    return _says_robot(event["user_agent"]) or (topic == "product_viewed" and event["dwell_ms"] < DWELL_MS_MIN)


@lru_cache(maxsize=1_000)
def _says_robot(user_agent: str) -> bool:
    return _ROBOT.search(user_agent) is not None
