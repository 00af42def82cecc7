"""Files of a few kilobytes, read whole: checkpoints, snapshots, properties."""

from tidelog.ports.durable import write_fully
from tidelog.ports.errors import NotFound
from tidelog.ports.files import FileSystem, OpenMode, Ticket


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


def write_whole(fs: FileSystem, path: str, contents: bytes) -> None:
    """Over what was there, and not synced: for what is worth nothing after a power loss, or is synced with a flush."""
    file = fs.open(path, OpenMode.CREATE)
    try:
        file.truncate(0)
        write_fully(file, 0, [contents])
    finally:
        file.close()


def begin_sync_path(fs: FileSystem, path: str) -> Ticket:
    file = fs.open(path, OpenMode.WRITE)
    try:
        return fs.begin_sync(file)
    finally:
        file.close()  # when the sync is done with it


def sync_path(fs: FileSystem, path: str) -> None:
    """The same, waiting for the disk."""
    file = fs.open(path, OpenMode.WRITE)
    try:
        file.sync()
    finally:
        file.close()
