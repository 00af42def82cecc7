"""The file system as an archive needs it: a port, so that a test can stop the world between any two steps.

Paths are relative to the archive's directory, and so are those in manifests: the directory may be mounted elsewhere
tomorrow, and under another name on another machine. `rename` and `sync_directory` must mean what POSIX says, which a
local disk and NFS do and an object store does not.
"""

import contextlib
import os
from pathlib import Path
from typing import Protocol

from pyspark_tidelog.errors import OptionError


class LakeFiles(Protocol):
    def names(self, directory: str) -> list[str]:
        """Return the names in a directory, sorted; [] where the directory does not exist."""

    def exists(self, path: str) -> bool: ...

    def size(self, path: str) -> int: ...

    def read(self, path: str) -> bytes: ...

    def write(self, path: str, content: bytes) -> None:
        """Write a file, replacing one that is there. It is durable only after `sync` and `sync_directory`."""

    def make_directory(self, path: str) -> None:
        """Make a directory and those above it, where they do not exist."""

    def sync(self, path: str) -> None:
        """Make the content of a file durable."""

    def sync_directory(self, path: str) -> None:
        """Make the names in a directory durable."""

    def rename(self, source: str, target: str) -> None: ...

    def remove(self, path: str) -> None:
        """Remove a file; it is no error if there is none."""


class LocalFiles:
    """A directory of this machine, or one that all machines of the cluster have mounted."""

    def __init__(self, directory: str) -> None:
        self.root = Path(local_path(directory))

    def names(self, directory: str) -> list[str]:
        try:
            return sorted(os.listdir(self.root / directory))
        except FileNotFoundError:
            return []

    def exists(self, path: str) -> bool:
        return (self.root / path).exists()

    def size(self, path: str) -> int:
        return (self.root / path).stat().st_size

    def read(self, path: str) -> bytes:
        return (self.root / path).read_bytes()

    def write(self, path: str, content: bytes) -> None:
        (self.root / path).write_bytes(content)

    def make_directory(self, path: str) -> None:
        (self.root / path).mkdir(parents=True, exist_ok=True)

    def sync(self, path: str) -> None:
        _sync(self.root / path)

    def sync_directory(self, path: str) -> None:
        _sync(self.root / path)

    def rename(self, source: str, target: str) -> None:
        os.replace(self.root / source, self.root / target)

    def remove(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.root / path)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def local_path(directory: str, option: str = "archiveTo") -> str:
    """Return the path of a directory that is given as a path or as a file: URL, as Spark writes it. OptionError for any
    other URL: only POSIX file systems have the atomic rename that an archive needs."""
    path = directory.removeprefix("file://") if directory.startswith("file:///") else directory.removeprefix("file:")
    if "://" in path or not path:
        problem = (
            f"{directory!r} is not a directory of a POSIX file system, whose atomic renames an archive is built on"
        )
        raise OptionError(option, problem, "give a path that the driver and all executors have mounted")
    return path
