"""Where the files of one segment are, and what is done to all of them at once.

The segment and its indexes share one of these, so that a rename or a move of the directory is told once. Paths are put
together when first used: a log may have thousands of segments, and reads few of them.
"""

from tidelog.ports.errors import NotFound
from tidelog.ports.files import File
from tidelog.storage.names import LOG_SUFFIX, NO_SUFFIX, SEGMENT_KINDS, segment_name
from tidelog.storage.segment.descriptors import Descriptors


class SegmentFiles:
    __slots__ = ("_paths", "base_offset", "descriptors", "directory", "has_new_names", "state")

    def __init__(self, descriptors: Descriptors, directory: str, base_offset: int, state: str = NO_SUFFIX) -> None:
        self.descriptors = descriptors
        self.directory = directory
        self.base_offset = base_offset
        self.state = state
        self.has_new_names = False  # a sync of the directory is due
        self._paths: dict[str, str] = {}

    def path(self, kind: str) -> str:
        path = self._paths.get(kind)
        if path is None:
            path = self._paths[kind] = f"{self.directory}/{segment_name(self.base_offset, kind, self.state)}"
        return path

    def open(self, kind: str) -> File:
        """See `Descriptors.open`: valid until the next file is opened."""
        return self.descriptors.open(self.path(kind))

    def read(self, kind: str, position: int, size: int) -> bytes:
        """See `Descriptors.read`."""
        return self.descriptors.read(self.path(kind), position, size)

    def open_or_create(self, kind: str) -> File:
        try:
            return self.open(kind)
        except NotFound:
            self.has_new_names = True
            return self.descriptors.create(self.path(kind))

    def create(self, kind: str) -> File:
        """Make the file; raises AlreadyExists when it is there."""
        self.has_new_names = True
        return self.descriptors.create(self.path(kind), new=True)

    def create_log(self, *, is_made: bool = False) -> None:
        """Make the file of an empty segment, unless it `is_made` already. Indexes without a log are left-overs, and
        removed."""
        self.has_new_names = True
        if not is_made:
            self.create(LOG_SUFFIX)
            for kind in SEGMENT_KINDS[1:]:
                self.remove(kind)

    def size(self, kind: str) -> int | None:
        """Return the size of the file; None when there is no such file."""
        try:
            return self.descriptors.fs.stat(self.path(kind)).size
        except NotFound:
            return None

    def drop(self) -> None:
        """Give the descriptors back."""
        for kind in SEGMENT_KINDS:
            self.descriptors.drop(self.path(kind))
        self._paths = {}

    def move_to(self, directory: str) -> None:
        """Take over the new name of the directory."""
        self.drop()
        self.directory = directory

    def remove(self, kind: str) -> None:
        if self.descriptors.remove(self.path(kind)):
            self.has_new_names = True

    def change_state(self, state: str) -> None:
        """Rename the files that are there, the log last: without it the others mean nothing."""
        renamed = SegmentFiles(self.descriptors, self.directory, self.base_offset, state)
        for kind in reversed(SEGMENT_KINDS):
            try:
                self.descriptors.rename(self.path(kind), renamed.path(kind))
            except NotFound:
                self.descriptors.remove(renamed.path(kind))  # a file that lay there must not pass for this segment's
        self.state = state
        self.has_new_names = True
        self._paths = {}
