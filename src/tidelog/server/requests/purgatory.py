"""Requests that wait: for replication or a sync (produce), for data (fetch), for a commit of the metadata log.

An operation is told when something happened that it watches (`partition.Partition` keeps who watches it), and here
when its time is up. One that completes earlier stays in the heap, which costs less than finding it; where those are
more than half of it they are thrown out, and with them those whose clients have gone: a deadline may be weeks away.
"""

from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush
from typing import Final, Protocol

SMALL: Final = 1_000  # operations: not worth looking through


class Delayed(Protocol):
    """An operation that waits, and has a deadline."""

    is_done: bool

    def is_abandoned(self) -> bool:
        """Tell whether nobody waits for the answer any more; if so, let go of what the operation holds."""
        ...

    def expire(self) -> None:
        """Answer with what there is: the time is up."""
        ...


def _never() -> bool:
    """Say that there is always time."""
    return False


class Purgatory:
    """The operations that wait, by deadline."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Delayed]] = []
        self._clean_at = SMALL
        self._count = 0  # orders operations of one deadline, and keeps the heap from comparing them

    def __len__(self) -> int:
        """Return how many operations the heap has; some of them may be done."""
        return len(self._heap)

    def waiting(self) -> Iterator[Delayed]:
        return (operation for _deadline_ms, _count, operation in self._heap if not operation.is_done)

    def add(self, operation: Delayed, deadline_ms: int) -> None:
        """Add an operation with a deadline on the monotonic clock."""
        self._count += 1
        heappush(self._heap, (deadline_ms, self._count, operation))
        if len(self._heap) > self._clean_at:
            self._heap = [entry for entry in self._heap if not (entry[2].is_done or entry[2].is_abandoned())]
            heapify(self._heap)
            self._clean_at = max(SMALL, 2 * len(self._heap))

    @property
    def deadline_ms(self) -> int | None:
        """The earliest deadline, at which to call `expire`; None where nothing waits."""
        heap = self._heap
        while heap and heap[0][2].is_done:
            heappop(heap)
        return heap[0][0] if heap else None

    def is_due(self, now_ms: int) -> bool:
        """Tell whether some deadline has passed. The operation may be done already."""
        heap = self._heap
        return bool(heap) and heap[0][0] <= now_ms

    def expire(self, now_ms: int, is_over: Callable[[], bool] = _never) -> None:
        """End the wait of operations whose time is up: one at least, and as many as the turn has time for. Consumers
        that came at one moment are due at one moment, and an answer about hundreds of partitions takes a while."""
        heap = self._heap
        while heap and heap[0][0] <= now_ms:
            operation = heappop(heap)[2]
            if not operation.is_done:
                operation.expire()
                if is_over():
                    return
