"""One request, one answer, on a blocking socket: what has to be asked before and after a load."""

import socket
from types import TracebackType
from typing import Any, Self

from tidelog.protocol.client_connection import ClientConnection
from tidelog.protocol.messages.registry import RESPONSES

TIMEOUT_SECONDS = 60


class AdminConnection:
    """A connection on which one request is sent at a time."""

    def __init__(self, port: int) -> None:
        self._sock = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_SECONDS)
        self._protocol = ClientConnection(RESPONSES, client_id="bench")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._sock.close()

    def ask(self, request: object, version: int) -> Any:
        self._sock.sendall(b"".join(self._protocol.send(request, version)))
        while (response := self._protocol.next_response()) is None:
            count = self._sock.recv_into(self._protocol.receive.writable())
            if not count:
                raise ConnectionError("the broker has closed the connection")
            self._protocol.receive.commit(count)
        return response.message
