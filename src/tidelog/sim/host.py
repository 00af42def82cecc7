"""The Network port of one simulated machine.

Cruel where a real reactor would be: bytes arrive cut anywhere, sends are short, files are read at send time, and the
other side may be gone before anybody hears of it.

    host.kill()         the process dies: the kernel resets its connections, the peers hear of it
    host.lose_power()   the machine dies: the peers hear nothing until it is back (`restart`), which resets them
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from zlib import crc32

from tidelog.ports.errors import StorageFault
from tidelog.ports.files import Buffer, FileRange
from tidelog.ports.network import Accepted, Acceptor, Address, ConnectionId, Receiver, SendPart
from tidelog.sim.wire import Kind, Wire

if TYPE_CHECKING:
    from tidelog.sim.network import SimNetwork

# The port of every client's end of a connection; nobody listens there.
EPHEMERAL_PORT = 49_152


@dataclass(slots=True)
class Side:
    """One end of a connection."""

    connection: ConnectionId
    incoming: Wire
    outgoing: Wire
    port: int  # the one that the connection was made to
    connected: bool = False
    muted: bool = False
    waiting: bool = False  # the receiver is to be told `drained`
    receiver: Receiver | None = None  # None until the connection is accepted
    unsent: deque[FileRange] = field(default_factory=deque)


class SimHost:
    def __init__(self, network: "SimNetwork", name: str) -> None:
        self.network = network
        self.name = name
        self.up = True
        self._listeners: dict[int, str] = {}
        self._sides: dict[ConnectionId, Side] = {}
        self._forgotten: list[Side] = []  # lost by a power loss, which their peers do not know yet
        self._ended: dict[ConnectionId, tuple[Receiver, str]] = {}  # ends that receivers will be told of in `poll`
        self._acceptors: dict[str | None, Acceptor] = {}  # by listener; None: for all others

    # The simulation's side

    def listen(self, port: int, listener: str) -> None:
        self._listeners[port] = listener

    def reset(self, connection: ConnectionId) -> None:
        """Let the network kill a connection; both ends hear of it."""
        self._reset(self._sides[connection], "reset")

    def kill(self) -> None:
        self._record("kill")
        for side in self._end_process():
            side.outgoing.cut(self._now())

    def lose_power(self) -> None:
        self._record("lose power")
        self.up = False
        self._forgotten += self._end_process()

    def restart(self) -> None:
        """Bring the machine back, without a process yet: `listen` is for the new one."""
        self.up = True
        for side in self._forgotten:
            side.outgoing.cut(self._now())
        self._forgotten.clear()

    def _end_process(self) -> list[Side]:
        sides = list(self._sides.values())
        for side in sides:
            self._drop_unsent(side)
        self._sides.clear()
        self._listeners.clear()
        self._acceptors.clear()
        self._ended.clear()
        return sides

    @property
    def is_ready(self) -> bool:
        """Tell whether a poll would end its wait: something has arrived, has ended, or can be sent on."""
        sides = self._sides.values()
        return bool(self._ended) or any(self._is_due(side) or self._can_send(side) for side in sides)

    def _can_send(self, side: Side) -> bool:
        has_room = side.outgoing.in_flight_bytes < self.network.settings.send_buffer_bytes
        return side.connected and (side.waiting or bool(side.unsent)) and has_room

    def next_delivery_ms(self) -> int | None:
        wires = [side.incoming for side in self._sides.values() if not side.muted]
        due = [wire.items[0].due_ms for wire in wires if wire.items and self.network.passes(wire)]
        return min(due, default=None)

    # The port

    def serve(self, acceptor: Acceptor, listener: str | None = None) -> None:
        self._acceptors[listener] = acceptor

    def _acceptor_of(self, port: int) -> Acceptor | None:
        return self._acceptors.get(self._listeners[port]) or self._acceptors.get(None)

    def poll(self) -> None:
        for side in list(self._sides.values()):
            self._deliver(side)
        for side in list(self._sides.values()):
            self._flush(side)
        while self._ended:
            receiver, reason = self._ended.pop(next(iter(self._ended)))
            receiver.closed(reason)

    def connect(self, host: str, port: int, receiver: Receiver) -> ConnectionId:
        there, back = self.network.new_wire(self.name, host), self.network.new_wire(host, self.name)
        side = Side(self.network.new_connection(), incoming=back, outgoing=there, port=port, receiver=receiver)
        self._sides[side.connection] = side
        self._record("connect", side.connection, host, port)
        if host not in self.network.hosts:
            back.put(self._now(), Kind.RST)
        elif self.network.hosts[host].up:
            there.put(self._now(), Kind.SYN)
            self.network.hosts[host].approach(there, back, port)
        return side.connection

    def approach(self, incoming: Wire, outgoing: Wire, port: int) -> None:
        """Note a connection that is on its way here; it is accepted, or refused, when it arrives."""
        side = Side(self.network.new_connection(), incoming, outgoing, port)
        self._sides[side.connection] = side

    def send(self, connection: ConnectionId, parts: Sequence[SendPart]) -> bool:
        ranges = [_Bytes(part) if isinstance(part, Buffer) else part for part in parts]
        side = self._sides.get(connection)
        if side is None:
            for part in ranges:
                part.release()
            return True
        side.unsent.extend(ranges)
        side.waiting = False
        self._write_unsent(side)
        side.waiting = bool(side.unsent)
        return not side.waiting

    def mute(self, connection: ConnectionId) -> None:
        self._set_muted(connection, True)

    def unmute(self, connection: ConnectionId) -> None:
        self._set_muted(connection, False)

    def _set_muted(self, connection: ConnectionId, muted: bool) -> None:
        if connection in self._sides:
            self._sides[connection].muted = muted

    def close(self, connection: ConnectionId) -> None:
        self._ended.pop(connection, None)
        side = self._sides.pop(connection, None)
        if side is not None:
            self._record("close", connection)
            self._drop_unsent(side)
            side.outgoing.put(self._now(), Kind.FIN)

    # Delivery

    def _deliver(self, side: Side) -> None:
        received = bytearray()
        while self._is_due(side):
            item = side.incoming.pop()
            if item.kind is Kind.DATA:
                received += item.data
                continue
            self._hand_over(side, received)
            received = bytearray()
            self._arrive(side, item.kind)
        self._hand_over(side, received)

    def _is_due(self, side: Side) -> bool:
        wire = side.incoming
        return (
            side.connection in self._sides
            and bool(wire.items)
            and not side.muted
            and wire.items[0].due_ms <= self._now()
            and self.network.passes(wire)
            and not self._is_early(side)
        )

    def _is_early(self, side: Side) -> bool:
        """Tell whether the connection waits in the backlog of a listener that nobody serves yet."""
        is_new = side.incoming.items[0].kind is Kind.SYN
        return is_new and side.port in self._listeners and self._acceptor_of(side.port) is None

    def _hand_over(self, side: Side, received: bytearray) -> None:
        """Hand received bytes to the receiver, in as many calls as its room asks for; it may close the connection in
        between."""
        if received:
            self._record("received", side.connection, len(received), crc32(received))
        rest = memoryview(received)
        while rest and side.connection in self._sides:
            assert side.receiver is not None
            room = side.receiver.writable()
            count = min(len(room), len(rest))
            room[:count] = rest[:count]
            side.receiver.received(count)
            rest = rest[count:]

    def _arrive(self, side: Side, kind: Kind) -> None:
        match kind:
            case Kind.SYN if side.port in self._listeners:
                self._accept(side)
            case Kind.SYN:
                del self._sides[side.connection]
                side.outgoing.cut(self._now())
            case Kind.ACK:
                side.connected = True
                assert side.receiver is not None
                side.receiver.connected()
            case Kind.FIN:
                self._end(side, "closed by the peer")
            case _:
                self._end(side, "reset" if side.connected else "refused")

    def _accept(self, side: Side) -> None:
        acceptor = self._acceptor_of(side.port)
        assert acceptor is not None, "it waits until there is one"
        side.connected = True
        side.outgoing.put(self._now(), Kind.ACK)
        peer, local = Address(side.incoming.source, EPHEMERAL_PORT), Address(self.name, side.port)
        side.receiver = acceptor(Accepted(side.connection, self._listeners[side.port], peer, local))

    # Sending

    def _flush(self, side: Side) -> None:
        self._write_unsent(side)
        if side.waiting and side.connected and not side.unsent:
            side.waiting = False
            assert side.receiver is not None
            side.receiver.drained()

    def _write_unsent(self, side: Side) -> None:
        """Write what the wire takes, each write as short as chance will have it."""
        while side.connected and side.unsent:
            part = side.unsent[0]
            if not part.remaining:
                side.unsent.popleft().release()
            elif not self._write(side, part):
                return

    def _write(self, side: Side, part: FileRange) -> bool:
        """Write once to the socket; False when that would block, or ended the connection."""
        count = side.outgoing.take(part.remaining)
        if not count:
            return False
        if side.outgoing.resets():
            self._reset(side, "reset")
            return False
        data = _read(part, count)
        if not data:
            self._reset(side, "a file range could not be sent")
            return False
        part.advance(len(data))
        side.outgoing.put(self._now(), Kind.DATA, data)
        self._record("sent", side.connection, len(data))
        return True

    def _reset(self, side: Side, reason: str) -> None:
        side.outgoing.cut(self._now())
        self._end(side, reason)

    def _end(self, side: Side, reason: str) -> None:
        self._record("closed", side.connection, reason)
        self._drop_unsent(side)
        del self._sides[side.connection]
        if side.receiver is not None:
            self._ended[side.connection] = (side.receiver, reason)

    def _drop_unsent(self, side: Side) -> None:
        side.connected = False
        for part in side.unsent:
            part.release()
        side.unsent.clear()

    def _now(self) -> int:
        return self.network.clock.monotonic_ms()

    def _record(self, *parts: object) -> None:
        self.network.trace.record(self._now(), self.name, *parts)


def _read(part: FileRange, count: int) -> bytes:
    """Read from a range; empty when the file shrank or its disk failed: either way the promised bytes will not come."""
    try:
        return part.read(count)
    except StorageFault:
        return b""


class _Bytes:
    """Bytes that are sent the way a file range is."""

    def __init__(self, data: Buffer) -> None:
        self._view = memoryview(data).cast("B")

    @property
    def remaining(self) -> int:
        return len(self._view)

    def __len__(self) -> int:
        return len(self._view)

    def read(self, limit: int) -> bytes:
        return bytes(self._view[:limit])

    def advance(self, count: int) -> None:
        self._view = self._view[count:]

    def release(self) -> None:
        self._view.release()
