"""The FileSystem port on a real disk: Linux first; macOS for development.

Descriptors are close-on-exec, so that a housekeeping process never inherits a log. New files are 0644 and directories
0755, less the umask, as Kafka's are.
"""

import errno
import os
import stat
from collections.abc import Callable, Mapping

from tidelog.io.faults import failed_sync, translated
from tidelog.io.handles import Pinned, PosixFile
from tidelog.io.locks import FileLock, owner_of
from tidelog.io.threads import HelperThreads
from tidelog.ports.durable import replace_durably
from tidelog.ports.errors import NotEmpty, WrongKind
from tidelog.ports.files import Completion, DiskSpace, File, FileStat, OpenMode, Ticket
from tidelog.ports.filled_directory import make_filled_directory
from tidelog.ports.paths import check_path, check_rename, parent_of

FLAGS = {
    OpenMode.READ: os.O_RDONLY | os.O_CLOEXEC,
    OpenMode.WRITE: os.O_RDWR | os.O_CLOEXEC,
    OpenMode.CREATE: os.O_RDWR | os.O_CREAT | os.O_CLOEXEC,
    OpenMode.CREATE_NEW: os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC,
}
WARM_CHUNK_BYTES = 1 << 20
# Syncs at a time where their order does not matter: they share the commits of the file system's journal.
SYNCS_AT_ONCE = 8
# Directories that are created at a time. Creating one mostly waits for the file system's journal.
MAKING_AT_ONCE = 2


def _nothing() -> None:
    """Do nothing: the caller asks for `completions` by itself."""


class PosixFileSystem:
    def __init__(self, wake: Callable[[], None] = _nothing) -> None:
        """Prepare the file system. `wake` runs on a helper thread when there are completions; a reactor lets it end the
        poll."""
        self._helpers = HelperThreads(wake)
        self._in_use: dict[Ticket, PosixFile] = {}
        self._pinned = Pinned()
        self._sync_lanes = 1  # for each disk
        self._next_lane = 0
        self._next_making_lane = 0

    def close(self) -> None:
        """Wait for the work that was begun, and end the helper threads."""
        self._helpers.stop()
        self.completions()

    def open(self, path: str, mode: OpenMode) -> PosixFile:
        check_path(path)
        with translated(path):
            descriptor = os.open(path, FLAGS[mode], 0o644)
            if mode is OpenMode.READ and stat.S_ISDIR(os.fstat(descriptor).st_mode):
                os.close(descriptor)
                raise WrongKind(path, "is a directory")
        return PosixFile(path, descriptor, mode is not OpenMode.READ, self._pinned)

    @property
    def pinned_files(self) -> int:
        return self._pinned.files

    def stat(self, path: str) -> FileStat:
        check_path(path)
        with translated(path):
            found = os.stat(path)
        is_directory = stat.S_ISDIR(found.st_mode)
        return FileStat(is_directory, 0 if is_directory else found.st_size, found.st_mtime_ns // 1_000_000)

    def list_directory(self, path: str) -> list[str]:
        check_path(path)
        with translated(path):
            return sorted(os.listdir(path))

    def make_directory(self, path: str) -> None:
        check_path(path)
        with translated(path):
            os.mkdir(path, 0o755)

    def remove_file(self, path: str) -> None:
        check_path(path)
        with translated(path):
            os.unlink(path)

    def remove_directory(self, path: str) -> None:
        check_path(path)
        with translated(path):
            os.rmdir(path)

    def rename(self, source: str, target: str) -> None:
        check_rename(source, target)
        with translated(source, {errno.EEXIST: NotEmpty}):  # XFS's word for a directory that has entries
            os.rename(source, target)

    def sync_directory(self, path: str) -> None:
        check_path(path)
        with translated(path):
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
            except OSError as error:
                raise failed_sync(error, path) from error
            finally:
                os.close(descriptor)

    def set_modified(self, path: str, modified_ms: int) -> None:
        check_path(path)
        nanoseconds = modified_ms * 1_000_000
        with translated(path):
            os.utime(path, ns=(nanoseconds, nanoseconds))

    def space(self, path: str) -> DiskSpace:
        check_path(path)
        with translated(path):
            found = os.statvfs(path)
        return DiskSpace(found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize)

    def lock(self, path: str) -> FileLock:
        check_path(path)
        return FileLock(path)

    def lock_owner(self, path: str) -> str | None:
        check_path(path)
        return owner_of(path)

    def begin_sync(self, file: File) -> Ticket:
        assert isinstance(file, PosixFile)
        return self._begin_with(file, self._sync_lane(), file.sync_pinned)

    def begin_sync_directory(self, path: str) -> Ticket:
        return self._helpers.begin(f"{self._sync_lane()} {_device(path)}", lambda: self.sync_directory(path))

    def begin_replace(self, path: str, contents: bytes) -> Ticket:
        lane = f"{self._sync_lane()} {_device(parent_of(path))}"
        return self._helpers.begin(lane, lambda: replace_durably(self, path, contents))

    def begin_make_directory(self, path: str, files: Mapping[str, bytes]) -> Ticket:
        check_path(path)
        self._next_making_lane = (self._next_making_lane + 1) % MAKING_AT_ONCE
        lane = f"make-{self._next_making_lane} {parent_of(path)}"  # does not ask the disk for its device
        return self._helpers.begin(lane, lambda: make_filled_directory(self, path, files))

    def allow_any_order(self) -> None:
        self._sync_lanes = SYNCS_AT_ONCE

    def _sync_lane(self) -> str:
        if self._sync_lanes == 1:
            return "sync"
        self._next_lane = (self._next_lane + 1) % self._sync_lanes
        return f"sync-{self._next_lane}"

    def begin_warm(self, file: File, position: int, size: int) -> Ticket:
        assert isinstance(file, PosixFile)
        return self._begin_with(file, "warm", lambda: _warm(file, position, size))

    def _begin_with(self, file: PosixFile, lane: str, work: Callable[[], None]) -> Ticket:
        """Begin work on a file. The file stays open for it, whatever the caller does meanwhile."""
        file.check_open()
        with translated(file.path):
            device = os.fstat(file.descriptor).st_dev
        file.pin()
        ticket = self._helpers.begin(f"{lane} {device}", work)
        self._in_use[ticket] = file
        return ticket

    def completions(self) -> list[Completion]:
        completed = self._helpers.completions()
        for ticket, _fault in completed:
            file = self._in_use.pop(ticket, None)
            if file is not None:
                file.unpin()
        return completed


def _device(directory: str) -> int:
    check_path(directory)
    with translated(directory):
        found = os.stat(directory)
    if not stat.S_ISDIR(found.st_mode):
        raise WrongKind(directory, "not a directory")
    return found.st_dev


def _warm(file: PosixFile, position: int, size: int) -> None:
    """Read a range to bring its pages into the cache; the bytes themselves are not wanted."""
    for at in range(position, position + size, WARM_CHUNK_BYTES):
        file.read_pinned(at, min(WARM_CHUNK_BYTES, position + size - at))
