"""One simulated file: what its readers see, what is on the medium, and the unsynced operations in between.

    contents   the page cache's view: every write shows here at once
    medium     what a power loss leaves for certain
    unsynced   writes and truncations since, oldest first; a crash keeps any part of them (`sim.tearing`)

A sync carries the oldest operations over to the medium. A failed sync drops them: the pages are marked clean, readers
still see them, and no later sync will write them (the behaviour that Linux is known for since 2018).
"""

from dataclasses import dataclass, field

PAGE_BYTES = 4096


@dataclass(slots=True)
class Image:
    """A file's bytes. Only what was written takes memory (and, on the disk, space): a preallocated index is mostly a
    size, and reads as zeros behind `data`."""

    data: bytearray = field(default_factory=bytearray)
    size: int = 0

    def copy(self) -> "Image":
        return Image(bytearray(self.data), self.size)

    def read(self, position: int, size: int) -> bytes:
        end = min(position + size, self.size)
        written = bytes(self.data[position:end])
        return written + bytes(max(0, end - position - len(written)))

    def write(self, position: int, data: bytes) -> None:
        self.data.extend(bytes(max(0, position - len(self.data))))
        self.data[position : position + len(data)] = data
        self.size = max(self.size, position + len(data))

    def truncate(self, size: int) -> None:
        del self.data[size:]
        self.size = size


@dataclass(slots=True)
class Write:
    position: int
    data: bytes

    def apply(self, image: Image) -> None:
        image.write(self.position, self.data)


@dataclass(slots=True)
class Truncate:
    size: int
    written_before: int  # how far the file had bytes, of which those from `size` on are gone

    def apply(self, image: Image) -> None:
        image.truncate(self.size)


Operation = Write | Truncate


@dataclass(slots=True)
class SimInode:
    number: int
    modified_ms: int
    contents: Image = field(default_factory=Image)
    medium: Image = field(default_factory=Image)
    unsynced: list[Operation] = field(default_factory=list)
    cached_pages: set[int] = field(default_factory=set)  # asked for membership, never iterated: that depends on hashes
    handles: int = 0
    links: int = 0
    # How many operations have ever left the front of `unsynced`: the numbers of operations (`clock`) count from here.
    settled: int = 0
    synced_modified_ms: int = 0  # what a power loss leaves of `modified_ms`

    def __post_init__(self) -> None:
        self.synced_modified_ms = self.modified_ms

    def write(self, position: int, data: bytes) -> None:
        self._do(Write(position, data))
        self.mark_cached(position, len(data))

    def truncate(self, size: int) -> None:
        self._do(Truncate(size, len(self.contents.data)))

    def _do(self, operation: Operation) -> None:
        self.unsynced.append(operation)
        operation.apply(self.contents)

    @property
    def clock(self) -> int:
        """The number of operations so far; a sync that begins now covers those before this number."""
        return self.settled + len(self.unsynced)

    def settle(self, until: int) -> None:
        """Bring the operations before `until` to the medium, because a sync succeeded."""
        for operation in self.take(until):
            operation.apply(self.medium)
        self.synced_modified_ms = self.modified_ms

    def take(self, until: int) -> list[Operation]:
        """Return the operations before `until`, which are no longer unsynced. What becomes of them is the caller's
        business."""
        count = max(0, until - self.settled)
        taken, self.unsynced = self.unsynced[:count], self.unsynced[count:]
        self.settled += count
        return taken

    def evict(self) -> None:
        """Forget the clean pages of the cache. What a failed sync dropped is gone from sight now, too."""
        self.contents = self.medium.copy()
        self.cached_pages = set()
        for operation in self.unsynced:
            operation.apply(self.contents)
            if isinstance(operation, Write):
                self.mark_cached(operation.position, len(operation.data))

    def restart(self, survived: Image) -> None:
        """Begin anew after a power loss: the medium holds what survived, and nothing else is left."""
        self.medium = survived
        self.modified_ms = self.synced_modified_ms
        self.take(self.clock)
        self.evict()
        self.handles = 0

    def mark_cached(self, position: int, size: int) -> None:
        self.cached_pages.update(_pages(position, size))

    def is_cached(self, position: int, size: int) -> bool:
        size = max(0, min(size, self.contents.size - position))
        return all(page in self.cached_pages for page in _pages(position, size))


def _pages(position: int, size: int) -> range:
    return range(position // PAGE_BYTES, -(-(position + size) // PAGE_BYTES) if size else position // PAGE_BYTES)
