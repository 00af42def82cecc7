"""TLS between a connection and the network: to the one it is the network, to the other the receiver of its bytes.

    Connection  <- plain bytes, connected, drained, closed -  TlsNetwork  <- the same, encrypted -  Network
                -  connect, send, close                   ->              -  connect, send, close ->

Through memory (MemoryBIO) rather than a socket of its own, so that one poller, real or simulated, stays in charge of
all that moves. `connected` is told when both sides have agreed; what the broker refuses after that (our certificate,
with TLS 1.3) comes with the first read, so `refused` may be told later, too.
"""

import ssl
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

from tidelog.client.security.access import Access
from tidelog.client.security.errors import SecurityFailure
from tidelog.client.security.tls_failures import failure_of
from tidelog.ports.network import ConnectionId, Network, Receiver

TLS_RECEIVE_BYTES: Final = 1 << 18
# A record of TLS holds no more; encrypting by the part would make tiny records of tiny parts.
TLS_RECORD_BYTES: Final = 1 << 14  # TLS has no larger ones


class TlsNetwork:
    """The TLS layer of one connection at a time."""

    def __init__(
        self,
        network: Network,
        access: Access,
        host: str,
        refused: Callable[[SecurityFailure], None],
    ) -> None:
        """Prepare the layer. `host`: the name that the broker's certificate must have. `refused` is called where TLS
        fails."""
        assert access.tls is not None
        self._network = network
        self._access = access
        self._context = access.tls
        self._host = host
        self._refused = refused
        self._room = memoryview(bytearray(TLS_RECEIVE_BYTES))

    def connect(self, address: str, port: int, receiver: Receiver) -> ConnectionId:
        self._receiver = receiver
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = self._context.wrap_bio(self._incoming, self._outgoing, server_hostname=self._host)
        self._is_agreed = False
        self._id = self._network.connect(address, port, self)
        return self._id

    def send(self, _connection: ConnectionId, parts: Sequence[Any]) -> bool:
        """Encrypt and send. The connection sends nothing before `connected`."""
        small: list[Any] = []
        for part in parts:
            if len(part) < TLS_RECORD_BYTES:
                small.append(part)
                continue
            self._encrypt(b"".join(small))
            small.clear()
            self._encrypt(part)
        self._encrypt(b"".join(small))
        return self._hand_over()

    def close(self, connection: ConnectionId) -> None:
        self._network.close(connection)

    # The receiver's side

    def writable(self) -> memoryview:
        return self._room

    def received(self, count: int) -> None:
        self._incoming.write(self._room[:count])
        try:
            if self._agree():
                self._deliver()
        except ssl.SSLError as error:
            self._hand_over()  # the alert that tells the broker why
            self._refused(failure_of(error, self._host, shows_certificate=self._access.shows_certificate))

    def connected(self) -> None:
        self._agree()

    def drained(self) -> None:
        if self._is_agreed:
            self._receiver.drained()

    def closed(self, reason: str) -> None:
        during = "" if self._is_agreed else " during the TLS handshake: is it a listener with TLS (security.protocol)?"
        self._receiver.closed(reason + during)

    def _agree(self) -> bool:
        if self._is_agreed:
            return True
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self._hand_over()
            return False
        self._is_agreed = True
        self._hand_over()
        self._receiver.connected()
        return True

    def _deliver(self) -> None:
        """Deliver everything that can be decrypted: no poller would announce what stays in memory."""
        try:
            while count := self._read(self._receiver.writable()):
                self._receiver.received(count)
        except ssl.SSLWantReadError:
            self._hand_over()  # our part of a key update, say
            return
        except ssl.SSLZeroReturnError:
            pass
        self._network.close(self._id)
        self._receiver.closed("closed by the peer")

    def _read(self, room: memoryview) -> int:
        return cast(int, self._tls.read(len(room), room))

    def _encrypt(self, data: Any) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[self._tls.write(rest) :]

    def _hand_over(self) -> bool:
        return not self._outgoing.pending or self._network.send(self._id, [self._outgoing.read()])
