"""The `.log` file of a segment: bytes, the size that counts, and whether all of it is synced.

The size is kept here and not asked of the file: what a failed write, or a write that is torn by a power loss, leaves
behind it is never read. Only recovery looks at the file as it is.

When a write fails the file is cut back. The cut must be synced before anything is written behind it (the caller sees
to it, off the loop): what nobody acknowledged must not come back after a power loss in the middle of what was
acknowledged later. Where not even that is possible `is_torn` says that the file is longer than the log, and the next
`truncate` has to cut it.
"""

from collections.abc import Sequence

from tidelog.ports.durable import write_fully
from tidelog.ports.errors import StorageFault
from tidelog.ports.files import Buffer, File, FileRange, Ticket
from tidelog.storage.errors import UndoFault
from tidelog.storage.names import LOG_SUFFIX
from tidelog.storage.segment.files import SegmentFiles


class SegmentLog:
    __slots__ = ("_files", "is_synced", "is_torn", "size_bytes")

    def __init__(self, files: SegmentFiles, size_bytes: int) -> None:
        self._files = files
        self.size_bytes = size_bytes
        self.is_synced = True
        self.is_torn = False

    @property
    def path(self) -> str:
        return self._files.path(LOG_SUFFIX)

    def open(self) -> File:
        """Return the file, which is valid until the next file is opened: look into the indexes first."""
        return self._files.open(LOG_SUFFIX)

    def append(self, pieces: Sequence[Buffer], size_bytes: int) -> None:
        """Write the pieces in one write, all or nothing: on a fault nothing has been appended. An UndoFault says that
        the file could not be brought back to that."""
        file, position = self.open(), self.size_bytes
        try:
            end = position + file.write_at(position, pieces)
            if end < position + size_bytes:  # a short write, which is rare
                end = write_fully(file, end, [b"".join(pieces)[end - position :]])
        except StorageFault as fault:
            self.is_synced, self.is_torn = False, True
            _undo(file, position, fault)
            self.is_torn = False
            raise
        assert end == position + size_bytes, f"{self.path}: {end - position} bytes of pieces, {size_bytes} of batches"
        self.size_bytes = end
        self.is_synced = False

    def truncate(self, position: int) -> None:
        self.is_synced = False
        self.open().truncate(position)
        self.size_bytes, self.is_torn = position, False

    def read(self, position: int, size_bytes: int) -> bytes:
        """Read from the log; fewer bytes mean its end."""
        return self._files.read(LOG_SUFFIX, position, min(size_bytes, self.size_bytes - position))

    def read_at(self, position: int, size_bytes: int) -> bytes:
        """Read without a check for the end: for walks along the batches, which know where the log ends."""
        return self._files.read(LOG_SUFFIX, position, size_bytes)

    @property
    def may_pin(self) -> bool:
        """Tell whether a range may be asked for (`Descriptors.may_pin`)."""
        return self._files.descriptors.may_pin

    def file_range(self, position: int, size_bytes: int) -> FileRange:
        """Return a range for sendfile, which pins the file until it is released."""
        return self.open().range(position, min(size_bytes, self.size_bytes - position))

    def is_cached(self, position: int, size_bytes: int) -> bool:
        """Tell whether sending the range would probably not wait for the disk."""
        return self.open().is_cached(position, size_bytes)

    def cached_range(self, position: int, size_bytes: int) -> FileRange | None:
        """Return the range for sendfile; None where sending it would probably wait for the disk."""
        file, size_bytes = self.open(), min(size_bytes, self.size_bytes - position)
        return file.range(position, size_bytes) if file.is_cached(position, size_bytes) else None

    def begin_warm(self, position: int, size_bytes: int) -> Ticket:
        """Bring the range into the page cache, off the loop."""
        return self._files.descriptors.fs.begin_warm(self.open(), position, size_bytes)

    def read_file(self, position: int, size_bytes: int) -> bytes:
        """Read the file as it is, past the size that counts."""
        return self.open().read_at(position, size_bytes)

    def modified_ms(self) -> int:
        return self._files.descriptors.fs.stat(self.path).modified_ms


def _undo(file: File, position: int, cause: StorageFault) -> None:
    try:
        file.truncate(position)
    except StorageFault as undo:
        raise UndoFault(file.path, cause, undo) from undo
