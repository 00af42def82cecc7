"""Files, as far as a log needs them, and no further.

What every implementation keeps to:

- A write reaches the page cache, not the disk. It survives the death of the process; a power loss may take it, whole
  or in any part, in any order. Only a sync that succeeded makes bytes durable, and only those written before it began.
- Syncing a file makes its bytes and its size durable and does nothing for its name. A new name, a rename or a removal
  is durable after `sync_directory` of a directory it touched; until then each may vanish, or persist, on its own.
- A failed sync is final. The kernel drops what it could not write and would call the next attempt a success, so a
  file remembers its first failure and answers every later sync with it.
- Faults are typed (`ports.errors`) and belong to one path: several log directories fail independently.
- One thread calls all of this. What may stall on the disk has a twin (`begin_sync` and so on) that returns a ticket at
  once; its completion comes back through `completions`. What makes things durable on a disk completes in order.
- Descriptors are short at times (TooManyOpenFiles). Whoever calls is told; what was begun waits until it gets one.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple, NewType, Protocol

from tidelog.ports.errors import StorageFault

Buffer = bytes | bytearray | memoryview
Ticket = NewType("Ticket", int)

# The most pieces that one write takes (the system's IOV_MAX).
MAX_PIECES = 1024


class OpenMode(Enum):
    READ = "read"  # must exist
    WRITE = "write"  # read and write; must exist
    CREATE = "create"  # read and write; made when missing
    CREATE_NEW = "create-new"  # read and write; AlreadyExists when it is there


class FileStat(NamedTuple):
    is_directory: bool
    size: int  # bytes; 0 for a directory
    modified_ms: int  # wall clock; retention falls back on it for segments without timestamps


class DiskSpace(NamedTuple):
    total_bytes: int
    usable_bytes: int  # what this process may still take; less than what is free, when root has a reserve


class Completion(NamedTuple):
    ticket: Ticket
    fault: StorageFault | None

    @property
    def took_ns(self) -> int:
        """The time that the work took, without the waiting for its turn; 0 where the system can not tell."""
        return 0


class FileRange(Protocol):
    """Bytes of a file on their way to a connection, read when they are sent and not before.

    It pins the file: closing the file waits for the release, because a descriptor number that is reused meanwhile
    would send another partition's bytes. `io` sends it without reading it; whoever can not (TLS, the simulator) reads.
    """

    @property
    def remaining(self) -> int:
        """The number of bytes still to be sent."""
        ...

    def __len__(self) -> int:
        """The same as `remaining`: a range stands in a response where bytes would."""
        ...

    def read(self, limit: int) -> bytes:
        """Return the next bytes, at most `limit`, without passing over them. No bytes while `remaining` > 0 mean that
        the file shrank: the promised length can not be kept, and the connection has to be closed."""
        ...

    def advance(self, count: int) -> None:
        """Note that `count` bytes have been sent; a short send advances by less than it was given."""
        ...

    def release(self) -> None:
        """Unpin the file. Call this once; nothing may be read from the range afterwards."""
        ...


class File(Protocol):
    @property
    def path(self) -> str:
        """The path as it was opened. A rename moves the file, and does not change this text."""
        ...

    def size(self) -> int: ...

    def read_at(self, position: int, size: int) -> bytes:
        """Read from `position`. Fewer bytes than asked for mean the end of the file, and nothing else. May stall on a
        cold page."""
        ...

    def read_cached(self, position: int, size: int) -> bytes | None:
        """Do what `read_at` does, but return None where it would wait for the disk. Where the system can not tell, it
        may wait."""
        ...

    def write_at(self, position: int, pieces: Sequence[Buffer]) -> int:
        """Write the pieces one after another from `position`; return how many bytes were written.

        May be short, at any byte: the disk filled up, or there were more than MAX_PIECES pieces. Raises only when not
        one byte was written. Writing past the end leaves zeros in between.
        """
        ...

    def truncate(self, size: int) -> None:
        """Cut, or extend with zeros that take no space (how an index file is preallocated)."""
        ...

    def sync(self) -> None:
        """Make bytes and size durable, and return when they are. Stalls; see `begin_sync`. A failure is final."""
        ...

    def is_cached(self, position: int, size: int) -> bool:
        """Tell whether reading the range would probably not wait for the disk. True where the system can not tell."""
        ...

    def range(self, position: int, size: int) -> FileRange: ...

    def close(self) -> None:
        """Close the file: for the caller at once, for the system when the last range and begun sync are done with it.
        Does not sync. Closing twice is allowed."""
        ...


class Lock(Protocol):
    def release(self) -> None:
        """Give up the lock; twice is allowed. The file stays: removing it could take away the next owner's lock."""
        ...


class FileSystem(Protocol):
    @property
    def pinned_files(self) -> int:
        """The number of files that are held open by a range, or by a sync or warming that was begun: each costs a
        descriptor for as long, whether or not its owner has closed it."""
        ...

    def open(self, path: str, mode: OpenMode) -> File: ...

    def stat(self, path: str) -> FileStat:
        """Return the facts about a path; raises NotFound when there is nothing."""
        ...

    def list_directory(self, path: str) -> list[str]:
        """Return the names, sorted: the order in which a disk keeps them must not decide anything."""
        ...

    def make_directory(self, path: str) -> None:
        """Make one directory; its parent must exist."""
        ...

    def remove_file(self, path: str) -> None:
        """Remove the name at once; open handles read on, and the space returns with the last of them."""
        ...

    def remove_directory(self, path: str) -> None:
        """Remove an empty directory; raises NotEmpty for another."""
        ...

    def rename(self, source: str, target: str) -> None:
        """Rename, atomically. Replaces a file by a file and an empty directory by a directory; open files stay open."""
        ...

    def sync_directory(self, path: str) -> None:
        """Make the names made, removed and renamed in this directory durable, and return when they are. A failure is
        final, but without a handle there is nothing to remember it: the caller takes the log directory offline."""
        ...

    def set_modified(self, path: str, modified_ms: int) -> None:
        """Set the time of change that `stat` returns for a file, until the next write. Durable with the next sync of
        the file."""
        ...

    def space(self, path: str) -> DiskSpace: ...

    def lock(self, path: str) -> Lock:
        """Own the path (made when missing) until released or until this process dies; LockHeld names the owner."""
        ...

    def lock_owner(self, path: str) -> str | None:
        """Return who owns the path, without changing anything; None when nobody does."""
        ...

    def begin_sync(self, file: File) -> Ticket:
        """Begin `file.sync()` off the loop: it covers what was written before this call."""
        ...

    def begin_sync_directory(self, path: str) -> Ticket: ...

    def begin_replace(self, path: str, contents: bytes) -> Ticket:
        """Begin `ports.durable.replace_durably` off the loop. One at a time for a path."""
        ...

    def begin_make_directory(self, path: str, files: Mapping[str, bytes]) -> Ticket:
        """Begin `ports.filled_directory.make_filled_directory` off the loop. Nothing of it is durable. Not ordered with
        the syncs, nor with each other, though those begun first come first."""
        ...

    def begin_warm(self, file: File, position: int, size: int) -> Ticket:
        """Begin to bring a cold range into the page cache. Not ordered with the syncs: a reader does not wait for
        them."""
        ...

    def allow_any_order(self) -> None:
        """Let what makes things durable complete in any order from now on, several at a time: for a stop, behind which
        nothing is written."""
        ...

    def completions(self) -> list[Completion]:
        """Return what has completed since the last call; never waits."""
        ...
