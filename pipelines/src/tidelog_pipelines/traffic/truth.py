"""What a right pipeline has to say about the records that were sent: counted as they go, exact whenever it is asked.

Repeats are known by their ids. They come within ten seconds, so the ids of the last thirty are enough, and memory
stays bounded however long the traffic runs.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any, Final

from tidelog_pipelines.traffic.answers import MINUTE_MS, SALES_WINDOW_MS, TOP_SIZE, Answers, Sales, Top
from tidelog_pipelines.traffic.generator import Event, Plan, events
from tidelog_pipelines.traffic.rules import FIELDS, event_or_reason, is_robot

REMEMBERED_MS: Final = 15_000  # once and twice this: older ids are forgotten between the two


class Truth:
    def __init__(self) -> None:
        self.records: Counter[str] = Counter(dict.fromkeys(FIELDS, 0))
        self.dead_letters: Counter[str] = Counter()
        self.robots = 0
        self.repeats = 0
        self.sales: dict[int, Sales] = {}  # by the start of the minute, as the views
        self.views: defaultdict[int, Counter[str]] = defaultdict(Counter)
        self._seen: set[str] = set()
        self._seen_before: set[str] = set()
        self._forget_at_ms = 0

    def add(self, event: Event) -> None:
        topic, _key, value, timestamp_ms = event
        self.records[topic] += 1
        found = event_or_reason(topic, value, timestamp_ms)
        if isinstance(found, str):
            self.dead_letters[found] += 1
        elif is_robot(topic, found):
            self.robots += 1
        elif self._is_repeat(found["event_id"], timestamp_ms):
            self.repeats += 1
        elif topic == "product_viewed":
            self._add_view(found)
        elif topic == "purchase_completed":
            self._add_sale(found)

    def _is_repeat(self, event_id: str, timestamp_ms: int) -> bool:
        if timestamp_ms >= self._forget_at_ms:
            self._seen_before, self._seen = self._seen, set()
            self._forget_at_ms = timestamp_ms + REMEMBERED_MS
        if event_id in self._seen or event_id in self._seen_before:
            return True
        self._seen.add(event_id)
        return False

    def _add_view(self, event: Mapping[str, Any]) -> None:
        minute = event["at"] // MINUTE_MS * MINUTE_MS
        self.views[minute][event["product_id"]] += 1

    def _add_sale(self, event: Mapping[str, Any]) -> None:
        minute = event["at"] // MINUTE_MS * MINUTE_MS
        before = self.sales.get(minute, Sales(0, 0))
        self.sales[minute] = Sales(before.purchases + 1, before.amount_cents + event["amount_cents"])

    def answers(self) -> Answers:
        return Answers(
            running(self.sales),
            dict(self.sales),
            {minute: most_viewed(views) for minute, views in self.views.items()},
            dict(self.dead_letters),
            dict(self.records),
        )


def truth_of(plan: Plan) -> Truth:
    """Return the truth about all that a plan sends, from the plan alone: for who has no core to spare while it is
    sent."""
    truth = Truth()
    for event in events(plan):
        truth.add(event)
    return truth


def running(minutes: Mapping[int, Sales]) -> dict[int, Sales]:
    """Return every window of five minutes that begins with a minute and has a sale in it."""
    windows: dict[int, Sales] = {}
    for minute, (purchases, amount_cents) in minutes.items():
        for start in range(minute - SALES_WINDOW_MS + MINUTE_MS, minute + MINUTE_MS, MINUTE_MS):
            before = windows.get(start, Sales(0, 0))
            windows[start] = Sales(before.purchases + purchases, before.amount_cents + amount_cents)
    return windows


def most_viewed(views: Mapping[str, int]) -> Top:
    """Return the products that were viewed most; of those that were viewed equally often, the first by name."""
    ordered = sorted(views.items(), key=lambda each: (-each[1], each[0]))
    return tuple(ordered[:TOP_SIZE])
