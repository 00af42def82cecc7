"""The leader epochs of one log: which epoch began at which offset, and what follows from that for a diverged replica.

Both columns increase strictly. An epoch without a record has no entry: the next one, beginning at the same offset,
replaces it. So every offset from the first entry on belongs to exactly one epoch.

Changes are made in memory and `flush` writes them. An epoch that is missing on disk would let a follower keep records
that another leader has replaced, so flush before the recovery point passes its start. A stale one that a crash leaves
behind is harmless: loading a log truncates its epochs to the log.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from tidelog.ports.files import FileSystem
from tidelog.ports.paths import join
from tidelog.storage.checkpoints.text import (
    LEADER_EPOCH_CHECKPOINT,
    EpochEntry,
    encode_epochs,
    read_epochs,
    write_epochs,
)


class EpochEndOffset(NamedTuple):
    epoch: int
    end_offset: int


class LeaderEpochs:
    __slots__ = ("_epochs", "_start_offsets", "is_dirty", "written")

    def __init__(self, entries: Iterable[EpochEntry] = ()) -> None:
        self._epochs: list[int] = []
        self._start_offsets: list[int] = []
        for epoch, start_offset in entries:
            self.assign(epoch, start_offset)
        self.is_dirty = False  # the entries differ from what was read or flushed last
        self.written = self.entries()  # the entries in the file, as far as is known

    @classmethod
    def load(cls, fs: FileSystem, directory: str) -> "LeaderEpochs":
        """Read the epochs of a log. Raises CorruptCheckpointError when the file is damaged. Entries that contradict
        later ones, which Kafka's older versions could write, are dropped."""
        return cls(read_epochs(fs, join(directory, LEADER_EPOCH_CHECKPOINT)))

    def flush(self, fs: FileSystem, directory: str) -> None:
        """Write the file, if there is a change; durable when this returns. Off the loop: `begin_replace` with
        `encode()`, and `is_dirty = False`."""
        if self.is_dirty:
            write_epochs(fs, join(directory, LEADER_EPOCH_CHECKPOINT), self.entries())
            self.is_dirty = False
            self.written = self.entries()

    def encode(self) -> bytes:
        return encode_epochs(self.entries())

    # Asking

    def entries(self) -> list[EpochEntry]:
        return list(map(EpochEntry, self._epochs, self._start_offsets))

    @property
    def latest(self) -> EpochEntry | None:
        return EpochEntry(self._epochs[-1], self._start_offsets[-1]) if self._epochs else None

    @property
    def earliest(self) -> EpochEntry | None:
        return EpochEntry(self._epochs[0], self._start_offsets[0]) if self._epochs else None

    @property
    def latest_epoch(self) -> int | None:
        return self._epochs[-1] if self._epochs else None

    def first_unwritten(self, end_offset: int) -> int:
        """The offset at which the first epoch begins that the file lacks; `end_offset` where it has all of them."""
        return min((each.start_offset for each in self.entries() if each not in self.written), default=end_offset)

    def entry(self, epoch: int) -> EpochEntry | None:
        index = bisect_left(self._epochs, epoch)
        found = index < len(self._epochs) and self._epochs[index] == epoch
        return EpochEntry(epoch, self._start_offsets[index]) if found else None

    def previous(self, epoch: int) -> EpochEntry | None:
        """The entry of the largest epoch below this one."""
        index = bisect_left(self._epochs, epoch) - 1
        return EpochEntry(self._epochs[index], self._start_offsets[index]) if index >= 0 else None

    def next(self, epoch: int) -> EpochEntry | None:
        """The entry of the smallest epoch above this one."""
        index = bisect_right(self._epochs, epoch)
        return EpochEntry(self._epochs[index], self._start_offsets[index]) if index < len(self._epochs) else None

    def epoch_for_offset(self, offset: int) -> int | None:
        """The epoch in which the record at this offset was, or will be, written; None below the first entry."""
        index = bisect_right(self._start_offsets, offset) - 1
        return self._epochs[index] if index >= 0 else None

    def end_offset_for(self, epoch: int, log_end_offset: int) -> EpochEndOffset | None:
        """The largest epoch not above this one, and where it ends; None where that is not known.

        Below the first entry the epoch itself is returned with the first start offset: its records are gone, and a
        follower goes on from there.
        """
        if epoch < 0 or not self._epochs or epoch > self._epochs[-1]:
            return None
        if epoch == self._epochs[-1]:
            return EpochEndOffset(epoch, log_end_offset)
        above = bisect_right(self._epochs, epoch)
        found = self._epochs[above - 1] if above else epoch
        return EpochEndOffset(found, self._start_offsets[above])

    def entries_in_range(self, start_offset: int, end_offset: int) -> list[EpochEntry]:
        """Return the entries that a log of this range alone would have: what a segment takes with it to another
        tier."""
        part = LeaderEpochs(self.entries())
        part.truncate_from_start(start_offset)
        part.truncate_from_end(end_offset)
        return part.entries()

    # Changing

    def assign(self, epoch: int, start_offset: int) -> bool:
        """Note that a leader of this epoch writes, or wrote, its first record at this offset; tell whether that was
        new. Entries that it contradicts are dropped: they were of records that have been truncated."""
        if epoch < 0 or start_offset < 0:
            raise ValueError(f"epoch {epoch} can not begin at offset {start_offset}")
        if self._epochs and epoch == self._epochs[-1] and start_offset >= self._start_offsets[-1]:
            return False
        kept = min(bisect_left(self._epochs, epoch), bisect_left(self._start_offsets, start_offset))
        self._cut(kept)
        self._epochs.append(epoch)
        self._start_offsets.append(start_offset)
        self.is_dirty = True
        return True

    def truncate_from_end(self, end_offset: int) -> None:
        """Drop the epochs that began at or past the new end of the log."""
        if end_offset >= 0:
            self._cut(bisect_left(self._start_offsets, end_offset))

    def truncate_from_start(self, start_offset: int) -> None:
        """Drop the epochs below the new start of the log: the epoch of this offset becomes the first, and begins
        here."""
        index = bisect_right(self._start_offsets, start_offset) - 1
        if index < 0 or (index == 0 and self._start_offsets[0] == start_offset):
            return
        del self._epochs[:index], self._start_offsets[:index]
        self._start_offsets[0] = start_offset
        self.is_dirty = True

    def clear(self) -> None:
        self._cut(0)

    def _cut(self, kept: int) -> None:
        if kept < len(self._epochs):
            del self._epochs[kept:], self._start_offsets[kept:]
            self.is_dirty = True
