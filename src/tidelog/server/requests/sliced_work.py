"""Work that is too much for one turn, as one item of the turn's backlog: each turn has a slice of time for it."""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

# The time of one slice in a turn. What is due to others comes on top of it.
SLICE_NS: Final = 5_000_000


class TurnSlices:
    """The base of `SlicedRequests` and `Transactions`. The turn calls `resume`, which begins with `_begin_slice` and
    queues up again while there is work left."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._is_in_backlog = False

    def resume(self) -> None:
        """Work for one slice of a turn."""
        raise NotImplementedError

    def _queue_up(self) -> None:
        if not self._is_in_backlog:
            self._is_in_backlog = True
            self._broker.turn.backlog.append(self)

    def _begin_slice(self) -> int:
        """Return when the slice is over, on the monotonic clock, in nanoseconds."""
        self._is_in_backlog = False
        self._broker.turn.credit = 0
        return self._broker.clock.monotonic_ns() + SLICE_NS
