"""What can go wrong behind the FileSystem port, as types.

Three families, because they ask for three reactions:

    StorageFault
      DeviceFault      the disk can no longer be trusted with writes: the log directory goes offline
        IoError (SyncFailed: of what was written before, too)  ReadOnly
        DiskFull       but this passes by itself, and costs only what needs the room
      PathFault        an answer about a name; the caller usually expected it
        NotFound  AlreadyExists  NotEmpty  WrongKind  CrossDevice  NameTooLong  PermissionRefused
      TooManyOpenFiles the process is at its limit; neither the disk nor the name is at fault
      LockHeld         another process owns the log directory
    HandleClosed       not a fault but a bug here: it must never be mistaken for a bad disk
"""


class StorageFault(Exception):
    """A fault of the file system: `path` is what was asked for, `detail` what the system answered."""

    def __init__(self, path: str, detail: str) -> None:
        super().__init__(f"{path}: {detail}")
        self.path = path
        self.detail = detail


class DeviceFault(StorageFault):
    """The disk under this path failed. Nothing is retried: the log directory goes offline."""


class DiskFull(DeviceFault):
    """No space, or no quota, for even one more byte."""


class IoError(DeviceFault):
    """The device failed to read, write or sync; also everything that we have no better name for."""


class SyncFailed(IoError):
    """A sync failed: what it was to write is dropped, readers still see it, and no later sync writes it. Final, also
    where `found_no_room` says that it was for want of room."""

    def __init__(self, path: str, detail: str, *, found_no_room: bool = False) -> None:
        super().__init__(path, detail)
        self.found_no_room = found_no_room


class ReadOnly(DeviceFault):
    """The file system is mounted read-only. Linux remounts it so after it has found itself corrupt."""


class PathFault(StorageFault):
    """The name, not the disk, is the reason."""


class NotFound(PathFault):
    """The path, or a directory on the way to it, does not exist."""


class AlreadyExists(PathFault):
    """The path was to be created, and is there."""


class NotEmpty(PathFault):
    """A directory was to be removed or replaced, and has entries."""


class WrongKind(PathFault):
    """A directory where a file was meant, or a file where a directory was."""


class CrossDevice(PathFault):
    """A rename from one file system to another: only a copy can do that."""


class NameTooLong(PathFault):
    """A name of more than 255 bytes, or a path beyond the system's limit."""


class PermissionRefused(PathFault):
    """This user may not do that here."""


class TooManyOpenFiles(StorageFault):
    """The process (or machine) has no descriptor left."""


class LockHeld(StorageFault):
    """Another process has the lock. `owner` is what it wrote about itself: its pid, or a simulated node's name."""

    def __init__(self, path: str, owner: str) -> None:
        super().__init__(path, f"locked by {owner}")
        self.owner = owner


class HandleClosed(RuntimeError):
    """A file, range or lock was used after it was closed, or after its process died in the simulator."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path}: used after it was closed")
        self.path = path
