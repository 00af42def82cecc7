"""The two sequences that everything durable is made of, written once over the port.

The real and the simulated file system run these same lines, so the simulator's crashes test the order of steps that
production relies on.
"""

from collections.abc import Generator, Sequence
from contextlib import suppress

from tidelog.ports.errors import DiskFull, IoError, StorageFault, SyncFailed
from tidelog.ports.files import MAX_PIECES, Buffer, File, FileSystem, OpenMode
from tidelog.ports.paths import parent_of

# Kafka's suffix for a file that is being written; recovery throws away what carries it.
TEMPORARY_SUFFIX = ".tmp"


def write_fully(file: File, position: int, pieces: Sequence[Buffer]) -> int:
    """Write all pieces, however short the single writes are; return the position behind them.

    A fault leaves the file with an unknown part written: the caller truncates back to `position`, or gives up the log.
    """
    views = [memoryview(piece).cast("B") for piece in pieces]
    first = 0
    while first < len(views):
        count = file.write_at(position, views[first : first + MAX_PIECES])
        position += count
        first, progressed = _skip(views, first, count)
        if not progressed:
            raise IoError(file.path, "a write made no progress")
    return position


def _skip(views: list[memoryview], first: int, count: int) -> tuple[int, bool]:
    """Pass over `count` written bytes; return the index of the first view still to write, and whether anything was
    passed over."""
    start = first
    while first < len(views) and count >= len(views[first]):
        count -= len(views[first])
        first += 1
    if count:
        views[first] = views[first][count:]
    return first, first > start or count > 0


def replace_durably(fs: FileSystem, path: str, contents: bytes) -> None:
    """Replace the file. When this returns it holds `contents`, whatever happens next; if it does not return, the file
    holds the old contents or the new."""
    for _ in replacement_steps(fs, path, contents):
        pass


def replacement_steps(fs: FileSystem, path: str, contents: bytes) -> Generator[None, None, None]:
    """Write beside the file, sync the bytes, then rename, then sync the directory: renaming bytes that are not on disk
    yet could leave the name pointing at nothing, and the rename itself is lost without the directory.

    Each yield is a moment at which the power may fail; the simulator stops there.
    """
    file = fs.open(path + TEMPORARY_SUFFIX, OpenMode.CREATE)
    try:
        file.truncate(0)  # a crash may have left an older attempt
        write_fully(file, 0, [contents])
        yield
        _sync_new(file)
        yield
    except DiskFull:
        with suppress(StorageFault):
            file.truncate(0)  # others need the room that the part takes which was written
        raise
    finally:
        file.close()
    fs.rename(path + TEMPORARY_SUFFIX, path)
    yield
    fs.sync_directory(parent_of(path))


def _sync_new(file: File) -> None:
    """Sync a file under its temporary name, which nobody looks for yet: want of room fails this attempt alone, with
    DiskFull."""
    try:
        file.sync()
    except SyncFailed as fault:
        if fault.found_no_room:
            raise DiskFull(fault.path, fault.detail) from fault
        raise


def make_directory_durably(fs: FileSystem, path: str) -> None:
    fs.make_directory(path)
    fs.sync_directory(parent_of(path))
