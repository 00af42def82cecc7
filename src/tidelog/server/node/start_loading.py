"""The loading of all logs at a start, a slice a turn, and a rest where no descriptor is left to go on with.

A shortage of descriptors is no fault of a log: it may be another program's (the machine has a limit, too), and what is
loaded by then stays loaded.
"""

from typing import Final

from tidelog.ports.clock import Clock
from tidelog.server.events import Events
from tidelog.server.node.files import NodeFiles

LOADING_NS: Final = 20_000_000
REST_MS: Final = 1_000


class StartLoading:
    def __init__(self, files: NodeFiles, clock: Clock, events: Events) -> None:
        self._files = files
        self._clock = clock
        self._events = events
        self.rest_until_ms: int | None = None

    def step(self, now_ms: int) -> bool:
        """Load some logs; whether that was the last of them."""
        if self.rest_until_ms is not None and now_ms < self.rest_until_ms:
            return False
        self.rest_until_ms = None
        until_ns = self._clock.monotonic_ns() + LOADING_NS
        while (progress := next(self._files.loading, None)) is not None:
            if progress.shortage is not None:
                self._events.no_descriptor(progress.shortage)
                self.rest_until_ms = now_ms + REST_MS
                return False
            if self._clock.monotonic_ns() > until_ns:
                return False
        return True
