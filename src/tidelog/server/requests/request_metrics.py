"""How many requests of each API there were and how long they took.

    queue      from the bytes' arrival to the handler: within a turn, the requests before it
    local      the handler
    remote     waiting for others: replicas, a sync, more data
    response   from the answer to its handing over to the network, at the end of the turn
    total      all of it

A turn hands over its answers at one moment: until then they are only noted. Requests of the produce path are counted
together, a turn of them at a time; what they wait for and what they cost can not be told apart, so it is all `local`.

Compiled by mypyc: every turn of a busy broker comes here.
"""

from bisect import bisect_left
from typing import Final

# Upper bounds in nanoseconds: 10 us to 5 s, three a decade.
_MANTISSAS: Final = (1, 2, 5)
BOUNDS_NS: Final = tuple(mantissa * 10**exponent for exponent in range(4, 10) for mantissa in _MANTISSAS)


class Histogram:
    """Durations counted by upper bound, as in Prometheus."""

    __slots__ = ("counts", "sum_ns", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_NS) + 1)
        self.sum_ns = 0
        self.total = 0

    def add(self, duration_ns: int, count: int = 1) -> None:
        self.counts[bisect_left(BOUNDS_NS, duration_ns)] += count
        self.sum_ns += duration_ns * count
        self.total += count

    def add_nothing(self, count: int) -> None:
        """Count requests that took no time at all."""
        self.counts[0] += count
        self.total += count


class ApiMetrics:
    """The durations and errors of one API."""

    __slots__ = ("errors", "local", "queue", "remote", "response", "total")

    def __init__(self) -> None:
        self.errors: dict[int, int] = {}  # by code, of requests that were refused as a whole
        self.queue = Histogram()
        self.local = Histogram()
        self.remote = Histogram()
        self.response = Histogram()
        self.total = Histogram()


class RequestMetrics:
    """The metrics of every API: `broker.request_metrics`."""

    def __init__(self) -> None:
        self.by_api: dict[int, ApiMetrics] = {}
        # Answers of this turn: the API's metrics, when the requests arrived and were answered, and how many they are.
        self._answered: list[tuple[ApiMetrics, int, int, int]] = []

    def of(self, api_key: int) -> ApiMetrics:
        found = self.by_api.get(api_key)
        if found is None:
            found = self.by_api[api_key] = ApiMetrics()
        return found

    def answered(self, api_key: int, received_ns: int, started_ns: int, handled_ns: int, now_ns: int) -> None:
        metrics = self.of(api_key)
        metrics.queue.add(started_ns - received_ns)
        metrics.local.add(handled_ns - started_ns)
        metrics.remote.add(now_ns - handled_ns)
        self._answered.append((metrics, received_ns, now_ns, 1))

    def answered_quickly(self, api_key: int, count: int, began_ns: int, now_ns: int) -> None:
        """Count requests of a quick path that were answered in the turn that began at `began_ns`."""
        metrics = self.of(api_key)
        metrics.queue.add_nothing(count)
        metrics.local.add(now_ns - began_ns, count)
        metrics.remote.add_nothing(count)
        self._answered.append((metrics, began_ns, now_ns, count))

    def refused(self, api_key: int, code: int) -> None:
        errors = self.of(api_key).errors
        errors[code] = errors.get(code, 0) + 1

    def sent(self, now_ns: int) -> None:
        """Count how long the answers of this turn took to leave, at its end."""
        if self._answered:
            for metrics, received_ns, answered_ns, count in self._answered:
                metrics.response.add(now_ns - answered_ns, count)
                metrics.total.add(now_ns - received_ns, count)
            self._answered.clear()
