"""The FileSystem port on simulated disks: one machine's mount points, its process, and the ways in which both end.

    fs = SimFileSystem(SimClock(), seed=7, mounts=["/data0", "/data1"])
    fs.kill()         the process dies: handles and locks go, the page cache stays
    fs.lose_power()   the machine dies: of what was not synced any part survives (`sim.tearing`, `sim.names`)
    fs.disk("/data0").faults.fail(Op.SYNC)      and so on: `sim.faults`, `sim.disk`

After either end the same object serves the restarted process; handles of the dead one raise HandleClosed.

A blocking sync takes no simulated time, since a call can not let others run meanwhile: it adds to `stall_ms` instead,
and a read of a page that was not cached to `cold_reads`, for a simulation to hold against the turn's time limit. With
`forbids_waits` it is a bug that stops the test: a running broker begins its syncs.
"""

from collections.abc import Mapping, Sequence

from tidelog.ports.clock import Clock
from tidelog.ports.durable import replacement_steps
from tidelog.ports.errors import (
    AlreadyExists,
    CrossDevice,
    LockHeld,
    NotEmpty,
    NotFound,
    WrongKind,
)
from tidelog.ports.files import Completion, DiskSpace, File, FileStat, OpenMode, Ticket
from tidelog.ports.filled_directory import filled_directory_steps
from tidelog.ports.paths import check_path, check_rename, parent_of
from tidelog.sim.disk import DiskSettings, SimDisk
from tidelog.sim.entropy import stream
from tidelog.sim.faults import Op
from tidelog.sim.handles import SimFile
from tidelog.sim.jobs import Jobs, Steps
from tidelog.sim.mounts import Mounts
from tidelog.sim.names import Entry, NameChange
from tidelog.sim.trace import Trace

LockKey = tuple[str, int]  # mount point, inode number: a lock is on the file, not on its name


class SimLock:
    def __init__(self, fs: "SimFileSystem", key: LockKey) -> None:
        self._fs = fs
        self._key = key
        self._process = fs.process
        self._released = False

    def release(self) -> None:
        if not self._released and self._process == self._fs.process:
            del self._fs.locks[self._key]
        self._released = True


class WaitForbidden(AssertionError):
    """A call that waited for the disk where nothing may wait."""


