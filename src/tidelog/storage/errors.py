"""What can be wrong with the files of a log, as types.

Faults of the disk itself are `ports.errors.StorageFault`, and what a client did wrong is an `ErrorCode`; these are
about bytes that are there and make no sense, and about the limits of the formats.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidelog.model.ids import TopicPartition
from tidelog.ports.errors import DeviceFault, StorageFault
from tidelog.ports.files import Ticket
from tidelog.ports.paths import name_of, parent_of

if TYPE_CHECKING:
    from tidelog.storage.segment.descriptors import Descriptors


def way_out(path: str) -> str:
    """Return the words that tell an operator what to do about the partition whose directory this is."""
    return f"stop the broker and run `tidelog log repair {parent_of(path)} --partition {name_of(path)}`"


class LogError(Exception):
    """A file of the log can not be used as it is."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class ColdRead(Exception):
    """A read that would wait for the disk, while `Descriptors.may_wait` is off: these bytes have to be warmed first."""

    def __init__(self, descriptors: "Descriptors", path: str, position: int, size_bytes: int) -> None:
        super().__init__(path, position, size_bytes)
        self.descriptors = descriptors
        self.path = path
        self.position = position
        self.size_bytes = size_bytes

    def begin_warm(self) -> Ticket:
        """Bring what was missed into the page cache, off the loop."""
        return self.descriptors.begin_warm(self)


class CorruptIndexError(LogError):
    """An index contradicts its format or its segment. It is rebuilt from the log, never repaired."""


class CorruptSegmentError(LogError):
    """The log itself is damaged at `position`; everything before it is good. `next_offset` follows the last good
    batch."""

    def __init__(self, path: str, position: int, reason: str, next_offset: int = -1) -> None:
        LogError.__init__(self, path, reason)
        self.args = (path, position, reason, next_offset)
        self.position = position
        self.next_offset = next_offset

    def __str__(self) -> str:
        return f"{self.path}: at position {self.position}: {self.reason}"


class UnsupportedSegmentError(CorruptSegmentError):
    """Records of a format that Kafka 4 no longer has. They are whole, so nothing of them is ever cut."""


class SegmentOverflowError(LogError):
    """An offset or a position that the 32 bits of an index entry can not hold: the log has to roll before."""


class DuplicateLogError(LogError):
    """A partition has two logs, in two log directories, and nothing says which of them is the right one."""

    def __init__(self, partition: TopicPartition, paths: Sequence[str]) -> None:
        named = " and ".join(paths)
        super().__init__(paths[0], f"{partition} is in {named}: set aside; {way_out(paths[-1])} for the wrong one")
        self.args = (partition, paths)
        self.paths = paths


class InvalidNameError(LogError):
    """A file or directory name that is none of ours. Kafka refuses to start over one, lest it be data."""


class UndoFault(DeviceFault):
    """A write failed, and what it left behind could not be taken back: the file holds bytes that nobody acknowledged.
    Whatever `cause` would allow by itself (a full disk becomes empty again), this log can not go on."""

    def __init__(self, path: str, cause: StorageFault, undo: StorageFault) -> None:
        super().__init__(path, f"{cause.detail}; and truncating back failed: {undo.detail}")
        self.cause = cause
        self.undo = undo
