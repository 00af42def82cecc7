"""Files of a few kilobytes, read whole: checkpoints, snapshots, properties."""

from tidelog.ports.durable import write_fully
from tidelog.ports.errors import NotFound
from tidelog.ports.files import FileSystem, OpenMode, Ticket


def read_whole(fs: FileSystem, path: str) -> bytes:
    """Return all bytes of the file; raises NotFound when there is none."""
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
    """Remove the file and tell whether there was one. The removal is durable after the directory is synced."""
    try:
        fs.remove_file(path)
    except NotFound:
        return False
    return True


def write_whole(fs: FileSystem, path: str, contents: bytes) -> None:
    """Write the file over what was there, without a sync: for contents that are worth nothing after a power loss, or
    that a flush syncs."""
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
        file.close()  # the descriptor itself stays open until the sync is done


def sync_path(fs: FileSystem, path: str) -> None:
    """Sync the file at this path, waiting for the disk."""
    file = fs.open(path, OpenMode.WRITE)
    try:
        file.sync()
    finally:
        file.close()
