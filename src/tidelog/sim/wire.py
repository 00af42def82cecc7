"""One direction of one simulated connection: what is on its way, and when it is due.

A wire never reorders, loses or repeats bytes, as TCP does not: it delays them, cuts them anywhere, holds them while
the two hosts are partitioned, or ends. It takes a limited number of bytes, so that a slow reader makes the sender wait.
"""

from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from random import Random
from typing import NamedTuple


@dataclass(slots=True)
class NetworkSettings:
    delay_ms_min: int = 0
    delay_ms_max: int = 5
    send_buffer_bytes: int = 64 * 1024
    # How likely a write to the socket takes less than it could.
    short_write_chance: float = 0.3
    # How likely a write kills its connection instead.
    reset_chance: float = 0.0


class Kind(Enum):
    SYN = "syn"
    ACK = "ack"
    DATA = "data"
    FIN = "fin"
    RST = "rst"


class Item(NamedTuple):
    due_ms: int
    kind: Kind
    data: bytes = b""


@dataclass(slots=True)
class Wire:
    source: str
    target: str
    settings: NetworkSettings
    random: Random
    items: deque[Item] = field(default_factory=deque)
    in_flight_bytes: int = 0

    def put(self, now_ms: int, kind: Kind, data: bytes = b"") -> None:
        """Put something on its way. It is due after some delay, and never before what was put earlier: only the first
        item is ever looked at."""
        due_ms = now_ms + self.random.randint(self.settings.delay_ms_min, self.settings.delay_ms_max)
        self.items.append(Item(due_ms, kind, data))
        self.in_flight_bytes += len(data)

    def cut(self, now_ms: int) -> None:
        """Reset the connection. A reset overtakes everything on its way."""
        self.items.clear()
        self.in_flight_bytes = 0
        self.put(now_ms, Kind.RST)

    def pop(self) -> Item:
        item = self.items.popleft()
        self.in_flight_bytes -= len(item.data)
        return item

    def take(self, wanted: int) -> int:
        """Return how many of the `wanted` bytes one write to the socket takes now; 0: it would block."""
        count = min(wanted, self.settings.send_buffer_bytes - self.in_flight_bytes)
        if count > 1 and self.random.random() < self.settings.short_write_chance:
            count = self.random.randrange(1, count)
        return count

    def resets(self) -> bool:
        return self.settings.reset_chance > 0 and self.random.random() < self.settings.reset_chance
