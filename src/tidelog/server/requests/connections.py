"""The clients' connections of this broker, and the limits on how many there may be."""

from typing import TYPE_CHECKING

from tidelog.ports.network import Accepted, ConnectionId
from tidelog.server.node.descriptor_budget import UNLIMITED
from tidelog.server.requests.connection import ClientConnection

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

SCAN_EVERY_MS = 1_000
QUIET_MS = 5_000  # a connection that is quiet for so long gives back the memory that large requests made it take


class Connections:
    """All connections of clients, by id and counted by host."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._by_id: dict[ConnectionId, ClientConnection] = {}
        self._by_host: dict[str, int] = {}
        self._unfinished: dict[ClientConnection, None] = {}  # closed, with a request still under way in slices
        self._next_scan_ms = 0
        self.budget = UNLIMITED  # descriptors for connections
        self.accepted_total = 0
        self.refused_total = 0

    def __len__(self) -> int:
        return len(self._by_id)

    @property
    def counted(self) -> int:
        """The number of connections that count against the limits. One that is closed counts until all is done that it
        asked for: its request takes memory, and a client that comes and goes would pile up as many as it likes."""
        return len(self._by_id) + len(self._unfinished)

    def accept(self, accepted: Accepted) -> ClientConnection:
        """Take a new connection in; it is closed at once where a limit is reached."""
        broker, host = self._broker, accepted.peer.host
        connection = ClientConnection(broker, accepted)
        limits = broker.limits
        is_full = self.counted >= limits.connections_max
        if self.counted >= self.budget and not is_full:
            self.refused_total += 1
            broker.events.connections_short(accepted, self.budget)
            connection.close()
            return connection
        if is_full or self._by_host.get(host, 0) >= limits.connections_from(host):
            self.refused_total += 1
            limit = "max.connections" if is_full else "max.connections.per.ip"
            broker.events.connection_refused(accepted, limit)
            connection.close()
            return connection
        self.accepted_total += 1
        self._by_id[connection.id] = connection
        self._by_host[host] = self._by_host.get(host, 0) + 1
        return connection

    def closed(self, connection: ClientConnection, reason: str) -> None:
        if self._by_id.pop(connection.id, None) is None:
            return
        if connection.sliced:
            self._unfinished[connection] = None
        else:
            self._forget(connection)
        self._broker.events.disconnected(connection, reason)

    def finished(self, connection: ClientConnection) -> None:
        """Count a closed connection no longer: nothing of it is under way any more."""
        if self._unfinished.pop(connection, connection) is None:
            self._forget(connection)

    def _forget(self, connection: ClientConnection) -> None:
        if connection.memory is not None:
            connection.memory.release(connection)
        host = connection.accepted.peer.host
        left = self._by_host[host] - 1
        if left:
            self._by_host[host] = left
        else:
            del self._by_host[host]

    def close(self, connection: ClientConnection) -> None:
        connection.close()

    def close_idle(self, now_ms: int) -> None:
        """Close connections that are idle for too long, once a second: to look at all of them is cheaper than to keep
        them in the order of their last requests."""
        if now_ms < self._next_scan_ms:
            return
        self._next_scan_ms = now_ms + SCAN_EVERY_MS
        self._close_overdue(now_ms)
        idle_ms_max = self._broker.limits.idle_ms_max
        for connection in list(self._by_id.values()):
            quiet_ms = now_ms - connection.last_active_ms
            if 0 <= idle_ms_max < quiet_ms and not connection.protocol.in_flight:
                self.close(connection)
            elif quiet_ms >= QUIET_MS:
                connection.rest()

    def _close_overdue(self, now_ms: int) -> None:
        """Close the connections whose half-received request keeps others from the memory for theirs."""
        memory = self._broker.request_memory
        for connection in [] if memory is None else memory.overdue(now_ms):
            self._broker.events.too_slow(connection, connection.receive.claimed_bytes)
            self.close(connection)

    def all(self) -> list[ClientConnection]:
        return list(self._by_id.values())
