"""An open file on a real disk, and ranges of it that sendfile sends.

Every call is one system call. Positions are always given (pread, pwritev), so a file has no cursor that a failed write
could leave somewhere unknown.
"""

import errno
import fcntl
import os
import sys
from collections.abc import Sequence

from tidelog.io.faults import failed_sync, fault_of
from tidelog.io.mapped_send import MAPPED_BYTES_MIN, write_mapped
from tidelog.ports.errors import HandleClosed, IoError, PermissionRefused, StorageFault
from tidelog.ports.files import MAX_PIECES, Buffer

CLOSED = -1
# A probe reads one byte of each stretch: the kernel reads ahead, and mostly drops, in runs of about this length.
# Reading all of the range would cost the copy through user space that sendfile is there to avoid.
PROBE_STRIDE_BYTES = 128 * 1024
PROBED = [bytearray(1)]  # a probe's byte goes here, and nobody looks at it
CAN_NOT_TELL = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)  # this file system, or kernel, does not know RWF_NOWAIT


class Pinned:
    """The number of files of one file system that are pinned."""

    __slots__ = ("files",)

    def __init__(self) -> None:
        self.files = 0


class PosixFile:
    def __init__(self, path: str, descriptor: int, writable: bool, pinned: Pinned | None = None) -> None:
        self._path = path
        self._descriptor = descriptor
        self._writable = writable
        self._closed = False
        self._pins = 0
        self._pinned = pinned or Pinned()
        self._sync_fault: StorageFault | None = None

    @property
    def path(self) -> str:
        return self._path

    @property
    def descriptor(self) -> int:
        """The descriptor, which stays valid after `close` for whoever holds a pin."""
        return self._descriptor

    def size(self) -> int:
        self.check_open()
        try:
            return os.fstat(self._descriptor).st_size
        except OSError as error:
            raise fault_of(error, self._path) from error

    def check_open(self) -> None:
        if self._closed:
            raise HandleClosed(self._path)

    def read_at(self, position: int, size: int) -> bytes:
        self.check_open()
        data = self.read_pinned(position, size)
        if len(data) == size or not data:
            return data
        return self._read_rest(data, position, size)

    def read_cached(self, position: int, size: int) -> bytes | None:
        self.check_open()
        nowait = getattr(os, "RWF_NOWAIT", 0)
        if not nowait:  # macOS cannot tell: plain reads serve
            return self.read_at(position, size)
        buffer = bytearray(size)
        try:
            count = os.preadv(self._descriptor, [buffer], position, nowait)
        except OSError as error:
            if error.errno == errno.EAGAIN:
                return None
            if error.errno in CAN_NOT_TELL:
                return self.read_at(position, size)
            raise fault_of(error, self._path) from error
        if count == size:
            return bytes(buffer)
        # Short: at the end of the file, or where the pages that are cached end.
        return bytes(buffer[:count]) if position + count >= self.size() else None

    def read_pinned(self, position: int, size: int) -> bytes:
        """Read once; short where the system made it so. Also for a range, which may outlive `close`."""
        try:
            return os.pread(self._descriptor, size, position)
        except OSError as error:
            raise fault_of(error, self._path) from error

    def _read_rest(self, data: bytes, position: int, size: int) -> bytes:
        """Read on until `size` bytes or the end of the file: a single read may end earlier (Linux stops at 2 GiB)."""
        parts = [data]
        read = len(data)
        while read < size and (part := self.read_pinned(position + read, size - read)):
            parts.append(part)
            read += len(part)
        return b"".join(parts)

    def write_at(self, position: int, pieces: Sequence[Buffer]) -> int:
        self.check_open()
        try:
            return os.pwritev(self._descriptor, pieces[:MAX_PIECES], position)
        except OSError as error:
            raise self._write_fault(error) from error

    def truncate(self, size: int) -> None:
        self.check_open()
        try:
            os.ftruncate(self._descriptor, size)
        except OSError as error:
            raise self._write_fault(error) from error

    def _write_fault(self, error: OSError) -> StorageFault:
        if not self._writable:  # which the system calls EBADF or EINVAL
            return PermissionRefused(self._path, "opened for reading only")
        return fault_of(error, self._path)

    def sync(self) -> None:
        self.check_open()
        self.sync_pinned()

    def sync_pinned(self) -> None:
        """Sync; after one failure, fail for ever. Also called on the helper thread, where a second sync may be queued
        behind one that fails: the failure is remembered here, at once, so that the second cannot succeed."""
        if self._sync_fault is None:
            try:
                sync_data(self._descriptor)
            except OSError as error:
                self._sync_fault = failed_sync(error, self._path)
        if self._sync_fault is not None:
            raise self._sync_fault

    def is_cached(self, position: int, size: int) -> bool:
        """Tell whether the range is in the page cache. All in one function, because every fetch asks."""
        self.check_open()
        nowait = getattr(os, "RWF_NOWAIT", 0)
        if not nowait:  # macOS cannot tell: plain reads serve
            return True
        descriptor, preadv = self._descriptor, os.preadv
        end = min(position + size, self.size())
        try:
            for at in range(position, end, PROBE_STRIDE_BYTES):
                preadv(descriptor, PROBED, at, nowait)
            if end > position:
                preadv(descriptor, PROBED, end - 1, nowait)
        except OSError as error:
            if error.errno == errno.EAGAIN:
                return False
            if error.errno in CAN_NOT_TELL:
                return True
            raise fault_of(error, self._path) from error
        return True

    def range(self, position: int, size: int) -> "PosixFileRange":
        self.check_open()
        self.pin()
        return PosixFileRange(self, position, size)

    def close(self) -> None:
        self._closed = True
        self._close_if_unused()

    def pin(self) -> None:
        if not self._pins:
            self._pinned.files += 1
        self._pins += 1

    def unpin(self) -> None:
        self._pins -= 1
        if not self._pins:
            self._pinned.files -= 1
        self._close_if_unused()

    def _close_if_unused(self) -> None:
        if self._closed and not self._pins and self._descriptor != CLOSED:
            descriptor, self._descriptor = self._descriptor, CLOSED
            os.close(descriptor)


