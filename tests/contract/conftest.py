"""The two worlds. A contract test takes `world` and runs once in each; it may use nothing but the port."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from tidelog.io.clock import SystemClock
from tidelog.io.entropy import SystemEntropy
from tidelog.io.files import PosixFileSystem
from tidelog.ports.clock import Clock
from tidelog.ports.entropy import Entropy
from tidelog.ports.files import Completion, FileSystem, Ticket
from tidelog.sim.clock import SimClock
from tidelog.sim.disk import DiskSettings
from tidelog.sim.entropy import SimEntropy
from tidelog.sim.files import SimFileSystem


class World(Protocol):
    root: str  # an empty directory
    fs: FileSystem
    clock: Clock
    entropy: Entropy

    def wait_for(self, *tickets: Ticket) -> list[Completion]:
        """Wait until all the tickets have completed; return their completions, in the order in which they came."""
        ...


class RealWorld:
    def __init__(self, root: Path) -> None:
        self._woken = threading.Event()
        self.root = str(root)
        self.files = PosixFileSystem(self._woken.set)
        self.fs: FileSystem = self.files
        self.clock: Clock = SystemClock()
        self.entropy: Entropy = SystemEntropy()

    def wait_for(self, *tickets: Ticket) -> list[Completion]:
        completed: list[Completion] = []
        while len(completed) < len(tickets):
            assert self._woken.wait(10), "a completion did not wake the loop"
            self._woken.clear()
            completed += self.fs.completions()
        return completed


class SimulatedWorld:
    root = "/disk"

    def __init__(self) -> None:
        self._time = SimClock()
        self.fs: FileSystem = SimFileSystem(self._time, 1, {self.root: DiskSettings(capacity_bytes=1 << 24)})
        self.clock: Clock = self._time
        self.entropy: Entropy = SimEntropy(1)

    def wait_for(self, *tickets: Ticket) -> list[Completion]:
        completed: list[Completion] = []
        while len(completed) < len(tickets):
            self._time.advance(1)
            completed += self.fs.completions()
        return completed


@pytest.fixture(params=["real", "simulated"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    if request.param == "simulated":
        yield SimulatedWorld()
        return
    real = RealWorld(tmp_path)
    yield real
    real.files.close()
