"""Operations that watch partitions, and the partitions' end of it."""

from collections.abc import Iterable
from typing import Protocol

from tidelog.server.hosting.partition import Partition


class PartitionWaiter(Protocol):
    is_done: bool

    def try_complete(self) -> bool:
        """A partition that it watches has moved; whether it is done by that."""
        ...

    def expire(self) -> None:
        """The time is up: answer with what there is."""
        ...


class FetchWaiter(Protocol):
    """A partition of a fetch, or of a fetch session."""

    def moved(self) -> None:
        """The partition has moved. It stops watching by itself, where nobody waits any more."""
        ...

    def grown(self) -> None:
        """Something was appended to the partition, and nothing else about it has changed."""
        ...


def wake_waiters(partitions: Iterable[Partition]) -> None:
    """Tell who waits for an acknowledgement or for data of these partitions. A produce that is done is forgotten, here
    and, when their turn comes, by the other partitions that it watched."""
    for partition in partitions:
        if partition.produce_waiters:
            _wake(partition.produce_waiters)
        if partition.fetch_waiters:
            for waiter in list(partition.fetch_waiters):
                waiter.moved()


def wake_grown(partitions: Iterable[Partition]) -> None:
    """As `wake_waiters`, after an append: of those who wait for data many need not look."""
    for partition in partitions:
        if partition.produce_waiters:
            _wake(partition.produce_waiters)
        if partition.fetch_waiters:
            for waiter in list(partition.fetch_waiters):
                waiter.grown()


def _wake(waiters: dict[PartitionWaiter, None]) -> None:
    for waiter in list(waiters):
        if waiter.is_done or waiter.try_complete():
            waiters.pop(waiter, None)
