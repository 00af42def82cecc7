"""How long the turns of the loop take, and the worst of them: since the start, and in the last minute.

A long turn is felt by every client at once, so it is what an operator looks at first. The minute is kept as slots of
ten seconds, of which the oldest falls out; adding a turn stays a comparison or two. Compiled by mypyc, like `turn`.
"""

from collections import deque
from typing import Final

from tidelog.server.requests.request_metrics import Histogram

SLOT_MS: Final = 10_000
SLOTS: Final = 6


class TurnTimes:
    """The durations of all turns, and the worst of the last minute."""

    __slots__ = ("_slot", "_slot_worst_ns", "_slots", "histogram", "worst_ns")

    def __init__(self) -> None:
        self.histogram = Histogram()
        self.worst_ns = 0
        self._slots: deque[tuple[int, int]] = deque(
            maxlen=SLOTS
        )  # slots that are over: the slot's number, and its worst turn
        self._slot = 0
        self._slot_worst_ns = 0

    def add(self, took_ns: int, now_ms: int) -> None:
        self.histogram.add(took_ns)
        slot = now_ms // SLOT_MS
        if slot != self._slot:
            self._slots.append((self._slot, self._slot_worst_ns))
            self._slot, self._slot_worst_ns = slot, took_ns
        elif took_ns > self._slot_worst_ns:
            self._slot_worst_ns = took_ns
        if took_ns > self.worst_ns:
            self.worst_ns = took_ns

    def worst_of_minute_ns(self, now_ms: int) -> int:
        """Return the longest turn of the last 50 to 60 seconds: a minute to within a slot."""
        oldest = now_ms // SLOT_MS - SLOTS + 1
        recent = [worst_ns for slot, worst_ns in self._slots if slot >= oldest]
        return max([*recent, self._slot_worst_ns if self._slot >= oldest else 0])
