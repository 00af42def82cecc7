"""The simulated file system agrees with a dictionary in everything as long as the power stays on, and after a power
loss if everything was synced."""

from collections.abc import Callable

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.property.sim.twin import ROOT, Twin

from tidelog.ports.durable import write_fully
from tidelog.ports.errors import StorageFault
from tidelog.ports.files import OpenMode
from tidelog.ports.paths import join
from tidelog.sim.clock import SimClock
from tidelog.sim.disk import DiskSettings
from tidelog.sim.files import SimFileSystem

# Few names, so that the same ones meet again and again, as files and as directories.
PATHS = [f"{ROOT}/{path}" for path in ("a", "b", "c", "a/x", "a/y", "b/x", "a/x/p", "b/x/p")]
paths = st.sampled_from(PATHS)
positions = st.one_of(st.integers(0, 20), st.integers(500, 1_100))
contents = st.one_of(st.binary(max_size=20), st.integers(500, 1_100).map(lambda size: b"#" * size))


def outcome(work: Callable[[], object]) -> object:
    try:
        return work()
    except StorageFault as fault:
        return type(fault)


class Machine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        disk = DiskSettings(short_write_chance=0.3)
        self.fs = SimFileSystem(SimClock(), 1, {ROOT: disk})
        self.twin = Twin()

    def agree(self, real: Callable[[], object], twin: Callable[[], object]) -> None:
        assert outcome(real) == outcome(twin)

    @rule(path=paths, position=positions, data=contents)
    def write(self, path: str, position: int, data: bytes) -> None:
        def real() -> None:
            file = self.fs.open(path, OpenMode.CREATE)
            write_fully(file, position, [data[:7], data[7:]])
            file.close()

        self.agree(real, lambda: self.twin.write(path, position, data))

    @rule(path=paths, size=positions)
    def truncate(self, path: str, size: int) -> None:
        def real() -> None:
            file = self.fs.open(path, OpenMode.WRITE)
            file.truncate(size)
            file.close()

        self.agree(real, lambda: self.twin.truncate(path, size))

    @rule(path=paths)
    def make_directory(self, path: str) -> None:
        self.agree(lambda: self.fs.make_directory(path), lambda: self.twin.make_directory(path))

    @rule(path=paths)
    def remove_file(self, path: str) -> None:
        self.agree(lambda: self.fs.remove_file(path), lambda: self.twin.remove_file(path))

    @rule(path=paths)
    def remove_directory(self, path: str) -> None:
        self.agree(lambda: self.fs.remove_directory(path), lambda: self.twin.remove_directory(path))

    @rule(old=paths, new=paths)
    def rename(self, old: str, new: str) -> None:
        if not new.startswith(old + "/"):
            self.agree(lambda: self.fs.rename(old, new), lambda: self.twin.rename(old, new))

    @rule(path=paths)
    def list_directory(self, path: str) -> None:
        self.agree(lambda: self.fs.list_directory(path), lambda: self.twin.list_directory(path))

    @rule()
    def kill(self) -> None:
        self.fs.kill()

    @rule()
    def drop_the_page_cache(self) -> None:
        self.fs.disk(ROOT).evict()

    @rule()
    def sync_everything_and_lose_power(self) -> None:
        for path in self.twin.files:
            self.fs.open(path, OpenMode.READ).sync()
        for path in self.twin.directories:
            self.fs.sync_directory(path)
        self.fs.lose_power()

    @invariant()
    def every_file_is_the_same(self) -> None:
        assert self.walk(ROOT) == self.twin.files
        used = sum(len(inode.contents.data) for inode in self.fs.disk(ROOT).inodes.values() if inode.links)
        total, usable = self.fs.space(ROOT)
        assert total - usable == used

    def walk(self, directory: str) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for name in self.fs.list_directory(directory):
            path = join(directory, name)
            if self.fs.stat(path).is_directory:
                found |= self.walk(path)
            else:
                file = self.fs.open(path, OpenMode.READ)
                found[path] = file.read_at(0, file.size())
                file.close()
        return found


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=120, stateful_step_count=40, derandomize=True, deadline=None)
