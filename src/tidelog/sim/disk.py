"""One simulated disk: inodes, a directory tree, a capacity, faults, and what a power loss does to all of it.

It knows nothing of handles, tickets or other disks: that is `sim.files`, which puts one or several of these under
mount points. Each disk draws from its own stream of chance, so that what happens on one does not change another.
"""

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from zlib import crc32

from tidelog.ports.errors import DiskFull, NotFound, StorageFault, SyncFailed, WrongKind
from tidelog.ports.files import DiskSpace
from tidelog.sim.faults import Faults, Op
from tidelog.sim.names import ROOT, Entry, NameChange, Names
from tidelog.sim.pages import SimInode
from tidelog.sim.tearing import SECTOR_BYTES, survivors, tear
from tidelog.sim.trace import Trace

STALE_SECTORS_KEPT = 64
UNUSED_INODES_MAX = 256
# The kernel in time writes back what nobody syncs; here that happens when a file has this many operations waiting.
UNSYNCED_OPERATIONS_MAX = 8_192
# One likelihood is drawn for each crash: independent coins alone would hardly ever lose, or keep, every name.
NAME_SURVIVAL = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(slots=True)
class DiskSettings:
    capacity_bytes: int = 1 << 30
    # A sync takes between these, drawn anew each time. Not 0 by default: code that forgets to wait should notice.
    sync_ms_min: int = 1
    sync_ms_max: int = 10
    short_write_chance: float = 0.0
    # How likely a file's unwritten sectors show what lay there before instead of zeros.
    stale_chance: float = 0.3
    # Whether these bytes may be an intact sector of a deleted file, or are always noise.
    stale_is_intact: bool = True


