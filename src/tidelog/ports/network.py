"""Connections, as far as a turn of the server needs them: bytes come in, parts go out, nothing ever waits.

The turn calls `poll`, which puts arrived bytes straight into the memory of their receivers and tells them so; at its
end it gives every response to `send`. What every implementation keeps to:

- A connection is a stream: bytes arrive once, in order, cut anywhere.
- `closed` is the last that a receiver hears, exactly once; it hears nothing after our own `close`.
- Bytes go where the receiver's `writable` points, without a copy: batches are patched and written to disk from there.
- `send` takes over its parts, in order. Bytes must not change until they are sent. A file range is read when it is
  sent, and released when it is sent or the connection ends. A range whose file shrank ends the connection, because the
  length that was promised in front of it can not be kept.
- A connection may end at any moment, so naming one that has ended is no error: its parts are dropped.

Listeners are opened by whoever builds the network, before the server runs.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, NewType, Protocol

from tidelog.ports.files import Buffer, FileRange

ConnectionId = NewType("ConnectionId", int)
SendPart = Buffer | FileRange


class Address(NamedTuple):
    host: str
    port: int


class Accepted(NamedTuple):
    connection: ConnectionId
    listener: str
    peer: Address  # for logs, ACLs and limits
    local: Address  # by which the peer reached us, and which it may therefore be told as our own


class Receiver(Protocol):
    """The owner's end of one connection. All of it is called from within `poll`."""

    def writable(self) -> memoryview:
        """Return memory for the next bytes, never empty."""
        ...

    def received(self, count: int) -> None:
        """Take note that `count` bytes were written into the memory that `writable` returned."""
        ...

    def connected(self) -> None:
        """Take note that a `connect` succeeded. What was sent before is on its way now. Not called for accepted
        connections."""
        ...

    def drained(self) -> None:
        """Take note that what a `send` had to keep has been handed over: whoever held back may go on."""
        ...

    def closed(self, reason: str) -> None: ...


Acceptor = Callable[[Accepted], Receiver]


class Network(Protocol):
    def serve(self, acceptor: Acceptor, listener: str | None = None) -> None:
        """Set who receives what arrives on the connections of one listener; with None, of all listeners that have no
        acceptor of their own. An acceptor that does not want a connection closes it. Peers that connect before there is
        an acceptor wait."""
        ...

    def poll(self) -> None:
        """Deliver what has arrived since the last call, up to a limit; never waits."""
        ...

    def connect(self, host: str, port: int, receiver: Receiver) -> ConnectionId:
        """Begin to connect. `connected` or `closed` follows, or nothing at all: a deadline is the caller's business."""
        ...

    def send(self, connection: ConnectionId, parts: Sequence[SendPart]) -> bool:
        """Send the parts; tell whether all of them were handed over. Otherwise `drained` (or `closed`) follows."""
        ...

    def mute(self, connection: ConnectionId) -> None:
        """Receive nothing from it until `unmute`: a quota is exceeded, or its responses pile up."""
        ...

    def unmute(self, connection: ConnectionId) -> None: ...

    def close(self, connection: ConnectionId) -> None:
        """Close the connection. What was not handed over yet is dropped; what was still arrives."""
        ...
