"""A machine with two disks, all of whose accidents come from one seed."""

from collections.abc import Callable

import pytest

from tidelog.ports.files import File, OpenMode
from tidelog.sim.clock import SimClock
from tidelog.sim.disk import DiskSettings
from tidelog.sim.files import SimFileSystem


@pytest.fixture
def clock() -> SimClock:
    return SimClock()


@pytest.fixture
def fs(clock: SimClock) -> SimFileSystem:
    return SimFileSystem(clock, 1, {"/a": DiskSettings(capacity_bytes=10_000), "/b": DiskSettings()})


@pytest.fixture
def new(fs: SimFileSystem) -> Callable[..., File]:
    def make(path: str = "/a/file", contents: bytes = b"") -> File:
        file = fs.open(path, OpenMode.CREATE_NEW)
        file.write_at(0, [contents])
        return file

    return make
