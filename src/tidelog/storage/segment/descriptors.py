"""A bounded number of open files, kept by path; the one opened or used longest ago is closed for a new one.

A broker has many more segments than descriptors, and reads few of them at a time. Nobody keeps a File of their own:
whoever needs one asks here each time, so that a closed segment costs no descriptor until it is read, and an idle
active one gives its own back.

A read in flight survives whatever happens here. Its FileRange pins the File, and `close` takes effect for the system
only when the last range (and begun sync) is done with it; so files may be dropped, renamed and removed at any time,
and the bytes that were promised are still sent. Pinned files have a limit of their own (`may_pin`), since a client that
does not read keeps its ranges for as long as it likes: where no pin is left, the bytes are read instead. Ranges never
get all pins: syncs pin as well (`may_sync`), and must not wait for such a client.

Closing does not sync and needs not: the next `sync` of the same path, through whatever descriptor, covers what was
written through an earlier one.
"""

from typing import Final

from tidelog.ports.errors import NotFound, TooManyOpenFiles
from tidelog.ports.files import File, FileSystem, OpenMode, Ticket
from tidelog.ports.paths import parent_of
from tidelog.storage.errors import ColdRead

DEFAULT_LIMIT: Final = 4096
WARMED_BYTES: Final = 131_072  # warmed at least at a time: a search that reads one header reads the next ones too


class Descriptors:
    __slots__ = ("_files", "_limit", "_mode", "_paths_under", "_pins_max", "_ranges_max", "fs", "may_wait")

    def __init__(
        self, fs: FileSystem, limit: int = DEFAULT_LIMIT, *, pins_max: int = DEFAULT_LIMIT, read_only: bool = False
    ) -> None:
        """`read_only` is for tools that look at a directory which belongs to somebody else."""
        if limit < 1:
            raise ValueError(f"a cache of {limit} files")
        self.fs = fs
        self._limit = limit
        self._ranges_max = max(1, pins_max * 3 // 4)
        self._pins_max = max(pins_max, self._ranges_max + 1)
        self._mode = OpenMode.READ if read_only else OpenMode.WRITE
        self.may_wait = True  # whether `read` may wait for the disk; whoever turns it off turns it on again
        self._files: dict[str, File] = {}  # in the order of use
        # The same paths by directory, so that a deleted log, one of ten thousand, finds its own without looking at all.
        self._paths_under: dict[str, dict[str, None]] = {}

    @property
    def may_pin(self) -> bool:
        """Tell whether there is a descriptor for one more file that a range pins."""
        return self.fs.pinned_files < self._ranges_max

    @property
    def may_sync(self) -> bool:
        """Tell whether there is a descriptor for a file that a sync pins. However many ranges there are, some are left
        for syncs."""
        return self.fs.pinned_files < self._pins_max

    def __len__(self) -> int:
        return len(self._files)

    def __contains__(self, path: object) -> bool:
        return path in self._files

    def open(self, path: str) -> File:
        """Return the file, which must exist. It is valid until the next call of anything here: do not keep it."""
        file = self._files.pop(path, None)
        if file is None:
            file = self._open(path, self._mode)
            self._note(path)
        self._files[path] = file
        return file

    def read(self, path: str, position: int, size: int) -> bytes:
        """Read from the file; fewer bytes mean its end. Raises ColdRead where that would wait for the disk and may
        not."""
        file = self.open(path)
        if self.may_wait:
            return file.read_at(position, size)
        data = file.read_cached(position, size)
        if data is None:
            raise ColdRead(self, path, position, size)
        return data

    def begin_warm(self, cold: ColdRead) -> Ticket:
        """Bring what a read missed, and a little more, into the page cache, off the loop."""
        return self.fs.begin_warm(self.open(cold.path), cold.position, max(cold.size_bytes, WARMED_BYTES))

    def create(self, path: str, *, new: bool = False) -> File:
        """Return the file as `open` does, made when missing. With `new`, raises AlreadyExists unless it is missing."""
        file = None if new else self._files.pop(path, None)
        if file is None:
            file = self._open(path, OpenMode.CREATE_NEW if new else OpenMode.CREATE)
            self._note(path)
        self._files[path] = file
        return file

    def _note(self, path: str) -> None:
        self._paths_under.setdefault(parent_of(path), {})[path] = None

    def _forget(self, path: str) -> None:
        directory = parent_of(path)
        paths = self._paths_under[directory]
        del paths[path]
        if not paths:
            del self._paths_under[directory]

    def _open(self, path: str, mode: OpenMode) -> File:
        while len(self._files) >= self._limit:
            self._close_oldest()
        try:
            return self.fs.open(path, mode)
        except TooManyOpenFiles:
            if not self._files:
                raise
            # Sockets and the like took what we counted on: give back half and try once more.
            for _ in range((len(self._files) + 1) // 2):
                self._close_oldest()
            return self.fs.open(path, mode)

    def _close_oldest(self) -> None:
        self.drop(next(iter(self._files)))

    def drop(self, path: str) -> None:
        """Close the file if it is open."""
        file = self._files.pop(path, None)
        if file is not None:
            self._forget(path)
            file.close()

    def rename(self, source: str, target: str) -> None:
        """Rename a file. Both names are dropped first: whatever is opened under them later is what they name then."""
        self.drop(source)
        self.drop(target)
        self.fs.rename(source, target)

    def remove(self, path: str) -> bool:
        """Remove the file and tell whether there was one."""
        self.drop(path)
        try:
            self.fs.remove_file(path)
        except NotFound:
            return False
        return True

    def drop_under(self, directory: str) -> None:
        """Close the files of a directory, before it is renamed or removed. Logs have no directories inside."""
        for path in list(self._paths_under.get(directory, ())):
            self.drop(path)

    def close(self) -> None:
        for path in list(self._files):
            self.drop(path)
