"""The bound on requests that are being received (`queued.max.request.bytes`).

A frame larger than a connection's first buffer is counted from when its size is known until it was handled. While less
than the limit is in use, the next one may begin, and then it may also end: the limit is passed by one frame at most,
and no two clients can wait for each other with half a frame each. When it is used up, a client that begins a frame is
not read from until another's has been handled.

So a client that begins a large frame and does not end it would keep all others waiting. While somebody waits, a frame
has `PATIENCE_MS` and a second for each megabyte to arrive; then its connection is closed (`overdue`). While nobody
waits, a client may be as slow as it likes, as in Apache Kafka, which knows no such end.

Small frames are not counted: each connection has a buffer for them anyway. What a request keeps beyond its turn, with
bytes of its own, is (`keep`).
"""

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from tidelog.server.requests.connection import ClientConnection

# The time for a frame to arrive whole, while others wait for memory; a slow line carries a megabyte in ten seconds.
PATIENCE_MS: Final = 10_000
BYTES_PER_MS: Final = 1_000  # a large frame gets a further millisecond for each of these


class Reservation(NamedTuple):
    """The memory of one frame that is being received."""

    size_bytes: int
    frame: int  # the number of the connection's frames before it
    since_ms: int


class RequestMemory:
    """The memory of all requests that are being received, or kept: `broker.request_memory`."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.used_bytes = 0
        self._reserved: dict[ClientConnection, Reservation] = {}
        self._waiting: dict[ClientConnection, None] = {}

    @property
    def waiting_count(self) -> int:
        return len(self._waiting)

    def note(self, connection: "ClientConnection") -> bool:
        """Count the frame that a connection is receiving; False: the connection has to wait until `go_on_receiving`."""
        claimed = connection.receive.claimed_bytes
        if claimed <= connection.receive.initial_capacity:
            self.release(connection)
            return True
        if connection not in self._reserved and self.used_bytes >= self.limit_bytes:
            self._waiting[connection] = None
            return False
        self._reserve(connection, claimed)
        return True

    def _reserve(self, connection: "ClientConnection", claimed: int) -> None:
        frame = connection.protocol.opened_total
        before = self._reserved.get(connection)
        if before is not None:
            if before.frame == frame:
                return
            self.used_bytes -= before.size_bytes
        self.used_bytes += claimed
        self._reserved[connection] = Reservation(claimed, frame, connection.turn.monotonic_ms)

    def release(self, connection: "ClientConnection") -> None:
        """Free the connection's memory: its frame was handled, or it is gone."""
        self._waiting.pop(connection, None)
        reserved = self._reserved.pop(connection, None)
        if reserved is None:
            return
        self.give_back(reserved.size_bytes)

    def keep(self, size_bytes: int) -> None:
        """Count the bytes of a request that was handled in part, until `give_back`."""
        self.used_bytes += size_bytes

    def give_back(self, size_bytes: int) -> None:
        """Free memory, and let the connections that wait for it go on."""
        self.used_bytes -= size_bytes
        while self._waiting and self.used_bytes < self.limit_bytes:
            first = next(iter(self._waiting))
            del self._waiting[first]
            self._reserve(first, first.receive.claimed_bytes)
            first.go_on_receiving()

    def overdue(self, now_ms: int) -> "list[ClientConnection]":
        """Return the connections whose frame takes too long to arrive while others wait for memory. A connection that
        this broker does not read from, because it is busy with its requests, is not to blame."""
        if not self._waiting:
            return []
        return [
            connection
            for connection, reserved in self._reserved.items()
            if now_ms - reserved.since_ms > PATIENCE_MS + reserved.size_bytes // BYTES_PER_MS
            and not (connection.is_held or connection.is_in_backlog or connection.is_full)
        ]
