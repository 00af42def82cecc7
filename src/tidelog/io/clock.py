"""The machine's clocks."""

import time

NANOSECONDS_PER_MS = 1_000_000


class SystemClock:
    def wall_ms(self) -> int:
        return time.time_ns() // NANOSECONDS_PER_MS

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // NANOSECONDS_PER_MS

    def monotonic_ns(self) -> int:
        return time.monotonic_ns()
