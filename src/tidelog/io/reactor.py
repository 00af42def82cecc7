"""The Network port on real sockets: one poller, no threads, no asyncio.

    reactor.listen(...)                       before the server runs
    while ...: reactor.wait(timeout); node.turn()     the node calls `poll`, handlers, `send`

`wait` learns what is ready, `poll` works it off: one receive a ready socket, straight into the receiver's buffer, so
that no client gets more of a turn than another. What a socket does not take at once waits here until it is writable.
After a lone request `wait` looks a few times before it sleeps: a client that waits for each answer sends its next
request sooner than a sleeping process is awake again.
A connection's end is told from `poll`, never from within `send`: the server must not be called back while it sends.
"""

import errno
import logging
import os
import socket
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from tidelog.io.pollers import FAILED, READ, WRITE, Poller, new_poller
from tidelog.io.sending import release_all, send_some
from tidelog.io.wake_pipe import WakePipe
from tidelog.ports.errors import StorageFault
from tidelog.ports.network import Accepted, Acceptor, Address, ConnectionId, Receiver, SendPart

ACCEPTS_A_TURN: Final = 64
# One turn receives no more than this: the bytes are checked and written in the same turn, which has to stay short. Room
# that was made for a large frame counts as if it were filled: to make it takes as long.
RECEIVED_BYTES_A_TURN: Final = 16 << 20
LARGE_ROOM_BYTES: Final = 1 << 20
# Ends of connections that one turn tells receivers of: each of these may have to give back megabytes.
ENDS_A_TURN: Final = 8
BACKLOG: Final = 1024
# Looks at the sockets after a lone request, about a microsecond each. A client on the same machine needs 25 to 60 of
# them to be woken, to take the answer and to ask again; to fall asleep meanwhile costs as much CPU as to look, and
# doubles the time of a round trip (60 us against 35, benchmarks/broker). Where the looks find nothing the client takes
# its time, and after so many requests nobody looks: then they cost a hundredth part of that.
LOOKS_MAX: Final = 80
REQUESTS_WITHOUT_LOOKS: Final = 100
NO_SPARE: Final = -1
REFUSED_LINE_S: Final = 10.0

log = logging.getLogger("tidelog.server")


class Connection:
    """One socket. `interest` is what the poller was told last."""

    __slots__ = ("id", "interest", "is_connecting", "is_local", "is_muted", "receiver", "sock", "unsent")

    def __init__(self, connection: ConnectionId, sock: socket.socket) -> None:
        self.id = connection
        self.sock = sock
        self.receiver: Receiver | None = None
        self.unsent: deque[SendPart] = deque()
        self.interest = READ
        self.is_muted = False
        self.is_connecting = False
        self.is_local = False  # the peer is on this machine, as far as its address tells

    def wanted(self) -> int:
        if self.is_connecting:
            return WRITE
        return (0 if self.is_muted else READ) | (WRITE if self.unsent else 0)


