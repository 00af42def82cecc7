"""Imports in idle moments: what a node needs sooner or later, but not for its first answer.

Importing on first use would be too late for two reasons. An import opens files, which fails when descriptors have run
out, just when they are short for other reasons too; and the client whose request needs it would wait for it. So from
its first answer on a node that has nothing to do imports one module after the other, until it has them all.
"""

import logging
from collections import deque
from collections.abc import Iterable
from importlib import import_module
from typing import Final

from tidelog.server.node.deferred_modules import is_shortage

# A node that always has something to do imports all the same, once in so many turns.
BUSY_TURNS_MAX: Final = 16
RETRY_MS: Final = 100  # after an import that failed: trying without a pause would keep a core busy

log = logging.getLogger("tidelog.node")


class Preloading:
    def __init__(self, modules: Iterable[str]) -> None:
        self._left = deque(modules)
        self._busy_turns = 0
        self._is_told = False  # the log line about missing descriptors was written
        self.wait_ms = 0  # how long an idle node may wait before the next turn

    @property
    def is_done(self) -> bool:
        return not self._left

    def turn(self, *, is_idle: bool) -> None:
        """Import one module, if there is time for it. If no descriptor is free, the import is tried again a while
        later."""
        self._busy_turns += 1
        if is_idle or self._busy_turns >= BUSY_TURNS_MAX:
            self._busy_turns = 0
            try:
                import_module(self._left[0])
            except (OSError, ImportError) as error:
                if not is_shortage(error):
                    raise
                self.wait_ms = RETRY_MS
                self._tell(error)
                return
            self.wait_ms = 0
            self._left.popleft()

    def _tell(self, error: Exception) -> None:
        if not self._is_told:
            self._is_told = True
            text = "what is served later could not be imported yet, and is tried again: %s. Raise ulimit -n"
            log.warning(text, error, extra={"fields": {"module": self._left[0], "error": str(error)}})

    def finish(self) -> None:
        """Import what is left, at once."""
        while self._left:
            import_module(self._left.popleft())
