"""How many requests of each API there were and how long they took.

    queue      from the bytes' arrival to the handler: within a turn, the requests before it
    local      the handler
    remote     waiting for others: replicas, a sync, more data
    response   from the answer to its handing over to the network

A turn answers most requests at one moment, so they are counted together, by turn and not by request.
"""

from bisect import bisect_left
from typing import Final

# Upper bounds in nanoseconds: 10 us to 5 s, three a decade.
_MANTISSAS: Final = (1, 2, 5)
BOUNDS_NS: Final = tuple(mantissa * 10**exponent for exponent in range(4, 10) for mantissa in _MANTISSAS)


class Histogram:
    """Counts by upper bound; Prometheus's kind."""

    __slots__ = ("counts", "sum_ns", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_NS) + 1)
        self.sum_ns = 0
        self.total = 0

    def add(self, duration_ns: int, count: int = 1) -> None:
        self.counts[bisect_left(BOUNDS_NS, duration_ns)] += count
        self.sum_ns += duration_ns * count
        self.total += count


class ApiMetrics:
    __slots__ = ("errors", "local", "queue", "remote", "response", "total")

    def __init__(self) -> None:
        self.errors: dict[int, int] = {}
        self.queue = Histogram()
        self.local = Histogram()
        self.remote = Histogram()
        self.response = Histogram()
        self.total = Histogram()


class RequestMetrics:
    def __init__(self) -> None:
        self.by_api: dict[int, ApiMetrics] = {}

    def of(self, api_key: int) -> ApiMetrics:
        found = self.by_api.get(api_key)
        if found is None:
            found = self.by_api[api_key] = ApiMetrics()
        return found
