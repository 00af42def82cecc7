"""OSError, as the operating system means it, to StorageFault, as a node reacts to it.

What the table does not name is an IoError: an unknown failure of a disk is a failure of the disk.
"""

import errno
import os
from collections.abc import Mapping
from types import MappingProxyType

from tidelog.ports.errors import (
    AlreadyExists,
    CrossDevice,
    DiskFull,
    IoError,
    NameTooLong,
    NotEmpty,
    NotFound,
    PermissionRefused,
    ReadOnly,
    StorageFault,
    SyncFailed,
    TooManyOpenFiles,
    WrongKind,
)

FAULTS: dict[int, type[StorageFault]] = {
    errno.ENOSPC: DiskFull,
    errno.EDQUOT: DiskFull,
    errno.EROFS: ReadOnly,
    errno.ENOENT: NotFound,
    errno.EEXIST: AlreadyExists,
    errno.ENOTEMPTY: NotEmpty,
    errno.EISDIR: WrongKind,
    errno.ENOTDIR: WrongKind,
    errno.EXDEV: CrossDevice,
    errno.ENAMETOOLONG: NameTooLong,
    errno.EACCES: PermissionRefused,
    errno.EPERM: PermissionRefused,
    errno.EMFILE: TooManyOpenFiles,
    errno.ENFILE: TooManyOpenFiles,
}


def fault_of(error: OSError, path: str, here: Mapping[int, type[StorageFault]] = MappingProxyType({})) -> StorageFault:
    """Return the StorageFault that an OSError means. `here`: what a number means to this call, where that differs from
    the table."""
    number = error.errno or 0
    detail = f"{os.strerror(number)} ({errno.errorcode.get(number, number)})"
    kind = here.get(number) or FAULTS.get(number, IoError)
    return kind(path, detail)


def failed_sync(error: OSError, path: str) -> SyncFailed:
    fault = fault_of(error, path)
    return SyncFailed(path, fault.detail, found_no_room=isinstance(fault, DiskFull))


class translated:
    """A context that turns OSError into StorageFault. Hot paths catch OSError themselves. A class, because a generator
    would cost as much as the call that it guards."""

    __slots__ = ("_here", "_path")

    def __init__(self, path: str, here: Mapping[int, type[StorageFault]] = MappingProxyType({})) -> None:
        self._path = path
        self._here = here

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, OSError):
            raise fault_of(error, self._path, self._here) from error
