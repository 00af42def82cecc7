"""Connections, as far as a turn of the server needs them: bytes come in, parts go out, nothing ever waits.

The turn calls `poll`, hands the bytes to its sans-IO connections, and at its end gives every response to `send`. What
every implementation keeps to:

- A connection is a stream: bytes arrive once, in order, cut anywhere.
- The first event of a connection is Accepted or Connected, the last is Closed, exactly once; none follows our `close`.
- A received view may be written to (batches are patched in place) and is valid until the next `poll`, which reuses
  the memory. What is to be kept is copied, or on disk, by then.
- `send` takes over its parts, in order. Bytes must not change until they are sent. A file range is read when it is
  sent, and released when it is sent or the connection ends. A range whose file shrank ends the connection, because the
  length that was promised in front of it can not be kept.
- A connection may end at any moment, so naming one that has ended is no error: its parts are dropped.

Listeners are opened by whoever builds the network, before the server runs.
"""

from collections.abc import Sequence
from typing import NamedTuple, NewType, Protocol

from tidelog.ports.files import Buffer, FileRange

ConnectionId = NewType("ConnectionId", int)
SendPart = Buffer | FileRange


class Accepted(NamedTuple):
    connection: ConnectionId
    listener: str
    peer: str  # host, for logs and ACLs


class Connected(NamedTuple):
    """A `connect` succeeded. What was sent before is on its way now."""

    connection: ConnectionId


class Received(NamedTuple):
    connection: ConnectionId
    data: memoryview


class Drained(NamedTuple):
    """What a `send` had to keep has been handed over: whoever held back may go on."""

    connection: ConnectionId


class Closed(NamedTuple):
    connection: ConnectionId
    reason: str


NetworkEvent = Accepted | Connected | Received | Drained | Closed


class Network(Protocol):
    def poll(self) -> list[NetworkEvent]:
        """What has happened since the last call; never waits."""
        ...

    def connect(self, host: str, port: int) -> ConnectionId:
        """Connected or Closed follows, or nothing at all: a deadline is the caller's business."""
        ...

    def send(self, connection: ConnectionId, parts: Sequence[SendPart]) -> None: ...

    def mute(self, connection: ConnectionId) -> None:
        """Receive nothing from it until `unmute`: a quota is exceeded, or its responses pile up."""
        ...

    def unmute(self, connection: ConnectionId) -> None: ...

    def close(self, connection: ConnectionId) -> None:
        """What was not handed over yet is dropped; what was still arrives."""
        ...
