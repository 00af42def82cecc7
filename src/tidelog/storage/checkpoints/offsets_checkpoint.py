"""One of a log directory's checkpoint files: what is in it, and what it may come to hold after a power loss.

It is replaced as a whole, off the loop, one replacement at a time. While one is under way, and after one that failed,
the disk has either the old offsets or the new. Code that needs an offset to be on disk reads `durable`; code that needs
one to be gone asks whether the file `may_exceed` it.
"""

from collections.abc import Callable, Mapping

from tidelog.model.ids import TopicPartition
from tidelog.ports.files import FileSystem, Ticket
from tidelog.storage.checkpoints.text import encode_offsets, write_offsets
from tidelog.storage.directories.operations import Steps

Offsets = dict[TopicPartition, int]


class OffsetsCheckpoint:
    __slots__ = ("_begun", "_fs", "_path", "_ticket", "durable")

    def __init__(self, fs: FileSystem, path: str) -> None:
        self._fs = fs
        self._path = path
        self.durable: Offsets = {}
        self._begun: Offsets | None = None  # what the last replacement, under way or failed, was to write
        self._ticket: Ticket | None = None

    def may_exceed(self, partition: TopicPartition, offset: int) -> bool:
        begun = 0 if self._begun is None else self._begun.get(partition, 0)
        return max(begun, self.durable.get(partition, 0)) > offset

    def wait(self) -> Steps:
        """Wait until no replacement of the file is under way."""
        while self._ticket is not None:
            yield [self._ticket]

    def write(self, collect: Callable[[], Offsets]) -> Steps:
        """Replace the file with what `collect` returns, and end when that is durable. `collect` is called only after an
        earlier replacement has ended."""
        yield from self.wait()
        yield from self._write(collect())

    def lower(self, limits: Mapping[TopicPartition, int], collect: Callable[[], Offsets]) -> Steps:
        """Lower the entries of these logs to at most these limits, and end when the disk has no more than that. One
        write is enough, because the limits are applied to whatever `collect` returns: writing until `collect` itself
        returned less might never end."""
        if not any(self.may_exceed(each, limit) for each, limit in limits.items()):
            return
        yield from self.wait()
        offsets = collect()
        for partition, limit in limits.items():
            if offsets.get(partition, 0) > limit:
                offsets[partition] = limit
        yield from self._write(offsets)

    def _write(self, offsets: Offsets) -> Steps:
        if offsets == self.durable and self._begun is None:
            return
        self._begun = offsets
        self._ticket = self._fs.begin_replace(self._path, encode_offsets(offsets))
        try:
            yield [self._ticket]
        finally:
            self._ticket = None
        self.durable, self._begun = offsets, None

    def write_now(self, offsets: Offsets) -> None:
        """Replace the file and wait for the disk: for the start and the stop of a broker."""
        assert self._ticket is None, f"{self._path} is being written"
        write_offsets(self._fs, self._path, offsets)
        self.durable, self._begun = offsets, None
