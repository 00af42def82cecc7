"""Responses leave a connection in the order of their requests, whatever order they are completed in.

Clients match responses by position as much as by correlation id, so one that is ready early is held until all before
it have left. A request that gets no response (produce with acks=0) is completed with nothing and takes its turn like
any other: forgetting it would hold back everything after it, for ever.
"""

from collections import deque
from collections.abc import Sequence
from typing import Any

_IN_MEMORY = (bytes, bytearray, memoryview)


class ResponseOrder:
    def __init__(self) -> None:
        self._first = 0  # sequence of the oldest request that has not left
        self._slots: deque[Sequence[Any] | None] = deque()  # its parts where it is complete, by age

    def __len__(self) -> int:
        """The number of requests that were opened and have not left."""
        return len(self._slots)

    @property
    def opened_total(self) -> int:
        """The number of requests that were ever opened, which is the sequence number of the next one."""
        return self._first + len(self._slots)

    def open(self) -> int:
        """Return the sequence number of a request that has just arrived."""
        self._slots.append(None)
        return self._first + len(self._slots) - 1

    def complete(self, sequence: int, parts: Sequence[Any]) -> list[Any]:
        """Complete a request, and return the parts that may leave now, in order: nothing, this response, or this one
        and those that waited for it."""
        slots = self._slots
        index = sequence - self._first
        if not 0 <= index < len(slots) or slots[index] is not None:
            raise ValueError(f"request {sequence} is not waiting for a response")
        if index == 0 and len(slots) == 1:
            slots.popleft()
            self._first += 1
            return list(parts)
        slots[index] = parts
        ready: list[Any] = []
        while slots and (leaving := slots[0]) is not None:
            ready += leaving
            slots.popleft()
            self._first += 1
        return ready

    @property
    def held_bytes(self) -> int:
        """The bytes of responses that wait for an earlier one; ranges of files are not in memory, and not counted."""
        return sum(len(part) for parts in self._slots if parts for part in parts if isinstance(part, _IN_MEMORY))

    def abandon(self) -> list[Any]:
        """Forget everything; return the parts that were held."""
        held = [part for parts in self._slots if parts for part in parts]
        self._first += len(self._slots)
        self._slots.clear()
        return held
