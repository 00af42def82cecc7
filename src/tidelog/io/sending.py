"""Sending what a socket has queued, bytes and file ranges in order, as far as the socket takes them.

Bytes in front of a file range go out with MSG_MORE, so that a response's head and its first records share a packet.
Neighbouring bytes go out in one `sendmsg`.
"""

import socket
from collections import deque
from typing import Final

from mypy_extensions import mypyc_attr

from tidelog.io.handles import PosixFileRange
from tidelog.ports.files import Buffer
from tidelog.ports.network import SendPart

PIECES_MAX: Final = 64  # in one sendmsg
# The most that one call sends: a reader as fast as we are would otherwise keep us at it while all others wait.
BYTES_A_CALL: Final = 4 << 20
# What a system call counts as, however little it sends: the records of ten thousand partitions are as many ranges.
BYTES_A_PART: Final = 4_096
MORE: Final = getattr(socket, "MSG_MORE", 0)


@mypyc_attr(native_class=False)  # a compiled class cannot have a built-in base
class FileShrank(OSError):
    """A file became too short for the length that was promised in front of its range."""


def send_some(sock: socket.socket, unsent: deque[SendPart], is_mapped: bool) -> None:
    """Send until nothing is left, BYTES_A_CALL are sent, or BlockingIOError. Other OSErrors are the connection's end; a
    fault of the disk is a StorageFault. `is_mapped`: see `PosixFileRange.send_to`."""
    left = BYTES_A_CALL
    while unsent and left > 0:
        part = unsent[0]
        if isinstance(part, PosixFileRange):
            sent = _send_range(sock, unsent, part, is_mapped)
        else:
            sent = _send_bytes(sock, unsent)
        left -= sent + BYTES_A_PART


def _send_range(sock: socket.socket, unsent: deque[SendPart], part: PosixFileRange, is_mapped: bool) -> int:
    sent = part.send_to(sock.fileno(), is_mapped=is_mapped)
    if not sent and part.remaining:
        raise FileShrank("a file became shorter while it was sent")
    if not part.remaining:
        unsent.popleft()
        part.release()
    return sent


def _send_bytes(sock: socket.socket, unsent: deque[SendPart]) -> int:
    pieces: list[Buffer] = []
    for part in unsent:
        if len(pieces) == PIECES_MAX or not isinstance(part, Buffer):
            break
        pieces.append(part)
    total = sent = sock.sendmsg(pieces, (), MORE if len(pieces) < len(unsent) else 0)
    while pieces and sent >= len(pieces[0]):
        sent -= len(pieces.pop(0))
        unsent.popleft()
    if sent:
        unsent[0] = memoryview(pieces[0])[sent:]
    return total


def release_all(parts: deque[SendPart]) -> None:
    for part in parts:
        if not isinstance(part, Buffer):
            part.release()
    parts.clear()
