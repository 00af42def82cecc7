"""Timers of a machine: a key each, on the monotonic clock, volatile.

Setting a timer again replaces it. Replaced and cancelled ones stay in the heap until their time comes or they are
the most of it, which is cheaper than finding them: every heartbeat of every member moves its timer.
"""

from collections.abc import Hashable
from heapq import heapify, heappop, heappush
from typing import Final

SMALL: Final = 1_000


class Timers:
    __slots__ = ("_count", "_due", "_heap")

    def __init__(self) -> None:
        self._due: dict[Hashable, tuple[int, int]] = {}  # the time, and the number of the call that set it
        self._heap: list[tuple[int, int, Hashable]] = []
        self._count = 0

    def __len__(self) -> int:
        return len(self._due)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._due

    def set(self, key: Hashable, due_ms: int) -> None:
        self._count += 1
        self._due[key] = (due_ms, self._count)
        heappush(self._heap, (due_ms, self._count, key))
        if len(self._heap) > max(SMALL, 4 * len(self._due)):
            self._heap = [(due, count, each) for each, (due, count) in self._due.items()]
            heapify(self._heap)

    def cancel(self, key: Hashable) -> None:
        self._due.pop(key, None)

    def due_of(self, key: Hashable) -> int | None:
        found = self._due.get(key)
        return None if found is None else found[0]

    @property
    def deadline(self) -> int | None:
        self._forget_replaced()
        return self._heap[0][0] if self._heap else None

    def pop_due(self, now_ms: int) -> Hashable | None:
        """Remove and return the key of the next timer that is due; None: none is. Timers come in the order of their
        times, then of their setting."""
        self._forget_replaced()
        if not self._heap or self._heap[0][0] > now_ms:
            return None
        key = heappop(self._heap)[2]
        del self._due[key]
        return key

    def _forget_replaced(self) -> None:
        heap, due = self._heap, self._due
        while heap and due.get(heap[0][2]) != heap[0][:2]:
            heappop(heap)
