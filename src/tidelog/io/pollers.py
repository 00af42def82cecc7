"""Which descriptors are ready: epoll where there is one, `selectors` elsewhere (macOS, for development and tests).

Level-triggered in both: what a turn leaves unread is ready again in the next, so a limit on a turn loses nothing.
"""

import select
import selectors
from typing import Final, Protocol

READ: Final = 1
WRITE: Final = 2
FAILED: Final = 4  # hung up or in error; reported whatever the interest
READY_MAX: Final = 256  # in one turn: more would only make the first of them wait for the last


class Poller(Protocol):
    def register(self, descriptor: int, interest: int) -> None: ...

    def modify(self, descriptor: int, interest: int) -> None: ...

    def unregister(self, descriptor: int) -> None: ...

    def poll(self, timeout_s: float | None) -> list[tuple[int, int]]:
        """Return descriptors and what they are ready for; wait for `timeout_s`, or for ever (None)."""
        ...

    def close(self) -> None: ...


def new_poller() -> Poller:
    return EpollPoller() if hasattr(select, "epoll") else SelectorPoller()


class EpollPoller:
    """A poller on epoll. Its bits are READ = 1 and WRITE = 4; they are translated by a table, and not by objects as in
    `selectors`, because this runs in every turn."""

    def __init__(self) -> None:
        self._epoll = select.epoll()

    def register(self, descriptor: int, interest: int) -> None:
        self._epoll.register(descriptor, _TO_EPOLL[interest])

    def modify(self, descriptor: int, interest: int) -> None:
        self._epoll.modify(descriptor, _TO_EPOLL[interest])

    def unregister(self, descriptor: int) -> None:
        self._epoll.unregister(descriptor)

    def poll(self, timeout_s: float | None) -> list[tuple[int, int]]:
        ready = self._epoll.poll(timeout_s, READY_MAX)
        return [(descriptor, _FROM_EPOLL[events & 0x1F]) for descriptor, events in ready]

    def close(self) -> None:
        self._epoll.close()


# Interest to epoll's bits, and back: IN 1, PRI 2, OUT 4, ERR 8, HUP 16.
_TO_EPOLL: Final = (0, 1, 4, 5)
_FROM_EPOLL: Final = tuple(
    (READ if events & 1 else 0) | (WRITE if events & 4 else 0) | (FAILED if events & 0x18 else 0)
    for events in range(0x20)
)


class SelectorPoller:
    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._idle: dict[int, None] = {}  # registered without interest, which `selectors` does not allow

    def register(self, descriptor: int, interest: int) -> None:
        if interest:
            self._selector.register(descriptor, _TO_SELECTORS[interest])
        else:
            self._idle[descriptor] = None

    def modify(self, descriptor: int, interest: int) -> None:
        self.unregister(descriptor)
        self.register(descriptor, interest)

    def unregister(self, descriptor: int) -> None:
        if descriptor in self._idle:
            del self._idle[descriptor]
        else:
            self._selector.unregister(descriptor)

    def poll(self, timeout_s: float | None) -> list[tuple[int, int]]:
        ready = self._selector.select(timeout_s)[:READY_MAX]
        return [(key.fd, _from_selectors(events)) for key, events in ready]

    def close(self) -> None:
        self._selector.close()


_TO_SELECTORS: Final = (
    0,
    selectors.EVENT_READ,
    selectors.EVENT_WRITE,
    selectors.EVENT_READ | selectors.EVENT_WRITE,
)


def _from_selectors(events: int) -> int:
    return (READ if events & selectors.EVENT_READ else 0) | (WRITE if events & selectors.EVENT_WRITE else 0)
