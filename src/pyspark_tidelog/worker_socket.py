"""The connection over which Spark feeds a worker, and 40 ms that every task would wait on it.

The JVM sends the command of a task, and behind it, by itself, what the command is to work on. On its side Nagle's
algorithm holds the second small packet back until the first is acknowledged, and the worker's kernel delays that for
40 ms, hoping for something to send along. So the worker acknowledges when the command is there: a reader or writer is
part of the command, and hears of it by being unpickled. What the worker sends is not held back either.

Linux only, as the delay is; connections of another kind are left as they are.
"""

import os
import socket
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from pyspark_tidelog.spark_process import is_worker

_DESCRIPTORS: Final = Path("/proc/self/fd")
_QUICKACK: Final[int | None] = getattr(socket, "TCP_QUICKACK", None)


class PartOfCommand:
    """Before Spark's class in the order of inheritance."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if is_worker():
            acknowledge_now()


def acknowledge_now() -> int:
    """What has been received over any connection of this process. How many there are."""
    if _QUICKACK is None or not _DESCRIPTORS.is_dir():
        return 0
    found = 0
    for name in os.listdir(_DESCRIPTORS):
        with suppress(OSError):  # closed since, or no TCP
            found += _acknowledge(int(name), _QUICKACK)
    return found


def _acknowledge(descriptor: int, quickack: int) -> bool:
    if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
        return False
    with socket.socket(fileno=os.dup(descriptor)) as connection:
        connection.getpeername()  # one that listens has none
        connection.setsockopt(socket.IPPROTO_TCP, quickack, 1)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return True
