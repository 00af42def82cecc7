"""A bounded number of open files, kept by path; the one opened or used longest ago is closed for a new one.

A broker has many more segments than descriptors, and reads few of them at a time. Nobody keeps a File of their own:
whoever needs one asks here each time, so that a closed segment costs no descriptor until it is read, and an idle
active one gives its own back.

A read in flight survives whatever happens here. Its FileRange pins the File, and `close` takes effect for the system
only when the last range (and begun sync) is done with it; so files may be dropped, renamed and removed at any time,
and the bytes that were promised are still sent. Such a pinned file counts no longer against the limit.

Closing does not sync and needs not: the next `sync` of the same path, through whatever descriptor, covers what was
written through an earlier one.
"""

from typing import Final

from tidelog.ports.errors import NotFound, TooManyOpenFiles
from tidelog.ports.files import File, FileSystem, OpenMode

DEFAULT_LIMIT: Final = 4096


class Descriptors:
    __slots__ = ("_files", "_limit", "_mode", "fs")

    def __init__(self, fs: FileSystem, limit: int = DEFAULT_LIMIT, *, read_only: bool = False) -> None:
        """`read_only` for tools that look at a directory which belongs to somebody else."""
        if limit < 1:
            raise ValueError(f"a cache of {limit} files")
        self.fs = fs
        self._limit = limit
        self._mode = OpenMode.READ if read_only else OpenMode.WRITE
        self._files: dict[str, File] = {}  # in the order of use

    def __len__(self) -> int:
        return len(self._files)

    def __contains__(self, path: object) -> bool:
        return path in self._files

    def open(self, path: str) -> File:
        """The file, which must exist. Valid until the next call of anything here: do not keep it."""
        file = self._files.pop(path, None)
        if file is None:
            file = self._open(path, self._mode)
        self._files[path] = file
        return file

    def create(self, path: str, *, new: bool = False) -> File:
        """The same, made when missing; `new`: AlreadyExists unless it is missing."""
        file = None if new else self._files.pop(path, None)
        if file is None:
            file = self._open(path, OpenMode.CREATE_NEW if new else OpenMode.CREATE)
        self._files[path] = file
        return file

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
        self._files.pop(next(iter(self._files))).close()

    def drop(self, path: str) -> None:
        """Close it if it is open."""
        file = self._files.pop(path, None)
        if file is not None:
            file.close()

    def rename(self, source: str, target: str) -> None:
        """Both names are dropped first: whatever is opened under them later is what they name then."""
        self.drop(source)
        self.drop(target)
        self.fs.rename(source, target)

    def remove(self, path: str) -> bool:
        """Whether there was such a file."""
        self.drop(path)
        try:
            self.fs.remove_file(path)
        except NotFound:
            return False
        return True

    def drop_under(self, directory: str) -> None:
        """Before a directory is renamed or removed."""
        prefix = directory + "/"
        for path in [path for path in self._files if path.startswith(prefix)]:
            self.drop(path)

    def close(self) -> None:
        for path in list(self._files):
            self.drop(path)
