"""What a failed sync leaves behind, and how a later start makes it good (docs/adr/0016).

A sync that fails drops what it could not write: the pages count as clean, readers see them, and no later sync brings
them to the disk. The directory goes offline. A process that is started again on the same machine would read those
pages, take them for a log whose end is merely not synced, sync it with success, and acknowledge upon it what a power
loss takes away.

So the directory is marked. Only the page cache has to keep the mark, since it is needed as long as the cache is there:
it is a page that exists from the first start on and is written over as a whole, which needs neither room nor a read.
Where even that fails the mark is removed, and an unclean stop without a mark counts as a failed sync.

At the next start everything that may not be on the disk is written again, with the bytes that the cache has:

    names        renamed away and back, then the directory is synced
    files        from the segment that holds the recovery point on, written over in place, then synced
    checkpoints  replaced

and the mark is taken back when all of it is durable. Everything may be interrupted anywhere, and is then done again.
"""

from typing import Final

from tidelog.ports.durable import replace_durably, write_fully
from tidelog.ports.errors import DiskFull, IoError, NotFound, StorageFault, SyncFailed
from tidelog.ports.files import FileSystem, OpenMode
from tidelog.ports.paths import join, name_of, parent_of
from tidelog.storage.checkpoints.partition_metadata import PARTITION_METADATA
from tidelog.storage.checkpoints.small_files import read_if_present, read_whole, remove_if_present
from tidelog.storage.checkpoints.text import (
    CLEANER_OFFSET_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
)
from tidelog.storage.errors import InvalidNameError, UndoFault
from tidelog.storage.names import (
    LOG_SUFFIX,
    NAME_BYTES_MAX,
    NO_SUFFIX,
    parse_partition_directory,
    parse_segment_name,
)

SYNC_MARK: Final = ".tidelog-sync"
AWAY_SUFFIX: Final = ".resync"
_AWAY_CHARACTER: Final = "+"
CHUNK_BYTES: Final = 1 << 20
_PAGE_BYTES: Final = 4096
_INTACT: Final = b"every sync of this directory has succeeded\n".ljust(_PAGE_BYTES)
_FAILED: Final = b"a sync of this directory has failed\n".ljust(_PAGE_BYTES)
_CHECKPOINTS: Final = (
    RECOVERY_POINT_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    CLEANER_OFFSET_CHECKPOINT,
)


# The mark


def is_failed_sync(fault: StorageFault) -> bool:
    if isinstance(fault, UndoFault):
        return is_failed_sync(fault.cause) or is_failed_sync(fault.undo)
    return isinstance(fault, SyncFailed)


def mark_failed(fs: FileSystem, log_dir: str) -> bool:
    """Mark the directory, without waiting for the disk. False where that is not possible: then only a restart of the
    machine is safe."""
    path = join(log_dir, SYNC_MARK)
    try:
        file = fs.open(path, OpenMode.WRITE)
        try:
            write_fully(file, 0, [_FAILED])
        finally:
            file.close()
    except NotFound:
        return True  # after an unclean stop a missing mark says the same
    except StorageFault:
        return _is_removed(fs, path)
    return True


def _is_removed(fs: FileSystem, path: str) -> bool:
    try:
        remove_if_present(fs, path)
    except StorageFault:
        return False
    return True


def mark_intact(fs: FileSystem, log_dir: str) -> None:
    """Write the mark that every sync has succeeded, durably; nothing is done where the mark says so already."""
    if not is_marked_intact(fs, log_dir):
        replace_durably(fs, join(log_dir, SYNC_MARK), _INTACT)


def is_marked_intact(fs: FileSystem, log_dir: str) -> bool:
    return read_if_present(fs, join(log_dir, SYNC_MARK)) == _INTACT


def is_marked_failed(fs: FileSystem, log_dir: str) -> bool:
    return read_if_present(fs, join(log_dir, SYNC_MARK)) == _FAILED


# Writing again what may be lost


