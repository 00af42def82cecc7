"""Time, as two clocks, because one can not do both jobs.

The wall clock is what people and other machines mean by a time: record timestamps, retention, token expiry. It may
jump either way when someone or NTP sets it. The monotonic clock means nothing outside this process, but never goes
back: elections, sessions, request timeouts and every other deadline are measured on it, so that setting the clock can
neither expire a session nor keep a dead one alive.

Cores do not hold a Clock: the time is an argument to them, read once a turn by the server.
"""

from typing import Protocol


class Clock(Protocol):
    def wall_ms(self) -> int:
        """Return the milliseconds since 1970 UTC. Two calls may go backwards."""
        ...

    def monotonic_ms(self) -> int:
        """Return the milliseconds since an arbitrary moment. Two calls never go backwards."""
        ...

    def monotonic_ns(self) -> int:
        """Nanoseconds since the moment that `monotonic_ms` counts from: to measure how long a piece of work took."""
        ...
