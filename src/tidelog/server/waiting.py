"""Operations that watch partitions, and the partitions' end of it."""

from collections.abc import Iterable
from typing import Protocol

from tidelog.server.partition import Partition


class PartitionWaiter(Protocol):
    is_done: bool

    def try_complete(self) -> bool:
        """A partition that it watches has moved; whether it is done by that."""
        ...

    def expire(self) -> None:
        """Answer with what there is."""
        ...


def wake_waiters(partitions: Iterable[Partition]) -> None:
    """Those who wait for an acknowledgement or for data of these partitions. Who is done is forgotten, here and, when
    their turn comes, by the other partitions that it watched."""
    for partition in partitions:
        if partition.produce_waiters:
            _wake(partition.produce_waiters)
        if partition.fetch_waiters:
            _wake(partition.fetch_waiters)


def _wake(waiters: dict[PartitionWaiter, None]) -> None:
    for waiter in list(waiters):
        if waiter.is_done or waiter.try_complete():
            waiters.pop(waiter, None)