class SimDisk:
    def __init__(self, settings: DiskSettings, random: Random, trace: Trace) -> None:
        self.settings = settings
        self.faults = Faults()
        self.names = Names()
        self.inodes: dict[int, SimInode] = {}
        self.random = random
        self.trace = trace
        self._freed: deque[bytes] = deque(maxlen=STALE_SECTORS_KEPT)
        self._used_bytes = 0
        self._unused = 0  # inodes without name and handle that may still be in `inodes`
        self._next_inode = ROOT + 1

    def new_number(self) -> int:
        number = self._next_inode
        self._next_inode += 1
        return number

    def space(self) -> DiskSpace:
        return DiskSpace(self.settings.capacity_bytes, max(0, self.settings.capacity_bytes - self._used_bytes))

    def require_space(self, path: str) -> None:
        """Raise DiskFull if the disk is full: it takes no new name either. Real disks often still do; nobody may rely
        on it."""
        if not self.space().usable_bytes:
            raise DiskFull(path, "simulated: no space left")

    # Names: given below the mount point; `path` is for the error message.

    def lookup(self, names: Sequence[str], path: str) -> int:
        number = ROOT
        for name in names:
            number = self.entries(number, path).get(name, 0)
            if not number:
                raise NotFound(path, "no such file or directory")
        return number

    def entries(self, number: int, path: str) -> dict[str, int]:
        """Return the names in a directory, as a running process sees them."""
        if number not in self.names.seen.directories:
            raise WrongKind(path, "not a directory")
        return self.names.seen.directories[number]

    def find(self, entry: Entry, path: str) -> int | None:
        """Return the inode that an entry names; None where there is none."""
        return self.entries(entry[0], path).get(entry[1])

    def existing(self, entry: Entry, path: str) -> int:
        number = self.find(entry, path)
        if number is None:
            raise NotFound(path, "no such file or directory")
        return number

    def is_directory(self, number: int) -> bool:
        return number in self.names.seen.directories

    # Files

    def new_file(self, now_ms: int) -> SimInode:
        inode = SimInode(self.new_number(), now_ms)
        self.inodes[inode.number] = inode
        return inode

    def write(self, inode: SimInode, position: int, data: bytes, path: str) -> int:
        """Write as much of the data as the disk takes, and return how much: short at the very byte at which it is
        full."""
        fits = len(inode.contents.data) + self.space().usable_bytes - position
        if fits <= 0:
            raise DiskFull(path, "simulated: no space left")
        count = min(len(data), fits)
        if count > 1 and self.random.random() < self.settings.short_write_chance:
            count = self.random.randrange(1, count)
        with self._accounting(inode):
            inode.write(position, data[:count])
        if len(inode.unsynced) > UNSYNCED_OPERATIONS_MAX:
            inode.settle(inode.clock - UNSYNCED_OPERATIONS_MAX // 2)
        return count

    def truncate(self, inode: SimInode, size: int) -> None:
        with self._accounting(inode):
            inode.truncate(size)

    @contextmanager
    def _accounting(self, inode: SimInode) -> Iterator[None]:
        """Count the space that a change of the file takes: up to the last byte written, holes below it included."""
        before = len(inode.contents.data)
        yield
        self._used_bytes += len(inode.contents.data) - before

    def unlink(self, inode: SimInode) -> None:
        inode.links -= 1
        self.free_if_unused(inode)

    def free_if_unused(self, inode: SimInode) -> None:
        """Return the space of a file that has lost its last name and its last handle. The inode itself stays: a crash
        may bring its name back."""
        if inode.links or inode.handles:
            return
        data = inode.contents.data
        self._used_bytes -= len(data)
        for start in range(0, min(len(data), STALE_SECTORS_KEPT * SECTOR_BYTES), SECTOR_BYTES):
            self._freed.append(bytes(data[start : start + SECTOR_BYTES]))
        self._unused += 1
        if self._unused >= UNUSED_INODES_MAX:
            self._forget_unneeded()

    def _forget_unneeded(self) -> None:
        """Drop inodes to which neither a handle nor a name leads, whether seen, durable or unsynced."""
        needed = dict.fromkeys(self.names.seen.reachable() + self.names.durable.reachable())
        for change in self.names.unsynced:
            needed.update(dict.fromkeys(number for number in change.entries.values() if number))
        self.inodes = {number: it for number, it in self.inodes.items() if it.handles or number in needed}
        self._unused = 0

    def close_all(self) -> None:
        """Close every file, because the process that had them open is dead."""
        for inode in list(self.inodes.values()):
            if inode.handles:
                inode.handles = 0
                self.free_if_unused(inode)

    # Durability and the loss of it

    def sync(self, inode: SimInode, until: int, path: str) -> None:
        """Bring the operations before `until` to the medium. When the sync fails, some part of them gets there and the
        rest is forgotten: the pages are clean now, and no later sync will write them."""
        try:
            self.faults.check(Op.SYNC, path)
        except StorageFault as fault:
            dropped = inode.take(until)
            if dropped:
                _mood, inode.medium = tear(inode.medium, dropped, self.random, self._stale())
            raise _failed_sync(fault) from fault
        inode.settle(until)

    def sync_directory(self, number: int, path: str) -> None:
        try:
            self.faults.check(Op.SYNC_DIRECTORY, path)
        except StorageFault as fault:
            changes = self.names.take(number)
            for change in changes[: self.random.randrange(len(changes) + 1)]:
                self.names.durable.apply(change)
            raise _failed_sync(fault) from fault
        self.names.sync(number)

    def lose_power(self) -> None:
        """Decide what survives: files first, then names. What survives of the one says nothing about the other."""
        for inode in self.inodes.values():
            mood, survived = survivors(inode, self.random, self._stale())
            self.trace.record("survived", inode.number, mood.value, survived.size, crc32(survived.data))
            inode.restart(survived)
        likelihood = self.random.choice(NAME_SURVIVAL)
        self.names.lose_power(lambda change: self._survives(change, likelihood))
        self._recount()

    def _survives(self, change: NameChange, likelihood: float) -> bool:
        survives = self.random.random() < likelihood
        self.trace.record("survived" if survives else "lost", change.description)
        return survives

    def _recount(self) -> None:
        links = Counter(self.names.seen.reachable())
        self.inodes = {number: inode for number, inode in self.inodes.items() if number in links}
        for inode in self.inodes.values():
            inode.links = links[inode.number]
        self._unused = 0
        self._count_space()

    def _count_space(self) -> None:
        in_use = [inode for inode in self.inodes.values() if inode.links or inode.handles]
        self._used_bytes = sum(len(inode.contents.data) for inode in in_use)

    def _stale(self) -> bytes:
        """Return what an unwritten sector shows: b"" for zeros, or a piece of a file that was deleted here before."""
        if self.random.random() >= self.settings.stale_chance:
            return b""
        if self._freed and self.settings.stale_is_intact:
            return self.random.choice(self._freed)
        return self.random.randbytes(SECTOR_BYTES)

    def evict(self) -> None:
        """Drop the page cache: clean pages have to be read from the medium again."""
        for inode in self.inodes.values():
            inode.evict()
        self._count_space()

    def rot(self, inode: SimInode, bits: Sequence[int]) -> None:
        """Flip these bits of the file on the medium, and drop its cache so that the next read sees them."""
        for bit in bits:
            inode.medium.data[bit // 8] ^= 1 << bit % 8
        self.trace.record("rot", inode.number, *bits)
        inode.evict()
        self._count_space()


def _failed_sync(fault: StorageFault) -> SyncFailed:
    return SyncFailed(fault.path, fault.detail, found_no_room=isinstance(fault, DiskFull))
