"""Open files of the simulated file system, and the ranges of them that are on their way to a connection."""

from collections.abc import Sequence
from typing import TYPE_CHECKING
from zlib import crc32

from tidelog.ports.errors import DeviceFault, HandleClosed, PermissionRefused
from tidelog.ports.files import MAX_PIECES, Buffer
from tidelog.sim.disk import SimDisk
from tidelog.sim.faults import Op
from tidelog.sim.pages import SimInode

if TYPE_CHECKING:
    from tidelog.sim.files import SimFileSystem


class SimFile:
    def __init__(self, fs: "SimFileSystem", disk: SimDisk, inode: SimInode, path: str, writable: bool) -> None:
        self._fs = fs
        self._process = fs.process
        self.disk = disk
        self.inode = inode
        self._path = path
        self._writable = writable
        self._closed = False
        self._pins = 0
        self._sync_fault: DeviceFault | None = None
        inode.handles += 1

    @property
    def path(self) -> str:
        return self._path

    def check_open(self) -> None:
        if self._closed:
            raise HandleClosed(self._path)
        self.check_alive()

    def check_alive(self) -> None:
        """Raise HandleClosed if the process is dead: whatever still holds the handle belongs to a node that is no
        more."""
        if self._process != self._fs.process:
            raise HandleClosed(self._path)

    def size(self) -> int:
        self.check_open()
        return self.inode.contents.size

    def read_at(self, position: int, size: int) -> bytes:
        self.check_open()
        return self.read_pinned(position, size)

    def read_cached(self, position: int, size: int) -> bytes | None:
        self.check_open()
        return self.read_pinned(position, size) if self.inode.is_cached(position, size) else None

    def read_pinned(self, position: int, size: int) -> bytes:
        """Read for whoever holds a pin, such as a range that outlives `close`."""
        self.check_alive()
        self.disk.faults.check(Op.READ, self._path)
        if not self.inode.is_cached(position, size):
            self._fs.cold_reads += 1
            self.inode.mark_cached(position, size)
        return self.inode.contents.read(position, size)

    def write_at(self, position: int, pieces: Sequence[Buffer]) -> int:
        self._check_writable()
        self.disk.faults.check(Op.WRITE, self._path)
        data = b"".join(pieces[:MAX_PIECES])
        count = self.disk.write(self.inode, position, data, self._path) if data else 0
        self.inode.modified_ms = self._fs.clock.wall_ms()
        self._fs.record("write", self._path, position, count, crc32(data[:count]))
        return count

    def truncate(self, size: int) -> None:
        self._check_writable()
        self.disk.faults.check(Op.TRUNCATE, self._path)
        self.disk.truncate(self.inode, size)
        self.inode.modified_ms = self._fs.clock.wall_ms()
        self._fs.record("truncate", self._path, size)

    def _check_writable(self) -> None:
        self.check_open()
        if not self._writable:
            raise PermissionRefused(self._path, "opened for reading only")

    def sync(self) -> None:
        self.check_open()
        self._fs.note_wait(self.disk, self._path)
        self.sync_until(self.inode.clock)

    def sync_until(self, until: int) -> None:
        """Make the operations before `until` durable; after one failure, fail for ever."""
        if self._sync_fault is None:
            try:
                self.disk.sync(self.inode, until, self._path)
            except DeviceFault as fault:
                self._sync_fault = fault
        self._fs.record("sync", self._path, until, self._sync_fault or "")
        if self._sync_fault is not None:
            raise self._sync_fault

    def is_cached(self, position: int, size: int) -> bool:
        self.check_open()
        return self.inode.is_cached(position, size)

    def range(self, position: int, size: int) -> "SimFileRange":
        self.check_open()
        self.pin()
        return SimFileRange(self, position, size)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._drop_if_done()

    def pin(self) -> None:
        if not self._pins:
            self._fs.pinned_files += 1
        self._pins += 1

    def unpin(self) -> None:
        self._pins -= 1
        if not self._pins and self._process == self._fs.process:
            self._fs.pinned_files -= 1
        self._drop_if_done()

    def _drop_if_done(self) -> None:
        if self._closed and not self._pins and self._process == self._fs.process:
            self.inode.handles -= 1
            self.disk.free_if_unused(self.inode)


class SimFileRange:
    """A range of a file that is read at send time, as by sendfile: a truncation in between is noticed, and nothing is
    sent from memory."""

    def __init__(self, file: SimFile, position: int, size: int) -> None:
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
        if self._released:
            raise HandleClosed(self._file.path)
        return self._file.read_pinned(self._position, min(limit, self._remaining))

    def advance(self, count: int) -> None:
        self._position += count
        self._remaining -= count

    def release(self) -> None:
        if self._released:
            raise HandleClosed(self._file.path)
        self._released = True
        self._file.unpin()
