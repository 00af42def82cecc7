"""Requests that wait: for replication or a sync (produce), for data (fetch), for a commit of the metadata log.

An operation is told when something happened that it watches (`partition.Partition` keeps who watches it), and here
when its time is up. One that completes earlier stays in the heap until its deadline, which costs less than finding it.
"""

from heapq import heappop, heappush
from typing import Protocol


class Delayed(Protocol):
    is_done: bool

    def expire(self) -> None:
        """The time is up: answer with what there is."""
        ...


class Purgatory:
    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Delayed]] = []
        self._count = 0  # orders operations of one deadline, and keeps the heap from comparing them

    def __len__(self) -> int:
        """Those that are done count until their deadline."""
        return len(self._heap)

    def add(self, operation: Delayed, deadline_ms: int) -> None:
        """On the monotonic clock."""
        self._count += 1
        heappush(self._heap, (deadline_ms, self._count, operation))

    @property
    def deadline_ms(self) -> int | None:
        """When to call `expire` next."""
        heap = self._heap
        while heap and heap[0][2].is_done:
            heappop(heap)
        return heap[0][0] if heap else None

    def expire(self, now_ms: int) -> None:
        heap = self._heap
        while heap and heap[0][0] <= now_ms:
            operation = heappop(heap)[2]
            if not operation.is_done:
                operation.expire()
