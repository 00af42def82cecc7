"""A file that only takes up room, so that a full disk still has some for the metadata log and `quorum-state`.

    held -> released, at the first sign that the disk is full -> held again, once there is room

Part of it, which is being taken or which a process left that died meanwhile, is released like the whole.

A node has to write in order to help itself: a start writes its vote and its epoch, and the topic that is deleted to
make room is deleted by a record. What is released is the metadata log's: while the ballast is gone, the logs of the
same disk leave as much alone (`DiskRoom.owed_bytes`).

The bytes are noise. Zeros would take no room on a file system that compresses, and a hole takes none anywhere.
"""

from typing import Final

from tidelog.ports.durable import write_fully
from tidelog.ports.errors import DiskFull, NotFound, StorageFault
from tidelog.ports.files import FileSystem, OpenMode
from tidelog.ports.paths import join, parent_of
from tidelog.storage.checkpoints.small_files import remove_if_present
from tidelog.storage.directories.disk_room import DiskRoom
from tidelog.storage.directories.operations import GIVE_WAY, Steps

BALLAST: Final = "ballast"
BALLAST_BYTES: Final = 1 << 20
# Free space under which the ballast is given up: a turn's records, a new segment, a few small files.
LOW_BYTES: Final = 128 << 10
# Free space from which on the ballast is taken (again): nothing else may suffer for it.
TAKEN_FROM_BYTES: Final = 4 * BALLAST_BYTES
CHUNK_BYTES: Final = 64 << 10


class MetadataBallast:
    """The ballast of one node."""

    def __init__(self, fs: FileSystem, directory: str) -> None:
        """Find the ballast in the metadata log's directory, as the last process has left it."""
        self._fs = fs
        self._path = join(directory, BALLAST)
        self._taken_bytes = self._size()
        self.is_held = self._taken_bytes == BALLAST_BYTES
        self.is_released = False  # this process released it, and has not taken it again
        self._room: DiskRoom | None = None

    def share(self, room: DiskRoom) -> None:
        """Have the logs of this log directory, which the metadata log lies in, leave the ballast's room alone."""
        self._room = room
        self._tell_room()

    def _tell_room(self) -> None:
        if self._room is not None:
            self._room.owed_bytes = 0 if self.is_held else BALLAST_BYTES

    def _size(self) -> int:
        try:
            return self._fs.stat(self._path).size
        except NotFound:
            return 0

    def release_if_low(self) -> bool:
        """Give the room back before it is missed; return whether that was done."""
        if not self._taken_bytes or self._usable_bytes() >= LOW_BYTES:
            return False
        return self.release()

    def release(self) -> bool:
        """Give the room back; return whether there was any to give."""
        if not self._taken_bytes:
            return False
        remove_if_present(self._fs, self._path)
        self._taken_bytes, self.is_held, self.is_released = 0, False, True
        self._tell_room()
        return True

    @property
    def can_be_taken(self) -> bool:
        return not self.is_held and self._usable_bytes() >= TAKEN_FROM_BYTES

    def _usable_bytes(self) -> int:
        return self._fs.space(parent_of(self._path)).usable_bytes

    def shortage(self) -> str | None:
        """Say why only what makes room may be written: the ballast is gone, or would have to go. None: there is
        room."""
        directory = parent_of(self._path)
        try:
            usable_bytes = self._usable_bytes()
        except StorageFault:
            return None  # the next write finds out
        if usable_bytes - (0 if self.is_held else BALLAST_BYTES) >= LOW_BYTES:
            return None
        return (
            f"the disk of {directory} is full: {usable_bytes} bytes are free, which are kept for what makes room. "
            f"Delete topics, shorten their retention, or free at least {TAKEN_FROM_BYTES >> 20} MiB; then try again"
        )

    def taking(self) -> Steps:
        """Take up the room, a piece at a time. Where the disk is full after all, or the ballast is released meanwhile,
        nothing is taken."""
        from hashlib import shake_128  # it brings OpenSSL, which a start does without once the ballast is there

        noise = shake_128(b"tidelog").digest(BALLAST_BYTES)
        try:
            file = self._fs.open(self._path, OpenMode.CREATE)
        except DiskFull:
            return
        try:
            file.truncate(0)
            for at in range(0, BALLAST_BYTES, CHUNK_BYTES):
                write_fully(file, at, [noise[at : at + CHUNK_BYTES]])
                self._taken_bytes = at + CHUNK_BYTES
                yield GIVE_WAY
                if not self._taken_bytes:
                    return
            yield [self._fs.begin_sync(file)]
        except DiskFull:
            self._taken_bytes = 0
            remove_if_present(self._fs, self._path)
            return
        finally:
            file.close()
        if not self._taken_bytes:
            return
        self.is_held, self.is_released = True, False
        self._tell_room()
