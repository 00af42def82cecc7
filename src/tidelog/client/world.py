"""What a client needs of the world: the ports that a node has, and a way to wait.

The client is written against this, so that the simulator can stand behind it: the tests lose connections and kill
nodes at any moment, from a seed. `SocketWorld` is the real one, on the reactor of the server.
"""

import socket
from typing import Protocol

from tidelog.io.clock import SystemClock
from tidelog.io.entropy import SystemEntropy
from tidelog.io.reactor import Reactor
from tidelog.ports.clock import Clock
from tidelog.ports.entropy import Entropy
from tidelog.ports.network import Network


class World(Protocol):
    @property
    def clock(self) -> Clock: ...

    @property
    def entropy(self) -> Entropy: ...

    @property
    def network(self) -> Network: ...

    def resolve(self, host: str, port: int) -> list[str]:
        """Return the addresses of a host, in the order in which to try them. OSError where there is none."""
        ...

    def wait(self, timeout_ms: int) -> None:
        """Wait until the network has something to deliver, `timeout_ms` at most."""
        ...

    def close(self) -> None: ...


class SocketWorld:
    def __init__(self) -> None:
        self.clock = SystemClock()
        self.entropy = SystemEntropy()
        self.network = Reactor()

    def resolve(self, host: str, port: int) -> list[str]:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return list(dict.fromkeys(str(each[4][0]) for each in found))

    def wait(self, timeout_ms: int) -> None:
        self.network.wait(timeout_ms)

    def close(self) -> None:
        self.network.shut_down()
