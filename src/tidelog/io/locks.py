"""The lock on a log directory: flock, so that the system releases it whenever and however the process ends.

The owner's pid is in the file for the error message alone; a pid left over from a dead process locks nothing.
"""

import fcntl
import os

from tidelog.io.faults import translated
from tidelog.ports.errors import LockHeld

OWNER_BYTES_MAX = 64


class FileLock:
    def __init__(self, path: str) -> None:
        self._descriptor = -1
        with translated(path):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                self._acquire(path, descriptor)
            except BaseException:
                os.close(descriptor)
                raise
        self._descriptor = descriptor

    def _acquire(self, path: str, descriptor: int) -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LockHeld(path, _read_owner(descriptor)) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _read_owner(descriptor: int) -> str:
    text = os.pread(descriptor, OWNER_BYTES_MAX, 0).decode(errors="replace").strip()
    return f"process {text}" if text else "a process that is just starting"
