"""The part of a response that is sent at once; the rest is sent after other connections have had their turn."""

import socket
from collections import deque
from collections.abc import Iterator

import pytest

from tidelog.io.handles import PosixFileRange
from tidelog.io.sending import BYTES_A_CALL, BYTES_A_PART, send_some
from tidelog.ports.network import SendPart


class OneByte(PosixFileRange):
    """A range that the socket takes at once."""

    def __init__(self) -> None:
        self._remaining = 1

    def send_to(self, _socket_descriptor: int, *, is_mapped: bool = False) -> int:
        self._remaining = 0
        return 1

    def release(self) -> None: ...


@pytest.fixture
def sock() -> Iterator[socket.socket]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours


def test_thousands_of_small_ranges_are_not_sent_in_one_call(sock: socket.socket) -> None:
    unsent: deque[SendPart] = deque(OneByte() for _ in range(3_000))
    counts = []
    while unsent:
        before = len(unsent)
        send_some(sock, unsent, False)
        counts.append(before - len(unsent))
    assert sum(counts) == 3_000
    assert max(counts) <= BYTES_A_CALL // BYTES_A_PART


def test_few_ranges_are(sock: socket.socket) -> None:
    unsent: deque[SendPart] = deque(OneByte() for _ in range(500))
    send_some(sock, unsent, False)
    assert not unsent
