"""A clock that stands still until the simulation advances it.

Wall and monotonic time are separate, as on a machine: a jump or a drift moves the wall clock and leaves the monotonic
one alone, so that a simulation can show what depends on which.
"""

# 2023-11-14T22:13:20Z: a believable wall clock, far enough from 0 for a jump backwards to stay positive.
START_WALL_MS = 1_700_000_000_000
PARTS_PER_MILLION = 1_000_000


class SimClock:
    def __init__(self, wall_ms: int = START_WALL_MS, drift_ppm: int = 0) -> None:
        """Set the clock. `drift_ppm`: how much faster (or, negative, slower) the wall clock runs. Whole numbers
        throughout, because a float would round differently on another machine one day."""
        self._monotonic_ms = 0
        self._wall_base_ms = wall_ms
        self._drift_ppm = drift_ppm

    def wall_ms(self) -> int:
        return self._wall_base_ms + self._monotonic_ms + self._monotonic_ms * self._drift_ppm // PARTS_PER_MILLION

    def monotonic_ms(self) -> int:
        return self._monotonic_ms

    def monotonic_ns(self) -> int:
        return self._monotonic_ms * 1_000_000

    def advance(self, duration_ms: int) -> None:
        """Let time pass, which it does in no other way."""
        if duration_ms < 0:
            raise ValueError(f"time does not go back: {duration_ms} ms")
        self._monotonic_ms += duration_ms

    def advance_to(self, monotonic_ms: int) -> None:
        self.advance(monotonic_ms - self._monotonic_ms)

    def jump_wall(self, difference_ms: int) -> None:
        """Set the wall clock forwards or back, as somebody might."""
        self._wall_base_ms += difference_ms

    def drift(self, drift_ppm: int) -> None:
        """Let the wall clock run at another rate from now on; it does not jump."""
        before = self.wall_ms()
        self._drift_ppm = drift_ppm
        self._wall_base_ms += before - self.wall_ms()


class SkewedClock:
    """One node's view of the shared time: the same monotonic clock, a wall clock that is off by `skew_ms`."""

    def __init__(self, clock: SimClock, skew_ms: int) -> None:
        self._clock = clock
        self.skew_ms = skew_ms

    def wall_ms(self) -> int:
        return self._clock.wall_ms() + self.skew_ms

    def monotonic_ms(self) -> int:
        return self._clock.monotonic_ms()

    def monotonic_ns(self) -> int:
        return self._clock.monotonic_ns()
