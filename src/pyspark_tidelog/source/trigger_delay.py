"""`minOffsetsPerTrigger` and `maxTriggerDelay`: a batch waits until enough has come, but not for ever.

The first trigger of a run is never held back, as in Spark's connector: what a stopped query has missed is old already.
"""

from collections.abc import Callable


class TriggerDelay:
    def __init__(self, min_rows: int | None, delay_ms_max: int, now_ms: Callable[[], int]) -> None:
        self._min_rows = min_rows
        self._delay_ms_max = delay_ms_max
        self._now_ms = now_ms
        self._last_ms: int | None = None  # when a batch was let through

    def holds_back(self, waiting: int) -> bool:
        """`waiting`: how many records there are to read."""
        if self._min_rows is None or not waiting:
            return False
        now_ms = self._now_ms()
        is_due = self._last_ms is None or now_ms - self._last_ms >= self._delay_ms_max
        if waiting < self._min_rows and not is_due:
            return True
        self._last_ms = now_ms
        return False
