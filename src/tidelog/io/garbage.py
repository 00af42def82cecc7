"""Python's cyclic garbage collector, kept from stalling the loop.

A full collection walks every object there is: with ten thousand partitions that takes longer than a turn may. So what
is there after the start is frozen (the collector does not look at it again), the young generations are collected as
usual but less often, and a full collection happens only when the loop has nothing to do; what survives it is frozen in
turn, so that each one walks only what is new.
"""

import gc
import time
from typing import Final

YOUNG: Final = 5_000  # objects more than before: then the youngest generation is collected, within a millisecond
MIDDLE: Final = 10  # collections of the youngest: then the middle one, some milliseconds
NEVER: Final = 1 << 30
FULL_AFTER: Final = 50  # collections of the middle generation: then a full one, as soon as the loop is idle


class Garbage:
    def __init__(self) -> None:
        self.longest_full_ms = 0.0

    def settle(self) -> None:
        """After the start."""
        gc.collect()
        gc.freeze()
        gc.set_threshold(YOUNG, MIDDLE, NEVER)

    def idle(self) -> None:
        """The loop is about to wait."""
        if gc.get_count()[2] < FULL_AFTER:
            return
        began = time.monotonic()
        gc.collect()
        gc.freeze()
        self.longest_full_ms = max(self.longest_full_ms, (time.monotonic() - began) * 1000)
