"""The connection over which Spark feeds a worker: saves 40 ms that every task would wait on it, and a traceback.

The JVM sends the command of a task, and then, in a second packet, the data for the command. Nagle's algorithm in the
JVM's kernel holds the second small packet back until the first is acknowledged, and the worker's kernel delays that
acknowledgement for 40 ms, hoping for something to send along. So the worker acknowledges when the command is there: a
reader or writer is part of the command, and hears of it by being unpickled. Nagle is switched off for what the worker
sends as well.

This is for Linux only, as the delay is; connections of another kind than TCP are left as they are.

The JVM closes the connection when it has enough rows (`show`, `take`, `limit`), and the worker's next write fails.
Spark catches that once, and prints a traceback of BrokenPipeError when it flushes the rest. So a reader that is closed
early looks whether the JVM has hung up, and sends the rest to /dev/null (`stop_quietly`).
"""

import os
import select
import socket
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from pyspark_tidelog.spark.process import is_worker

_DESCRIPTORS: Final = Path("/proc/self/fd")
_QUICKACK: Final[int | None] = getattr(socket, "TCP_QUICKACK", None)
_HUNG_UP: Final[int] = select.POLLHUP | select.POLLERR | getattr(select, "POLLRDHUP", 0)


class PartOfCommand:
    """A mixin for readers and writers: when a worker unpickles one, the task's command has arrived, and is
    acknowledged. It comes before Spark's class in the order of inheritance."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if is_worker():
            acknowledge_now()


def acknowledge_now() -> int:
    """Acknowledge what was received over every TCP connection of this process; return how many connections there
    are."""
    if _QUICKACK is None or not _DESCRIPTORS.is_dir():
        return 0
    found = 0
    for name in os.listdir(_DESCRIPTORS):
        with suppress(OSError):  # closed meanwhile, or no TCP
            found += _acknowledge(int(name), _QUICKACK)
    return found


def _acknowledge(descriptor: int, quickack: int) -> bool:
    if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
        return False
    with socket.socket(fileno=os.dup(descriptor)) as connection:
        connection.getpeername()  # raises OSError for a socket that listens
        connection.setsockopt(socket.IPPROTO_TCP, quickack, 1)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return True


def stop_quietly() -> int:
    """Redirect to /dev/null the connection of a JVM that has hung up, so that the rest is sent to nobody and the worker
    ends with the task. A connection whose other end is there is left alone: an error has to reach the JVM. Return how
    many descriptors were redirected.

    Spark's worker has its connection under several descriptors, to read and to write. A socket with only one descriptor
    is not Spark's: a library of the user's may keep a connection that its server has closed, and finds out by
    itself."""
    if not is_worker():
        return 0
    return sum(_cut(descriptor) for descriptor in _shared_sockets() if _has_hung_up(descriptor))


def _shared_sockets() -> list[int]:
    """Return the descriptors of those sockets that have more than one descriptor in this process."""
    by_socket: dict[tuple[int, int], list[int]] = {}
    for name in os.listdir(_DESCRIPTORS) if _DESCRIPTORS.is_dir() else ():
        with suppress(OSError):  # closed meanwhile
            found = os.fstat(int(name))
            if stat.S_ISSOCK(found.st_mode):
                by_socket.setdefault((found.st_dev, found.st_ino), []).append(int(name))
    return [descriptor for each in by_socket.values() if len(each) > 1 for descriptor in each]


def _has_hung_up(descriptor: int) -> bool:
    poller = select.poll()
    poller.register(descriptor, _HUNG_UP)
    return any(event & _HUNG_UP for _, event in poller.poll(0))


def _cut(descriptor: int) -> bool:
    nowhere = os.open(os.devnull, os.O_RDWR)
    try:
        os.dup2(nowhere, descriptor)
    finally:
        os.close(nowhere)
    return True
