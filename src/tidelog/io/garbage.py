"""Python's cyclic garbage collector, kept from stalling the loop.

A full collection walks every object there is: with ten thousand partitions that takes longer than a turn may. So what
is there after the start is frozen (the collector does not look at it again), the young generations are collected as
usual but less often, and a full collection happens only when the loop has nothing to do; what survives it is frozen in
turn, so that each one walks only what is new.
"""

import gc
import time
from typing import Final

STARTING: Final = 100_000  # objects: twice as many as the start of a small node allocates
YOUNG: Final = 5_000  # new objects after which the youngest generation is collected, within a millisecond
# Collections of the youngest generation, after which the middle one is collected, 25,000 objects at most. What survives
# that is looked at no more while there is work, so fewer at a time cost no more in all: with ten, while thousands of
# logs were made or fetched from, one took 20 to 50 ms.
MIDDLE: Final = 3
NEVER: Final = 1 << 30
FULL_AFTER: Final = 50  # collections of the middle generation, after which a full one runs as soon as the loop is idle


def spare_the_start() -> None:
    """Collect only what a large node leaves behind while it starts. What a node imports and builds at its start stays:
    at Python's own pace the collector would look at it ninety times, a tenth of the start."""
    gc.set_threshold(STARTING, MIDDLE, NEVER)


class Garbage:
    def __init__(self) -> None:
        self.longest_full_ms = 0.0

    def settle(self) -> None:
        """Freeze what the start has built, and collect from here on as in a node that serves."""
        gc.collect()
        gc.freeze()
        gc.set_threshold(YOUNG, MIDDLE, NEVER)

    def idle(self) -> None:
        """Run a full collection if one is due, because the loop is about to wait."""
        if gc.get_count()[2] < FULL_AFTER:
            return
        began = time.monotonic()
        gc.collect()
        gc.freeze()
        self.longest_full_ms = max(self.longest_full_ms, (time.monotonic() - began) * 1000)
