"""Files of a few kilobytes, read whole: checkpoints, snapshots, properties."""

from tidelog.ports.errors import NotFound
from tidelog.ports.files import FileSystem, OpenMode


def read_whole(fs: FileSystem, path: str) -> bytes:
    """All bytes of the file; NotFound when there is none."""
    file = fs.open(path, OpenMode.READ)
    try:
        return file.read_at(0, file.size())
    finally:
        file.close()


def read_if_present(fs: FileSystem, path: str) -> bytes | None:
    try:
        return read_whole(fs, path)
    except NotFound:
        return None


def remove_if_present(fs: FileSystem, path: str) -> bool:
    """Whether there was one. The removal is durable after the directory is synced."""
    try:
        fs.remove_file(path)
    except NotFound:
        return False
    return True
