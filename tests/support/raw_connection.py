"""A connection in the simulator that shows the bytes as they are."""

import struct

from tidelog.sim.node_world import NodeWorld

HEADER = struct.Struct(">hhih")


def raw_request(api_key: int, version: int, body: bytes = b"") -> bytes:
    payload = HEADER.pack(api_key, version, 77, -1) + body
    return struct.pack(">i", len(payload)) + payload


class Raw:
    """A connection that shows the bytes as they are."""

    def __init__(self, world: NodeWorld, port: int = 9092) -> None:
        self._world = world
        self._room = bytearray(1 << 16)
        self.data = b""
        self.is_closed = False
        self.connection = world.client_host.connect("node", port, self)

    def writable(self) -> memoryview:
        return memoryview(self._room)

    def received(self, count: int) -> None:
        self.data += bytes(self._room[:count])

    def connected(self) -> None: ...

    def drained(self) -> None: ...

    def closed(self, _reason: str) -> None:
        self.is_closed = True

    def send(self, data: bytes) -> None:
        self._world.client_host.send(self.connection, [data])

    def frame(self) -> bytes:
        """Return the next response without its size; b"" when the connection was closed instead."""
        return bytes(self._world.wait_for(self._look))

    def _look(self) -> bytes | None:
        if len(self.data) >= 4:
            (size,) = struct.unpack_from(">i", self.data)
            if len(self.data) >= 4 + size:
                found, self.data = self.data[4 : 4 + size], self.data[4 + size :]
                return found
        return b"" if self.is_closed else None
