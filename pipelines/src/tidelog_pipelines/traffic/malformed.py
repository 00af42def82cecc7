"""Good events made bad, in each of the ways in which the world does it. Few are, so this may take its time."""

import json
from collections.abc import Callable
from typing import Any, Final

from tidelog_pipelines.traffic.shoppers import PURCHASE_COMPLETED, Chance

Event = dict[str, Any]


def spoilt(topic: str, value: bytes, chance: Chance) -> bytes:
    is_of_purchases = topic == PURCHASE_COMPLETED and chance() < 0.5
    kinds = _OF_PURCHASES if is_of_purchases else (*_OF_BYTES, *_OF_FIELDS)
    return kinds[int(chance() * len(kinds))](value, chance)


def _truncated(value: bytes, chance: Chance) -> bytes:
    return value[: int(chance() * len(value))]


def _in_another_encoding(value: bytes, _chance: Chance) -> bytes:
    """Put a letter in Latin-1 into an event: bytes that are JSON still, but not UTF-8, which readers are tempted to
    replace."""
    return value.replace(b'"user_agent":"', b'"user_agent":"Caf\xe9 ', 1)


def _no_object(value: bytes, _chance: Chance) -> bytes:
    return b"[%b]" % value


def _no_event_at_all(_value: bytes, _chance: Chance) -> bytes:
    return b"Connection reset by peer"


def _changed(change: Callable[[Event, Chance], None]) -> Callable[[bytes, Chance], bytes]:
    def spoil(value: bytes, chance: Chance) -> bytes:
        event: Event = json.loads(value)
        change(event, chance)
        return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()

    return spoil


def _lose_a_field(event: Event, chance: Chance) -> None:
    names = list(event)
    del event[names[int(chance() * len(names))]]


def _empty_a_field(event: Event, chance: Chance) -> None:
    names = list(event)
    event[names[int(chance() * len(names))]] = None


def _write_a_number_as_text(event: Event, chance: Chance) -> None:
    names = [name for name, value in event.items() if isinstance(value, int)]
    event[names[int(chance() * len(names))]] = "a few"


def _write_text_as_a_number(event: Event, _chance: Chance) -> None:
    event["session_id"] = 5


def _write_a_fraction(event: Event, _chance: Chance) -> None:
    event["dwell_ms"] += 0.5


def _lose_the_items(event: Event, _chance: Chance) -> None:
    event["items"] = "two of everything"


def _lose_the_price_of_an_item(event: Event, _chance: Chance) -> None:
    del event["items"][-1]["price_cents"]


def _pay_the_customer(event: Event, _chance: Chance) -> None:
    event["amount_cents"] = -event["amount_cents"]


_OF_BYTES: Final = (_truncated, _in_another_encoding, _no_object, _no_event_at_all)
_OF_FIELDS: Final = tuple(
    map(_changed, (_lose_a_field, _empty_a_field, _write_a_number_as_text, _write_text_as_a_number, _write_a_fraction)),
)
_OF_PURCHASES: Final = tuple(
    map(_changed, (_lose_the_items, _lose_the_price_of_an_item, _pay_the_customer)),
)
