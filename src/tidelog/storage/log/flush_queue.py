"""Which logs are to be flushed, and when: those that asked for it, and those whose `flush.ms` comes to its end.

A broker has many more logs than are written to at a time. Looking at all of them every turn would cost more than the
flushes, so a log enters itself here when it is appended to or asks, and only then.
"""

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tidelog.storage.log.log import Log

# A topic without `flush.ms` has Kafka's default, the largest number: logs that are due this late are not remembered.
FAR_AWAY_MS: Final = 1 << 53


class FlushQueue:
    __slots__ = ("_asked", "_entered", "_last_ms", "_paused", "_timed", "may_sync")

    def __init__(self) -> None:
        self.may_sync: Callable[[], bool] = lambda: True  # whether there is a descriptor for a sync
        self._asked: dict[Log, None] = {}
        self._timed: list[tuple[int, int, Log]] = []  # a heap: when it is due, the order of entering, the log
        self._entered = 0
        self._last_ms = 0
        self._paused: dict[Log, None] = {}  # they were due, and there was no descriptor for their syncs

    def ask(self, log: "Log") -> None:
        self._asked[log] = None

    def pause(self, log: "Log") -> None:
        """Let a log that is due wait until there is a descriptor for its syncs (`may_sync`)."""
        self._paused[log] = None

    def note(self, log: "Log", due_ms: int) -> None:
        if due_ms < FAR_AWAY_MS:
            heappush(self._timed, (due_ms, self._entered, log))
            self._entered += 1

    @property
    def due_ms(self) -> int | None:
        """The time at which `due` has a log next; 0 where it has one now."""
        if self._asked or (self._paused and self.may_sync()):
            return 0
        return self._timed[0][0] if self._timed else None

    def due(self, now_ms: int) -> Iterator["Log"]:
        """Yield the logs that are due. They are taken out one by one, so that a caller that stops in between finds the
        rest the next time. After the clock was set back all that wait are due: it says nothing about their age."""
        if now_ms < self._last_ms:
            self._asked.update(dict.fromkeys(log for _, _, log in self._timed))
            self._timed = []
        self._last_ms = now_ms
        if self._paused and self.may_sync():
            self._asked.update(self._paused)
            self._paused = {}
        while self._timed and self._timed[0][0] <= now_ms:
            self._asked[heappop(self._timed)[2]] = None
        while self._asked:
            log = next(iter(self._asked))
            del self._asked[log]
            yield log
