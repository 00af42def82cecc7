"""`minOffsetsPerTrigger` and `maxTriggerDelay`: a batch waits until enough records have come, but not for ever.

The first trigger of a run is never held back, as in Spark's connector: records that came while the query was stopped
have waited long enough.
"""

from collections.abc import Callable


class TriggerDelay:
    def __init__(self, min_rows: int | None, delay_ms_max: int, now_ms: Callable[[], int]) -> None:
        self._min_rows = min_rows
        self._delay_ms_max = delay_ms_max
        self._now_ms = now_ms
        self._last_ms: int | None = None  # when a batch was let through

    def holds_back(self, waiting: int) -> bool:
        """Tell whether the batch has to wait. `waiting`: how many records there are to read."""
        if self._min_rows is None or not waiting:
            return False
        now_ms = self._now_ms()
        is_due = self._last_ms is None or now_ms - self._last_ms >= self._delay_ms_max
        if waiting < self._min_rows and not is_due:
            return True
        self._last_ms = now_ms
        return False