class SimFileSystem:
    def __init__(
        self,
        clock: Clock,
        seed: int,
        mounts: Sequence[str] | Mapping[str, DiskSettings] = ("/disk",),
        *,
        owner: str = "sim",
        trace: Trace | None = None,
    ) -> None:
        self.clock = clock
        self.owner = owner
        self.trace = trace or Trace()
        self.process = 0  # how often the process has died
        self.locks: dict[LockKey, str] = {}  # the owner of each lock
        self.forbids_waits = False
        self._runs_jobs = False  # True while the helper thread's jobs run, which may wait
        self.pinned_files = 0
        self.stall_ms = 0
        self.cold_reads = 0
        self._random = stream(seed, f"{owner}/jobs")
        self._jobs = Jobs()
        settings = mounts if isinstance(mounts, Mapping) else {mount: DiskSettings() for mount in mounts}
        self._mounts = Mounts(
            {m: SimDisk(each, stream(seed, f"{owner}{m}"), self.trace) for m, each in settings.items()}
        )

    # The simulation's side

    def disk(self, mount: str) -> SimDisk:
        return self._mounts.disks[mount]

    def kill(self) -> None:
        """Let the process die. The kernel goes on, so everything written stays; jobs under way stop where they are."""
        self.record("kill")
        self._interrupt_jobs()
        self._end_process()
        for disk in self._mounts.disks.values():
            disk.close_all()

    def lose_power(self) -> None:
        self.record("lose power")
        self._interrupt_jobs()
        self._end_process()
        for disk in self._mounts.disks.values():
            disk.lose_power()

    def _interrupt_jobs(self) -> None:
        self._runs_jobs = True
        self._jobs.interrupt(self._random)
        self._runs_jobs = False

    def note_wait(self, disk: SimDisk, path: str) -> None:
        """Count a call in which the caller's thread stands still until the disk has answered."""
        if self.forbids_waits and not self._runs_jobs:
            raise WaitForbidden(f"{path}: synced while the caller waits")
        self.stall_ms += self.sync_duration_ms(disk)

    def _end_process(self) -> None:
        self.process += 1
        self.locks = {}
        self.pinned_files = 0

    def rot(self, path: str, bits: Sequence[int] = (), *, random_bits: int = 0) -> list[int]:
        """Flip these bits of the file's durable bytes, and `random_bits` more that chance picks; return which."""
        disk, number = self._mounts.lookup(path)
        inode = disk.inodes[number]
        chosen = [*bits, *(disk.random.randrange(len(inode.medium.data) * 8) for _ in range(random_bits))]
        disk.rot(inode, chosen)
        return chosen

    def sync_duration_ms(self, disk: SimDisk) -> int:
        return disk.random.randint(disk.settings.sync_ms_min, disk.settings.sync_ms_max)

    def next_completion_ms(self) -> int | None:
        """Return when the simulation has to wake this node for a completion."""
        return self._jobs.next_due_ms()

    def record(self, *parts: object) -> None:
        self.trace.record(self.clock.monotonic_ms(), self.owner, *parts)

    # The port

    def open(self, path: str, mode: OpenMode) -> SimFile:
        disk, entry = self._mounts.entry(path)
        disk.faults.check(Op.OPEN, path)
        number = disk.find(entry, path)
        if number is None:
            number = self._create(disk, entry, path, mode)
        elif mode is OpenMode.CREATE_NEW:
            raise AlreadyExists(path, "already exists")
        if disk.is_directory(number):
            raise WrongKind(path, "is a directory")
        return SimFile(self, disk, disk.inodes[number], path, writable=mode is not OpenMode.READ)

    def _create(self, disk: SimDisk, entry: Entry, path: str, mode: OpenMode) -> int:
        if mode in (OpenMode.READ, OpenMode.WRITE):
            raise NotFound(path, "no such file")
        disk.require_space(path)
        inode = disk.new_file(self.clock.wall_ms())
        inode.links = 1
        self._change(disk, f"create {path}", {entry: inode.number})
        return inode.number

    def stat(self, path: str) -> FileStat:
        disk, number = self._look(path)
        if disk.is_directory(number):
            return FileStat(is_directory=True, size=0, modified_ms=self.clock.wall_ms())
        inode = disk.inodes[number]
        return FileStat(is_directory=False, size=inode.contents.size, modified_ms=inode.modified_ms)

    def list_directory(self, path: str) -> list[str]:
        disk, number = self._look(path)
        return sorted(disk.entries(number, path))

    def space(self, path: str) -> DiskSpace:
        disk, _number = self._look(path)
        return disk.space()

    def _look(self, path: str) -> tuple[SimDisk, int]:
        self._mounts.disk_of(path).faults.check(Op.LOOK, path)
        return self._mounts.lookup(path)

    def make_directory(self, path: str) -> None:
        disk, entry = self._mounts.entry(path)
        disk.faults.check(Op.NAMES, path)
        if disk.find(entry, path) is not None:
            raise AlreadyExists(path, "already exists")
        disk.require_space(path)
        number = disk.new_number()
        disk.names.add_directory(number)
        self._change(disk, f"make-directory {path}", {entry: number})

    def remove_file(self, path: str) -> None:
        disk, entry = self._mounts.entry(path)
        disk.faults.check(Op.NAMES, path)
        number = disk.existing(entry, path)
        if disk.is_directory(number):
            raise WrongKind(path, "is a directory")
        self._change(disk, f"remove {path}", {entry: None})
        disk.unlink(disk.inodes[number])

    def remove_directory(self, path: str) -> None:
        disk, entry = self._mounts.entry(path)
        disk.faults.check(Op.NAMES, path)
        number = disk.existing(entry, path)
        if disk.entries(number, path):
            raise NotEmpty(path, "directory not empty")
        self._change(disk, f"remove-directory {path}", {entry: None}, after=(number,))

    def rename(self, source: str, target: str) -> None:
        check_rename(source, target)
        disk, entry = self._mounts.entry(source)
        target_disk, target_entry = self._mounts.entry(target)
        disk.faults.check(Op.NAMES, source)
        number = disk.existing(entry, source)
        if disk is not target_disk:
            raise CrossDevice(target, f"not on the same disk as {source}")
        replaced = disk.find(target_entry, target)
        if replaced == number:
            return
        if replaced is not None:
            self._check_replaceable(disk, number, replaced, target)
        moved_to = target_entry[0] if target_entry[0] != entry[0] else None
        after = tuple(each for each in (replaced, moved_to) if each is not None)
        self._change(disk, f"rename {source} {target}", {entry: None, target_entry: number}, after)
        if replaced in disk.inodes:
            disk.unlink(disk.inodes[replaced])

    def _check_replaceable(self, disk: SimDisk, number: int, replaced: int, target: str) -> None:
        if disk.is_directory(number) != disk.is_directory(replaced):
            raise WrongKind(target, "a file and a directory can not replace each other")
        if disk.is_directory(replaced) and disk.entries(replaced, target):
            raise NotEmpty(target, "directory not empty")

    def _change(
        self, disk: SimDisk, description: str, entries: dict[Entry, int | None], after: tuple[int, ...] = ()
    ) -> None:
        disk.names.change(NameChange(description, entries, after))
        self.record(description)

    def set_modified(self, path: str, modified_ms: int) -> None:
        disk, number = self._mounts.lookup(path)
        disk.faults.check(Op.NAMES, path)
        if disk.is_directory(number):
            raise WrongKind(path, "is a directory")
        disk.inodes[number].modified_ms = modified_ms
        self.record("set-modified", path, modified_ms)

    def sync_directory(self, path: str) -> None:
        disk, number = self._directory(path)
        self.note_wait(disk, path)
        self.record("sync-directory", path)
        disk.sync_directory(number, path)

    def _directory(self, path: str) -> tuple[SimDisk, int]:
        disk, number = self._mounts.lookup(path)
        disk.entries(number, path)  # raises WrongKind for a file
        return disk, number

    def lock(self, path: str) -> SimLock:
        file = self.open(path, OpenMode.CREATE)
        key = (self._mounts.mount_of(path), file.inode.number)
        file.close()
        if key in self.locks:
            raise LockHeld(path, self.locks[key])
        self.locks[key] = self.owner
        self.record("lock", path)
        return SimLock(self, key)

    def lock_owner(self, path: str) -> str | None:
        disk, entry = self._mounts.entry(path)
        number = disk.find(entry, path)
        return None if number is None else self.locks.get((self._mounts.mount_of(path), number))

    def begin_sync(self, file: File) -> Ticket:
        assert isinstance(file, SimFile)
        file.check_open()
        file.pin()
        return self._begin(file.disk, file.path, self._sync_steps(file, file.inode.clock))

    def _sync_steps(self, file: SimFile, until: int) -> Steps:
        try:
            file.sync_until(until)
            yield
        finally:
            file.unpin()

    def begin_sync_directory(self, path: str) -> Ticket:
        disk, number = self._directory(path)
        return self._begin(disk, path, self._sync_directory_steps(disk, number, path))

    def _sync_directory_steps(self, disk: SimDisk, number: int, path: str) -> Steps:
        disk.sync_directory(number, path)
        yield

    def begin_replace(self, path: str, contents: bytes) -> Ticket:
        disk, _number = self._directory(parent_of(path))
        return self._begin(disk, path, replacement_steps(self, path, contents))

    def _begin(self, disk: SimDisk, path: str, steps: Steps) -> Ticket:
        self.record("begin", path)
        mount = self._mounts.mount_of(path)
        return self._jobs.begin(mount, self.clock.monotonic_ms(), self.sync_duration_ms(disk), steps)

    def begin_make_directory(self, path: str, files: Mapping[str, bytes]) -> Ticket:
        check_path(path)
        lane = "make " + parent_of(path)
        return self._jobs.begin(lane, self.clock.monotonic_ms(), 1, filled_directory_steps(self, path, files))

    def begin_warm(self, file: File, position: int, size: int) -> Ticket:
        assert isinstance(file, SimFile)
        file.check_open()
        file.pin()
        lane = "warm " + self._mounts.mount_of(file.path)
        return self._jobs.begin(lane, self.clock.monotonic_ms(), 1, self._warm_steps(file, position, size))

    def _warm_steps(self, file: SimFile, position: int, size: int) -> Steps:
        try:
            file.disk.faults.check(Op.READ, file.path)
            file.inode.mark_cached(position, size)
            yield
        finally:
            file.unpin()

    def allow_any_order(self) -> None:
        """Do nothing: any order is allowed then, also the one that jobs have here."""

    def completions(self) -> list[Completion]:
        self._runs_jobs = True
        try:
            completed = self._jobs.completions(self.clock.monotonic_ms())
        finally:
            self._runs_jobs = False
        for each in completed:
            self.record("completed", each.ticket, each.fault or "")
        return completed
