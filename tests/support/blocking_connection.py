"""A TCP connection that sends a request and waits for its answer, in our own codec, without retries: a client that
hides nothing."""

import select
import socket
from typing import Any

from tidelog.protocol.client_connection import ClientConnection
from tidelog.protocol.framing import ReceiveBuffer
from tidelog.protocol.messages.registry import RESPONSES

ANSWER_S_MAX = 30


class BlockingConnection:
    def __init__(self, address: str, client_id: str) -> None:
        self._address = address
        self._client_id = client_id
        self._open()

    def send(self, request: object, version: int) -> None:
        self._socket.sendall(b"".join(self._protocol.send(request, version)))

    def receive(self) -> Any:
        """Return the answer to the oldest request. None if the broker closed the connection, which is then opened
        anew."""
        while (response := self._protocol.next_response()) is None:
            room = self._protocol.receive.writable()
            count = self._received(room)
            if not count:
                self.close()
                self._open()
                return None
            self._protocol.receive.commit(count)
        return response.message

    @property
    def has_answer(self) -> bool:
        """Tell whether an answer, or the beginning of one, has arrived."""
        return bool(select.select([self._socket], [], [], 0)[0])

    def ask(self, request: object, version: int) -> Any:
        self.send(request, version)
        return self.receive()

    def close(self) -> None:
        self._socket.close()

    def _open(self) -> None:
        host, port = self._address.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)), ANSWER_S_MAX)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._protocol = ClientConnection(RESPONSES, self._client_id, ReceiveBuffer())

    def _received(self, room: memoryview) -> int:
        try:
            return self._socket.recv_into(room)
        except ConnectionError:
            return 0
