"""The lock on a log directory, which the system releases whenever and however the process ends.

Two locks, because they do not see each other: flock keeps other brokers of ours out, and a record lock, which is what
Java's FileChannel takes, Apache's. Linux has record locks that belong to one descriptor, as flock's do; elsewhere they
are of the process, which gives them up with any descriptor of the file that it closes.

The owner's pid is in the file for the error message alone; a pid left over from a dead process locks nothing.
"""

import fcntl
import os
import struct
import sys
from contextlib import suppress

from tidelog.io.faults import translated
from tidelog.ports.errors import LockHeld, NotFound

OWNER_BYTES_MAX = 64
FOREIGN_OWNER = "another program, such as a broker of Apache Kafka"
_STRUCT_FLOCK = "hhqqi0q"  # type, whence, start, length, pid


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
        try:
            _lock_records(descriptor, shared=False)
        except (BlockingIOError, PermissionError):
            raise LockHeld(path, FOREIGN_OWNER) from None
        with suppress(OSError):  # a full disk has no room for the pid, and the lock is held without it
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def owner_of(path: str) -> str | None:
    """Return who has the lock, without taking it or changing the file; None when nobody has, or there is no such
    file."""
    try:
        with translated(path):
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except NotFound:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read_owner(descriptor)
    else:
        return _foreign_owner(descriptor)
    finally:
        os.close(descriptor)


def _foreign_owner(descriptor: int) -> str | None:
    try:
        _lock_records(descriptor, shared=True)
    except (BlockingIOError, PermissionError):
        return FOREIGN_OWNER
    return None


def _lock_records(descriptor: int, *, shared: bool) -> None:
    """Lock the whole file. BlockingIOError, or on some systems PermissionError, when another process has it."""
    if sys.platform == "linux":
        kind = fcntl.F_RDLCK if shared else fcntl.F_WRLCK
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, struct.pack(_STRUCT_FLOCK, kind, os.SEEK_SET, 0, 0, 0))
    else:
        fcntl.lockf(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)


def _read_owner(descriptor: int) -> str:
    text = os.pread(descriptor, OWNER_BYTES_MAX, 0).decode(errors="replace").strip()
    return f"process {text}" if text else "a process that is just starting"
