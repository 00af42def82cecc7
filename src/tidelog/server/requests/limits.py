"""How much one client, and all of them together, may take of the broker.

Each limit has a reason: a connection costs memory and a descriptor (`max.connections`, `max.connections.per.ip`), a
frame's size is a claim by a stranger (`socket.request.max.bytes`), many large requests at once are more than one
(`queued.max.request.bytes`), responses are held until they are read (`fetch.max.bytes`), and a client that went away
without a word keeps its place for ever (`connections.max.idle.ms`).
"""

from collections.abc import Mapping

from tidelog.config import BrokerConfig
from tidelog.config.endpoints import parse_pairs
from tidelog.config.settings import listeners, requests
from tidelog.model.lazy_dataclass import dataclass


@dataclass(slots=True)
class Limits:
    """The limits, as the broker's settings say."""

    request_bytes_max: int
    queued_bytes_max: int  # of requests that are being received; below 0: no limit
    fetch_bytes_max: int
    connections_max: int
    connections_per_address_max: int
    connections_by_address_max: Mapping[str, int]  # overrides of the line above
    idle_ms_max: int
    fetch_sessions_max: int

    def connections_from(self, host: str) -> int:
        return self.connections_by_address_max.get(host, self.connections_per_address_max)


def limits_of(config: BrokerConfig) -> Limits:
    overrides = parse_pairs(config.get(listeners.MAX_CONNECTIONS_PER_IP_OVERRIDES))
    return Limits(
        request_bytes_max=config.get(listeners.SOCKET_REQUEST_MAX_BYTES),
        queued_bytes_max=config.get(listeners.QUEUED_MAX_REQUEST_BYTES),
        fetch_bytes_max=config.get(requests.FETCH_MAX_BYTES),
        connections_max=config.get(listeners.MAX_CONNECTIONS),
        connections_per_address_max=config.get(listeners.MAX_CONNECTIONS_PER_IP),
        connections_by_address_max={host: int(count) for host, count in overrides.items()},
        idle_ms_max=config.get(listeners.CONNECTIONS_MAX_IDLE_MS),
        fetch_sessions_max=config.get(requests.MAX_INCREMENTAL_FETCH_SESSION_CACHE_SLOTS),
    )
