"""Who is connected, and who is one too many."""

from typing import TYPE_CHECKING

from tidelog.ports.network import Accepted, ConnectionId
from tidelog.server.connection import ClientConnection

if TYPE_CHECKING:
    from tidelog.server.broker import Broker

SCAN_EVERY_MS = 1_000
QUIET_MS = 5_000  # a connection that is quiet for so long gives back the memory that large requests made it take


class Connections:
    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._by_id: dict[ConnectionId, ClientConnection] = {}
        self._by_host: dict[str, int] = {}
        self._next_scan_ms = 0
        self.accepted_total = 0
        self.refused_total = 0

    def __len__(self) -> int:
        return len(self._by_id)

    def accept(self, accepted: Accepted) -> ClientConnection:
        broker, host = self._broker, accepted.peer.host
        connection = ClientConnection(broker, accepted)
        limits = broker.limits
        is_full = len(self._by_id) >= limits.connections_max
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
        if connection.memory is not None:
            connection.memory.release(connection)
        host = connection.accepted.peer.host
        left = self._by_host[host] - 1
        if left:
            self._by_host[host] = left
        else:
            del self._by_host[host]
        self._broker.events.disconnected(connection, reason)

    def close(self, connection: ClientConnection) -> None:
        connection.close()

    def close_idle(self, now_ms: int) -> None:
        """From time to time: all of them are looked at, which is cheaper than moving each at each request."""
        if now_ms < self._next_scan_ms:
            return
        self._next_scan_ms = now_ms + SCAN_EVERY_MS
        idle_ms_max = self._broker.limits.idle_ms_max
        for connection in list(self._by_id.values()):
            quiet_ms = now_ms - connection.last_active_ms
            if 0 <= idle_ms_max < quiet_ms and not connection.protocol.in_flight:
                self.close(connection)
            elif quiet_ms >= QUIET_MS:
                connection.receive.trim()

    def all(self) -> list[ClientConnection]:
        return list(self._by_id.values())
