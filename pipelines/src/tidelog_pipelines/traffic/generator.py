"""All visits at once, as one stream of records in the order of their sending.

Every slot of the stream has a time (start + n / rate, times the speed), and one record. Mostly it is the next step of
a visitor drawn by chance. Some are held back and sent later, instead of a fresh one: they arrive late (and so out
of order), too late, or for the second time. So time, order and number of records are known from the plan alone,
whatever the machine's load, and the same plan gives the same bytes.
"""

import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Final, NamedTuple

from tidelog_pipelines.traffic.malformed import spoilt
from tidelog_pipelines.traffic.shoppers import Step, visit

LATE_MS_MAX: Final = 30_000  # counts still
_REPEAT_MS_MAX: Final = 9_900  # before the ten seconds of the contract, with room for the queue of what is held back
_TOO_LATE_MS_MAX: Final = 75_000
_SKEW_MS: Final = 250  # between what a visitor does and our hearing of it, at best

_MALFORMED: Final = 0.003
_TOO_LATE: Final = _MALFORMED + 0.003
_LATE: Final = _TOO_LATE + 0.02
_REPEATED: Final = _LATE + 0.01
_ON_THE_BRINK: Final = 0.1  # of the late ones: by exactly as much as is allowed; of the others: by one more
_REPEATED_LATE: Final = 0.1

_PAUSE_S: Final = 5  # that a visitor takes between two steps
_STEPS_BEFORE: Final = 12
_VISITORS_MAX: Final = 20_000  # at the highest rates they hurry instead: each takes memory


@dataclass(frozen=True, slots=True)
class Plan:
    """The traffic that is wanted. `rate`: records a second of the wall clock. `speed`: seconds of events that pass in
    one of the wall clock."""

    seed: int
    start_ms: int
    rate: float = 1_000.0
    speed: float = 1.0
    events: int | None = None  # None: no end

    @property
    def step_ns(self) -> int:
        return max(1, round(1e9 * self.speed / self.rate))

    @property
    def visitors(self) -> int:
        return max(20, min(_VISITORS_MAX, round(_PAUSE_S * self.rate / self.speed)))


class Event(NamedTuple):
    topic: str
    key: bytes
    value: bytes
    timestamp_ms: int


def events(plan: Plan) -> Iterator[Event]:
    crowd = _Crowd(plan)
    origin_ns, step_ns = plan.start_ms * 1_000_000, plan.step_ns
    for n in itertools.count() if plan.events is None else range(plan.events):
        yield crowd.event((origin_ns + n * step_ns) // 1_000_000)


class _Crowd:
    """Everybody who is in the shop, and what they did that has not arrived yet."""

    def __init__(self, plan: Plan) -> None:
        self._chance = Random(plan.seed).random
        self._prefix = f"{plan.seed:x}-{plan.start_ms:x}"
        self._events_made = self._visits_made = self._holds_made = 0
        self._held: list[tuple[int, int, Event]] = []  # when it is due, a number that settles ties, what
        self._visits = [self._underway(self._new_visit()) for _ in range(plan.visitors)]

    def event(self, now_ms: int) -> Event:
        """Return the event that is sent now."""
        if self._held and self._held[0][0] <= now_ms:
            return heapq.heappop(self._held)[2]._replace(timestamp_ms=now_ms)
        while True:
            at_ms = now_ms - int(_SKEW_MS * self._chance())
            topic, key, who, dwell_ms, what, is_robot = self._step()
            self._events_made = number = self._events_made + 1
            text = f'{{"event_id":"{self._prefix}-{number:x}",{who},"at":{at_ms},"dwell_ms":{dwell_ms},{what}}}'
            event = Event(topic, key, text.encode(), now_ms)
            fate = 1.0 if is_robot else self._chance()  # what happens to robots would change no result
            if fate >= _REPEATED:
                return event
            if fate >= _LATE:
                self._hold(event, now_ms + int(_REPEAT_MS_MAX * self._chance()))
                return event
            if fate < _MALFORMED:
                return event._replace(value=spoilt(event.topic, event.value, self._chance))
            self._delay(event, at_ms, is_too_late=fate < _TOO_LATE)

    def _step(self) -> Step:
        visitor = int(self._chance() * len(self._visits))
        while (step := next(self._visits[visitor], None)) is None:
            self._visits[visitor] = self._new_visit()
        return step

    def _underway(self, visit: Iterator[Step]) -> Iterator[Step]:
        """Return a visit some of whose steps lie in the past. The shop was open before we began to look: else nobody
        would buy anything for the first while."""
        for _ in range(int(_STEPS_BEFORE * self._chance())):
            next(visit, None)
        return visit

    def _new_visit(self) -> Iterator[Step]:
        self._visits_made += 1
        return visit(f"{self._prefix}-{self._visits_made:x}", self._chance)

    def _delay(self, event: Event, at_ms: int, *, is_too_late: bool) -> None:
        """Hold an event back. Some arrive on the brink of the rule; of those that still count some come once more,
        perhaps too late."""
        low, high = (LATE_MS_MAX + 1, _TOO_LATE_MS_MAX) if is_too_late else (LATE_MS_MAX, 1_000)
        is_on_the_brink = self._chance() < _ON_THE_BRINK
        due_ms = at_ms + (low if is_on_the_brink else low + int((high - low) * self._chance()))
        self._hold(event, due_ms)
        if not is_too_late and self._chance() < _REPEATED_LATE:
            self._hold(event, due_ms + int(_REPEAT_MS_MAX * self._chance()))

    def _hold(self, event: Event, due_ms: int) -> None:
        self._holds_made += 1
        heapq.heappush(self._held, (due_ms, self._holds_made, event))
