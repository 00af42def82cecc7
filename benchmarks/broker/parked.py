"""Fetches that wait while others produce: consumers that want more than there is, and ask again when told to wait.

As librdkafka does, a consumer begins the list of its partitions one later each time: `frames` are sent in turn.
"""

import selectors
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

RECEIVE_BYTES = 1 << 20
CONNECT_SECONDS = 30


class ParkedFetches:
    """A number of connections, each with one fetch under way. A thread asks again whenever one is answered."""

    def __init__(self, port: int, frames: Sequence[bytes], count: int) -> None:
        self._frames = frames
        self._sockets = [socket.create_connection(("127.0.0.1", port), timeout=CONNECT_SECONDS) for _ in range(count)]
        self._selector = selectors.DefaultSelector()
        self._is_over = False
        self._failure = ""
        self._buffer = memoryview(bytearray(RECEIVE_BYTES))
        self.answers = 0
        for sock in self._sockets:
            sock.sendall(frames[0])
            sock.setblocking(False)
            # The size's bytes so far; what is to come; which frame is next.
            self._selector.register(sock, selectors.EVENT_READ, [b"", 0, 1])
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._is_over:
            for key, _events in self._selector.select(0.1):
                assert isinstance(key.fileobj, socket.socket)
                if not self._receive(key.fileobj, key.data):
                    self._failure = "the broker ended the connection of a fetch that was to wait"
                    return

    def _receive(self, sock: socket.socket, state: list[bytes | int]) -> bool:
        """Read a part of an answer, and ask again at its end; return False where the connection has ended."""
        head, left, turn = state
        assert isinstance(head, bytes)
        assert isinstance(left, int)
        assert isinstance(turn, int)
        if len(head) < 4:
            received = sock.recv(4 - len(head))
            head += received
            state[0], state[1] = head, int.from_bytes(head, "big") if len(head) == 4 else 0
            return bool(received)
        count = sock.recv_into(self._buffer, min(left, RECEIVE_BYTES))
        state[1] = left - count
        if left == count:
            state[0], state[2] = b"", turn + 1
            self.answers += 1
            sock.sendall(self._frames[turn % len(self._frames)])
        return bool(count)

    def close(self) -> None:
        """End the connections; raise RuntimeError where one of them did not wait all the time."""
        self._is_over = True
        self._thread.join()
        self._selector.close()
        for sock in self._sockets:
            sock.close()
        if self._failure:
            raise RuntimeError(self._failure)


@contextmanager
def waiting(port: int, frames: Sequence[bytes], count: int) -> Iterator[ParkedFetches]:
    found = ParkedFetches(port, frames, count)
    try:
        yield found
    finally:
        found.close()
