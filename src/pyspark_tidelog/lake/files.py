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
        """What is in it, sorted; nothing when it is not there."""

    def exists(self, path: str) -> bool: ...

    def size(self, path: str) -> int: ...

    def read(self, path: str) -> bytes: ...

    def write(self, path: str, content: bytes) -> None:
        """The file with this content, replaced if it is there. Not durable before `sync` and `sync_directory`."""

    def make_directory(self, path: str) -> None:
        """And those above it."""

    def sync(self, path: str) -> None:
        """The content of a file."""

    def sync_directory(self, path: str) -> None:
        """The names in it."""

    def rename(self, source: str, target: str) -> None: ...

    def remove(self, path: str) -> None:
        """No error if it is gone already."""


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
    """A path, or a file: URL as Spark writes it. Anything else has no rename that we could build on."""
    path = directory.removeprefix("file://") if directory.startswith("file:///") else directory.removeprefix("file:")
    if "://" in path or not path:
        problem = (
            f"{directory!r} is not a directory of a POSIX file system, whose atomic renames an archive is built on"
        )
        raise OptionError(option, problem, "give a path that the driver and all executors have mounted")
    return path
