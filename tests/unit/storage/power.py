"""Power losses at every single file-system operation of some work, each in a world of its own."""

from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from tidelog.sim.clock import SimClock
from tidelog.sim.disk import DiskSettings
from tidelog.sim.files import SimFileSystem

DIRECTORY = "/disk/orders-0"
_POINTS_MAX = 60


class PowerCut(BaseException):
    """The loss of power in the middle of an operation, which nothing that runs may catch."""


def machine(seed: int = 0, short_write_chance: float = 0.0) -> SimFileSystem:
    """Return a machine with a partition's directory that is durable."""
    settings = DiskSettings(short_write_chance=short_write_chance)
    fs = SimFileSystem(SimClock(), seed, {"/disk": settings})
    fs.make_directory(DIRECTORY)
    fs.sync_directory("/disk")
    return fs


def worlds_after_a_cut(
    prepare: Callable[[SimFileSystem], None], work: Callable[[SimFileSystem], None], seeds: int = 8
) -> Iterator[tuple[SimFileSystem, bool]]:
    """Cut the power at every operation of `work`, with several seeds of what a power loss takes; yield the disk after
    each cut, and whether `work` had ended before it."""
    for seed in range(seeds):
        for point in range(1, _POINTS_MAX):
            fs = machine(seed, short_write_chance=0.3)
            prepare(fs)
            completed = _cut(fs, point, work)
            yield fs, completed
            if completed:
                break
        else:
            raise AssertionError(f"the work has more than {_POINTS_MAX} operations")


def _cut(fs: SimFileSystem, point: int, work: Callable[[SimFileSystem], None]) -> bool:
    record, end, completed = fs.trace.record, fs.trace.count + point, False

    def cut(*parts: object) -> None:
        record(*parts)
        if fs.trace.count == end:
            raise PowerCut

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fs.trace, "record", cut)
        with suppress(PowerCut):
            work(fs)
            completed = True
    fs.lose_power()
    return completed