def sync_data(descriptor: int) -> None:
    """Sync the bytes, and the metadata needed to read them back (the size), but not timestamps: fdatasync. On macOS
    neither that nor fsync reaches the platter; only F_FULLFSYNC does."""
    if sys.platform == "darwin":
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fdatasync(descriptor)


class PosixFileRange:
    def __init__(self, file: PosixFile, position: int, size: int) -> None:
        self._file = file
        self._position = position
        self._remaining = size
        self._released = False

    @property
    def remaining(self) -> int:
        return self._remaining

    def __len__(self) -> int:
        return self._remaining

    def read(self, limit: int) -> bytes:
        self._check_held()
        return self._file.read_pinned(self._position, min(limit, self._remaining))

    def send_to(self, socket_descriptor: int, *, is_mapped: bool = False) -> int:
        """Send what the socket takes, and advance. 0: the file shrank. BlockingIOError and the like are the socket's
        and left to the reactor; a fault of the disk is a StorageFault. `is_mapped`: by one write from a mapping, where
        that is better than sendfile (`mapped_send`)."""
        self._check_held()
        if sys.platform == "linux":
            count = self._send_file(socket_descriptor, is_mapped)
        else:
            count = os.write(socket_descriptor, self.read(PROBE_STRIDE_BYTES))
        self.advance(count)
        return count

    def _send_file(self, socket_descriptor: int, is_mapped: bool) -> int:
        descriptor, position, remaining = self._file.descriptor, self._position, self._remaining
        if is_mapped and remaining > MAPPED_BYTES_MIN:
            count = write_mapped(socket_descriptor, descriptor, position, remaining)
            if count is not None:
                return count
        try:
            return os.sendfile(socket_descriptor, descriptor, position, remaining)
        except OSError as error:
            if error.errno == errno.EIO:
                raise IoError(self._file.path, "sendfile could not read") from error
            raise

    def _check_held(self) -> None:
        if self._released:
            raise HandleClosed(self._file.path)

    def advance(self, count: int) -> None:
        self._position += count
        self._remaining -= count

    def release(self) -> None:
        self._check_held()
        self._released = True
        self._file.unpin()
