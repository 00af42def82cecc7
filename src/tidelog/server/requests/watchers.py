"""Operations that watch partitions, and how a partition that has moved wakes them."""

from collections.abc import Iterable
from typing import Protocol

from tidelog.server.hosting.partition import Partition


class PartitionWaiter(Protocol):
    """A produce, or a write of markers, that waits until its records are acknowledged."""

    is_done: bool

    def try_complete(self) -> bool:
        """Look again, after a watched partition has moved; return whether the operation is done now."""
        ...

    def expire(self) -> None:
        """Answer with what there is: the time is up."""
        ...


class FetchWaiter(Protocol):
    """A partition of a fetch, or of a fetch session."""

    def moved(self) -> None:
        """Take note that the partition has moved, and stop watching it where no request waits."""
        ...

    def grown(self) -> None:
        """Take note that something was appended to the partition, and nothing else about it has changed."""
        ...


def wake_waiters(partitions: Iterable[Partition]) -> None:
    """Wake the operations that wait for an acknowledgement or for data of these partitions. A produce that is done is
    forgotten, here and, when they move, by the other partitions that it watched."""
    for partition in partitions:
        if partition.produce_waiters:
            _wake(partition.produce_waiters)
        if partition.fetch_waiters:
            for waiter in list(partition.fetch_waiters):
                waiter.moved()


def wake_grown(partitions: Iterable[Partition]) -> None:
    """Wake the operations that wait for these partitions after an append: of those who wait for data, many need not
    look."""
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