def rewrite_log_dir(fs: FileSystem, log_dir: str) -> None:
    """Write again the names of the partitions' directories, and the checkpoints. Waits for the disk."""
    _rename_back(fs, log_dir)
    for name in fs.list_directory(log_dir):
        if _is_of_partition(name):  # others' (lost+found, what is mounted there) are not ours to rename
            _rename_away_and_back(fs, join(log_dir, name))
    fs.sync_directory(log_dir)
    for name in _CHECKPOINTS:
        replace_again(fs, join(log_dir, name))


def rewrite_partition(fs: FileSystem, directory: str, recovery_point: int) -> None:
    """Write again all names, the topic's id, and the segments from the one that holds the recovery point on. Waits for
    the disk."""
    _rename_back(fs, directory)
    names = fs.list_directory(directory)
    for name in names:
        _rename_away_and_back(fs, join(directory, name))
    for name in [*_segments_from(names, recovery_point), PARTITION_METADATA]:
        if name in names:
            _write_again(fs, join(directory, name))
    fs.sync_directory(directory)


def _segments_from(names: list[str], recovery_point: int) -> list[str]:
    parsed = [(name, parse_segment_name(name)) for name in names]
    logs = {name: each.base_offset for name, each in parsed if each is not None and each[1:] == (LOG_SUFFIX, NO_SUFFIX)}
    first = max((base for base in logs.values() if base <= recovery_point), default=0)
    return [name for name, base in logs.items() if base >= first]


def _is_of_partition(name: str) -> bool:
    try:
        parse_partition_directory(name)
    except InvalidNameError:
        return False
    return True


def _rename_back(fs: FileSystem, directory: str) -> None:
    """Give back the names that an earlier, interrupted attempt has left renamed."""
    for name in fs.list_directory(directory):
        original = _original_name(name)
        if original is not None:
            fs.rename(join(directory, name), join(directory, original))


def _rename_away_and_back(fs: FileSystem, path: str) -> None:
    """Make two changes of the directory that the next sync of it has to write, whatever an earlier one dropped.

    A name that can not be given back is not a shortage that passes: a start that went on would not find what it names,
    and make an empty log in its place. The next start gives it back first.
    """
    away = join(parent_of(path), _away_name(name_of(path)))
    fs.rename(path, away)
    try:
        fs.rename(away, path)
    except StorageFault as fault:
        raise IoError(
            path, f"it is called {name_of(away)} now and could not be renamed back: {fault.detail}"
        ) from fault


def _away_name(name: str) -> str:
    """Return the name that a file or directory has while it is renamed away. A long name has no room for a suffix: its
    last hyphen becomes a character that no name of ours has. Only the directories of partitions have such long names,
    and all of them have a hyphen."""
    if len(name) + len(AWAY_SUFFIX) <= NAME_BYTES_MAX:
        return name + AWAY_SUFFIX
    return _AWAY_CHARACTER.join(name.rsplit("-", 1))


def _original_name(name: str) -> str | None:
    """Return the name from which `_away_name` made this one; None for a name that it did not make."""
    if name.endswith(AWAY_SUFFIX):
        return name.removesuffix(AWAY_SUFFIX)
    is_long = len(name) + len(AWAY_SUFFIX) > NAME_BYTES_MAX
    return name.replace(_AWAY_CHARACTER, "-") if is_long and _AWAY_CHARACTER in name else None


def _write_again(fs: FileSystem, path: str) -> None:
    """Write the same bytes to the same place, and sync: the pages have to be written again, and the sync says whether
    they were."""
    file = fs.open(path, OpenMode.WRITE)
    try:
        position = 0
        while data := file.read_at(position, CHUNK_BYTES):
            position = write_fully(file, position, [data])
        file.sync()
    finally:
        file.close()


def write_small_again(fs: FileSystem, path: str) -> None:
    """Write a small file again, if it is there: replaced, or where there is no room for that written over in place. In
    place is as safe here: the bytes are those that the cache has, and what the disk has is in doubt anyway until the
    sync succeeds."""
    try:
        replace_again(fs, path)
    except DiskFull:
        _write_again(fs, path)


def replace_again(fs: FileSystem, path: str) -> None:
    """Replace a small file with its own bytes, if it is there. For files that are always replaced as a whole."""
    try:
        replace_durably(fs, path, read_whole(fs, path))
    except NotFound:
        return
