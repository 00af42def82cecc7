"""The `.log` file of a segment: bytes, the size that counts, and whether all of it is synced.

The size is kept here and not asked of the file: what a failed write, or a write that is torn by a power loss, leaves
behind it is never read. Only recovery looks at the file as it is.

When a write fails the file is cut back. The cut must be synced before anything is written behind it (the caller sees
to it, off the loop): what nobody acknowledged must not come back after a power loss in the middle of what was
acknowledged later.
"""

from collections.abc import Sequence

from tidelog.ports.durable import write_fully
from tidelog.ports.errors import StorageFault
from tidelog.ports.files import Buffer, File, FileRange, Ticket
from tidelog.storage.errors import UndoFault
from tidelog.storage.names import LOG_SUFFIX
from tidelog.storage.segment_files import SegmentFiles


class SegmentLog:
    __slots__ = ("_files", "is_synced", "size_bytes")

    def __init__(self, files: SegmentFiles, size_bytes: int) -> None:
        self._files = files
        self.size_bytes = size_bytes
        self.is_synced = True

    @property
    def path(self) -> str:
        return self._files.path(LOG_SUFFIX)

    def open(self) -> File:
        """Valid until the next file is opened: look into the indexes first."""
        return self._files.open(LOG_SUFFIX)

    def append(self, pieces: Sequence[Buffer], size_bytes: int) -> None:
        """One write, all or nothing: on a fault nothing has been appended. An UndoFault says that the file could not
        be brought back to that."""
        file, position = self.open(), self.size_bytes
        try:
            end = position + file.write_at(position, pieces)
            if end < position + size_bytes:  # short, which is rare
                end = write_fully(file, end, [b"".join(pieces)[end - position :]])
        except StorageFault as fault:
            self.is_synced = False
            _undo(file, position, fault)
            raise
        assert end == position + size_bytes, f"{self.path}: {end - position} bytes of pieces, {size_bytes} of batches"
        self.size_bytes = end
        self.is_synced = False

    def truncate(self, position: int) -> None:
        self.is_synced = False
        self.open().truncate(position)
        self.size_bytes = position

    def read(self, position: int, size_bytes: int) -> bytes:
        """Fewer bytes only at the end."""
        return self.open().read_at(position, min(size_bytes, self.size_bytes - position))

    def file_range(self, position: int, size_bytes: int) -> FileRange:
        return self.open().range(position, min(size_bytes, self.size_bytes - position))

    def is_cached(self, position: int, size_bytes: int) -> bool:
        return self.open().is_cached(position, size_bytes)

    def begin_warm(self, position: int, size_bytes: int) -> Ticket:
        return self._files.descriptors.fs.begin_warm(self.open(), position, size_bytes)

    def read_file(self, position: int, size_bytes: int) -> bytes:
        """Of the file as it is, past the size that counts."""
        return self.open().read_at(position, size_bytes)

    def modified_ms(self) -> int:
        return self._files.descriptors.fs.stat(self.path).modified_ms


def _undo(file: File, position: int, cause: StorageFault) -> None:
    try:
        file.truncate(position)
    except StorageFault as undo:
        raise UndoFault(file.path, cause, undo) from undo
