"""The bound on requests that are being received (`queued.max.request.bytes`).

A frame larger than a connection's first buffer is counted from when its size is known until it was handled. While less
than the limit is in use, the next one may begin, and then it may also end: the limit is passed by one frame at most,
and no two clients can wait for each other with half a frame each. When it is used up, a client that begins a frame is
not read from until another's has been handled.

Small frames are not counted: each connection has a buffer for them anyway.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidelog.server.connection import ClientConnection


class RequestMemory:
    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.used_bytes = 0
        self._reserved: dict[ClientConnection, int] = {}
        self._waiting: dict[ClientConnection, None] = {}

    @property
    def waiting_count(self) -> int:
        return len(self._waiting)

    def note(self, connection: "ClientConnection") -> bool:
        """What a connection holds of a frame that is not complete yet; False: it has to wait until `go_on`."""
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
        self.used_bytes += claimed - self._reserved.get(connection, 0)
        self._reserved[connection] = claimed

    def release(self, connection: "ClientConnection") -> None:
        """Its frame was handled, or it is gone."""
        self._waiting.pop(connection, None)
        reserved = self._reserved.pop(connection, None)
        if reserved is None:
            return
        self.used_bytes -= reserved
        while self._waiting and self.used_bytes < self.limit_bytes:
            first = next(iter(self._waiting))
            del self._waiting[first]
            self._reserve(first, first.receive.claimed_bytes)
            first.go_on_receiving()