class Reactor:
    def __init__(self, poller: Poller | None = None) -> None:
        """Prepare a reactor. `poller` is the best that the system has, unless it is given."""
        self._poller: Poller = new_poller() if poller is None else poller
        self._acceptors: dict[str | None, Acceptor] = {}  # by listener; None: for all others
        self._listeners: dict[int, tuple[str, socket.socket]] = {}
        self._watched: dict[int, Callable[[], None]] = {}
        self._by_descriptor: dict[int, Connection] = {}
        self._by_id: dict[ConnectionId, Connection] = {}
        self._ended: dict[ConnectionId, tuple[Receiver, str]] = {}
        self._ready: list[tuple[int, int]] = []
        self._is_alone = False  # nothing but one connection was ready for this poll
        self._was_lone = False  # the last poll received something from one connection, and did nothing else
        self._unlooked = 0  # requests still to come before `wait` looks again before it sleeps
        self._next_id = 1
        self._spare = os.open(os.devnull, os.O_RDONLY)  # closed to accept, and refuse, when descriptors run out
        self.refused_accepts = 0
        self._said_refused_at = -REFUSED_LINE_S
        self._wakes = WakePipe()
        self.watch(self._wakes.descriptor, self._wakes.drain)

    # Building and ending

    def listen(self, name: str, host: str, port: int) -> Address:
        """Listen on an address and return it. OSError when it is taken or not ours. Port 0 takes a free port."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6 and host == "::":
                sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            sock.bind((host, port))
            sock.listen(BACKLOG)
        except OSError:
            sock.close()
            raise
        sock.setblocking(False)
        self._listeners[sock.fileno()] = (name, sock)
        if self._acceptor_of(name) is not None:
            self._poller.register(sock.fileno(), READ)
        return Address(*sock.getsockname()[:2])

    def stop_listening(self) -> None:
        for descriptor, (name, sock) in self._listeners.items():
            if self._acceptor_of(name) is not None:
                self._poller.unregister(descriptor)
            sock.close()
        self._listeners.clear()

    def watch(self, descriptor: int, on_ready: Callable[[], None]) -> None:
        """Call `on_ready` when something else becomes readable: a pipe of a helper, a signal."""
        self._watched[descriptor] = on_ready
        self._poller.register(descriptor, READ)

    def unwatch(self, descriptor: int) -> None:
        del self._watched[descriptor]
        self._poller.unregister(descriptor)

    def wake(self) -> None:
        """End a `wait`; from any thread or signal handler, also after `shut_down`."""
        self._wakes.wake()

    def shut_down(self) -> None:
        self.stop_listening()
        for connection in list(self._by_id.values()):
            self._drop(connection)
        self._poller.close()
        self._wakes.close()
        if self._spare != NO_SPARE:
            os.close(self._spare)

    # The loop

    def wait(self, timeout_ms: float | None) -> None:
        """Wait until something is ready, `timeout_ms` at most. `poll` must have worked off what was ready before."""
        if self._ended:  # ended in a `send` since the last poll: their receivers are still to be told
            timeout_ms = 0
        if self._was_lone and timeout_ms != 0:
            self._was_lone = False
            if self._has_looked():
                return
        self._ready = self._poller.poll(None if timeout_ms is None else timeout_ms / 1000)

    def _has_looked(self) -> bool:
        """Look at the sockets a few times; return whether something has become ready."""
        if self._unlooked:
            self._unlooked -= 1
            return False
        for _ in range(LOOKS_MAX):
            self._ready = self._poller.poll(0)
            if self._ready:
                return True
        self._unlooked = REQUESTS_WITHOUT_LOOKS
        return False

    @property
    def is_ready(self) -> bool:
        """Tell whether the last `wait` has found anything to do."""
        return bool(self._ready or self._ended)

    def serve(self, acceptor: Acceptor, listener: str | None = None) -> None:
        """Begin to accept. Until then a listener is not looked at: its connections wait in the kernel's backlog."""
        for descriptor, (name, _sock) in self._listeners.items():
            if listener in (None, name) and self._acceptor_of(name) is None:
                self._poller.register(descriptor, READ)
        self._acceptors[listener] = acceptor

    def _acceptor_of(self, name: str) -> Acceptor | None:
        return self._acceptors.get(name) or self._acceptors.get(None)

    def poll(self) -> None:
        ready, self._ready = self._ready, []
        self._is_alone = is_alone = len(ready) == 1
        budget = RECEIVED_BYTES_A_TURN
        by_descriptor = self._by_descriptor
        for descriptor, events in ready:
            connection = by_descriptor.get(descriptor)
            if connection is None:
                self._other(descriptor)
                continue
            if events & WRITE:
                self._writable(connection)
            if events & READ and not connection.is_muted:
                if budget > 0:
                    budget -= self._receive(connection)
                    self._was_lone = is_alone
            elif events & FAILED:
                self._end(connection, "the connection failed")
        for _ in range(min(len(self._ended), ENDS_A_TURN)):
            receiver, reason = self._ended.pop(next(iter(self._ended)))
            receiver.closed(reason)

    def _other(self, descriptor: int) -> None:
        if descriptor in self._watched:
            self._watched[descriptor]()
        elif descriptor in self._listeners:
            self._accept(*self._listeners[descriptor])

    def _receive(self, connection: Connection) -> int:
        receiver = connection.receiver
        if receiver is None:  # the connection ended or was closed earlier in this very poll
            return 0
        room = receiver.writable()
        try:
            count = connection.sock.recv_into(room)
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError as error:
            self._end(connection, reason_of(error))
            return 0
        if not count:
            self._end(connection, "closed by the peer")
            return 0
        room_bytes = len(room)
        receiver.received(count)
        return count if room_bytes < LARGE_ROOM_BYTES else room_bytes

    def _accept(self, name: str, listener: socket.socket) -> None:
        for _ in range(ACCEPTS_A_TURN):
            try:
                sock, peer = listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE):
                    self._refuse(listener)
                return
            self._add(sock, name, peer)

    def _refuse(self, listener: socket.socket) -> None:
        """Accept and close a connection when descriptors have run out: otherwise the peer would wait, and the listener
        be ready for ever."""
        self.refused_accepts += 1
        if time.monotonic() - self._said_refused_at >= REFUSED_LINE_S:
            self._said_refused_at = time.monotonic()
            text = (
                "no descriptor is left for a connection (ulimit -n); %s refused so far, those that are open are served"
            )
            log.warning(text, self.refused_accepts)
        if self._spare != NO_SPARE:
            os.close(self._spare)
        try:
            sock, _peer = listener.accept()
            sock.close()
        except OSError:
            pass
        try:
            self._spare = os.open(os.devnull, os.O_RDONLY)
        except OSError:  # a helper thread has taken the descriptor; the next refusal tries again
            self._spare = NO_SPARE

    def _add(self, sock: socket.socket, name: str, peer: tuple[str, int]) -> None:
        acceptor = self._acceptor_of(name)
        assert acceptor is not None, "a listener without an acceptor is not looked at"
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connection = self._register(sock)
        local = Address(*sock.getsockname()[:2])
        connection.is_local = peer[0] == local.host
        receiver = acceptor(Accepted(connection.id, name, Address(*peer[:2]), local))
        if connection.id in self._by_id:
            connection.receiver = receiver

    def _register(self, sock: socket.socket) -> Connection:
        connection = Connection(ConnectionId(self._next_id), sock)
        self._next_id += 1
        self._by_id[connection.id] = self._by_descriptor[sock.fileno()] = connection
        self._poller.register(sock.fileno(), connection.interest)
        return connection

    # The port

    def connect(self, host: str, port: int, receiver: Receiver) -> ConnectionId:
        """Begin to connect. `host` is an address, not a name: resolving would wait."""
        sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        failure = sock.connect_ex((host, port))
        connection = self._register(sock)
        connection.receiver = receiver
        connection.is_connecting = True
        self._update(connection)
        if failure not in (0, errno.EINPROGRESS):
            self._end(connection, os.strerror(failure))
        return connection.id

    def send(self, connection_id: ConnectionId, parts: Sequence[SendPart]) -> bool:
        connection = self._by_id.get(connection_id)
        if connection is None:
            release_all(deque(parts))
            return True
        if not connection.unsent and len(parts) == 1 and isinstance(parts[0], bytes) and not connection.is_connecting:
            return self._send_one(connection, parts[0])
        connection.unsent.extend(parts)
        self._flush(connection)
        return not connection.unsent

    def _send_one(self, connection: Connection, data: bytes) -> bool:
        """Send one piece of bytes, which the socket mostly takes whole: nearly every response is that."""
        try:
            sent = connection.sock.send(data)
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError as error:
            self._end(connection, reason_of(error))
            return True
        if sent < len(data):
            connection.unsent.append(memoryview(data)[sent:])
            self._update(connection)
            return False
        return True

    def _flush(self, connection: Connection) -> None:
        if connection.is_connecting:
            return
        try:
            # A reader that is alone is awake on another processor, and takes pieces as sendfile hands them over.
            send_some(connection.sock, connection.unsent, connection.is_local and not self._is_alone)
        except (BlockingIOError, InterruptedError):
            pass
        except OSError as error:
            self._end(connection, reason_of(error))
            return
        except StorageFault as fault:
            self._end(connection, f"a file range could not be sent: {fault}")
            return
        self._update(connection)

    def _writable(self, connection: Connection) -> None:
        if connection.is_connecting:
            self._finish_connecting(connection)
        elif connection.unsent:
            self._flush(connection)
            if not connection.unsent and connection.receiver is not None:
                connection.receiver.drained()

    def _finish_connecting(self, connection: Connection) -> None:
        failure = connection.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if failure:
            self._end(connection, os.strerror(failure))
            return
        connection.is_connecting = False
        assert connection.receiver is not None
        connection.receiver.connected()
        self._flush(connection)

    def mute(self, connection: ConnectionId) -> None:
        self._set_muted(connection, True)

    def unmute(self, connection: ConnectionId) -> None:
        self._set_muted(connection, False)

    def _set_muted(self, connection_id: ConnectionId, is_muted: bool) -> None:
        connection = self._by_id.get(connection_id)
        if connection is not None and connection.is_muted != is_muted:
            connection.is_muted = is_muted
            self._update(connection)

    def _update(self, connection: Connection) -> None:
        wanted = connection.wanted()
        if wanted != connection.interest and connection.id in self._by_id:
            connection.interest = wanted
            self._poller.modify(connection.sock.fileno(), wanted)

    def close(self, connection_id: ConnectionId) -> None:
        self._ended.pop(connection_id, None)
        connection = self._by_id.get(connection_id)
        if connection is not None:
            self._drop(connection)

    def _end(self, connection: Connection, reason: str) -> None:
        if connection.id not in self._by_id:
            return
        receiver = connection.receiver
        self._drop(connection)
        if receiver is not None:
            self._ended[connection.id] = (receiver, reason)

    def _drop(self, connection: Connection) -> None:
        descriptor = connection.sock.fileno()
        self._poller.unregister(descriptor)
        del self._by_id[connection.id], self._by_descriptor[descriptor]
        connection.receiver = None
        release_all(connection.unsent)
        connection.sock.close()


def reason_of(error: OSError) -> str:
    return error.strerror or str(error)
