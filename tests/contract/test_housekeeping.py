"""Housekeeping, in processes and in the simulation: jobs begin, report their progress, and end exactly once."""

import os
import select
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.unit.storage.cleaner.toylog import ToyLog

from tidelog.io.files import PosixFileSystem
from tidelog.io.housekeeping import WorkerProcesses
from tidelog.ports.errors import NotFound, TooManyOpenFiles
from tidelog.ports.files import OpenMode
from tidelog.ports.housekeeping import Cancelled, Event, Failed, Finished, Housekeeping, Stepped
from tidelog.sim.clock import SimClock
from tidelog.sim.files import SimFileSystem
from tidelog.sim.housekeeping import SimHousekeeping
from tidelog.storage.cleaner.cleaning import clean_log
from tidelog.storage.cleaner.job import CleanedSegment, CleanerSettings, CleaningJob, CleaningResult, SegmentFacts
from tidelog.storage.segment.indexes import IndexSettings

PATIENCE_S = 30.0  # waited in full only when something is broken
SETTINGS = CleanerSettings(1 << 12, 0.9, 512, IndexSettings(100, 1000), 1000, 0)


class World:
    def __init__(self, housekeeping: Housekeeping, fs: SimFileSystem | PosixFileSystem, root: str) -> None:
        self.housekeeping = housekeeping
        self.fs = fs
        self.root = root
        self.wait: Callable[[], object]

    def job(self, segments: list[SegmentFacts], settings: CleanerSettings = SETTINGS) -> CleaningJob:
        end = segments[-1].base_offset + 100 if segments else 0
        return CleaningJob(self.root, segments, 0, end, 0, bytes(16), settings)

    def segment(self) -> SegmentFacts:
        """Write a segment with a few records to disk; return its facts."""
        toy = ToyLog()
        for i in range(20):
            toy.data([(b"k%d" % (i % 2), b"v" * 40)])
        data = toy.active.read(0, toy.active.size_bytes)
        file = self.fs.open(f"{self.root}/{0:020d}.log", OpenMode.CREATE)
        file.write_at(0, [data])
        file.close()
        return SegmentFacts(0, len(data))

    def process_ids(self) -> list[int]:
        return self.housekeeping.process_ids if isinstance(self.housekeeping, WorkerProcesses) else []

    def events_to_the_end(self) -> list[Event]:
        events: list[Event] = []
        give_up_at = time.monotonic() + PATIENCE_S
        while not events or isinstance(events[-1], Stepped):
            assert time.monotonic() < give_up_at, events
            self.wait()
            events += self.housekeeping.events()
        return events


@pytest.fixture(params=["processes", "simulated"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    if request.param == "simulated":
        simulated = SimFileSystem(SimClock(), 1)
        workers = SimHousekeeping(simulated, 1, clean_log)
        made = World(workers, simulated, "/disk")
        made.wait = workers.step
        yield made
        return
    processes = WorkerProcesses("tidelog.io.cleaner_worker")
    made = World(processes, PosixFileSystem(), str(tmp_path))
    made.wait = lambda: select.select([processes], [], [], 0.1)
    yield made
    processes.stop()


def test_steps_come_before_the_result(world: World) -> None:
    work = world.housekeeping.begin(world.job([world.segment()]))
    *steps, end = world.events_to_the_end()
    assert isinstance(end, Finished)
    assert (end.work, type(end.result)) == (work, CleaningResult)
    assert [type(each.step) for each in steps if isinstance(each, Stepped)].count(CleanedSegment) == 1
    assert world.housekeeping.events() == []


def test_a_fault_of_the_disk_comes_back_as_one(world: World) -> None:
    work = world.housekeeping.begin(world.job([SegmentFacts(0, 100)]))
    failed = world.events_to_the_end()[-1]
    assert isinstance(failed, Failed)
    assert (failed.work, type(failed.fault), failed.worker_died) == (work, NotFound, False)


def test_damage_comes_back_as_words(world: World) -> None:
    segment = world.segment()
    file = world.fs.open(f"{world.root}/{0:020d}.log", OpenMode.WRITE)
    file.write_at(segment.size_bytes - 5, [b"?"])
    file.close()
    world.housekeeping.begin(world.job([segment]))
    failed = world.events_to_the_end()[-1]
    assert isinstance(failed, Failed)
    assert failed.fault is None
    assert "CorruptSegmentError" in failed.reason


def test_a_job_that_is_called_off_leaves_nothing_behind(world: World) -> None:
    slow = CleanerSettings(1 << 12, 0.9, 200, SETTINGS.index, 1000, 0, io_bytes_per_second=2000.0)
    work = world.housekeeping.begin(world.job([world.segment()], slow))
    world.wait()
    world.housekeeping.cancel(work)
    assert world.events_to_the_end()[-1] == Cancelled(work)
    assert not [name for name in world.fs.list_directory(world.root) if name.endswith(".cleaned")]


def test_a_worker_that_does_nothing_any_more_can_be_killed(world: World) -> None:
    slow = CleanerSettings(1 << 12, 0.9, 200, SETTINGS.index, 1000, 0, io_bytes_per_second=2000.0)
    work = world.housekeeping.begin(world.job([world.segment()], slow))
    for process_id in world.process_ids():
        os.kill(process_id, signal.SIGSTOP)
    world.housekeeping.kill(work)
    failed = world.events_to_the_end()[-1]
    assert isinstance(failed, Failed)
    assert (failed.work, failed.worker_died) == (work, True)
    world.housekeeping.kill(work)
    assert world.housekeeping.events() == []
    world.housekeeping.begin(world.job([]))
    assert isinstance(world.events_to_the_end()[-1], Finished), "and the next job has another"


def test_ids_are_never_reused(world: World) -> None:
    works = []
    for _ in range(3):
        works.append(world.housekeeping.begin(world.job([])))
        end = world.events_to_the_end()[-1]
        assert end.work == works[-1]
    assert len(set(works)) == 3
    world.housekeeping.cancel(works[0])
    assert world.housekeeping.events() == []


def test_a_job_without_a_worker_has_an_event_that_no_poll_tells_of(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_events = [world.housekeeping.has_events]
    with monkeypatch.context() as patch:
        if isinstance(world.housekeeping, SimHousekeeping):
            world.housekeeping.refusals = 1
        else:
            patch.setattr("tidelog.io.housekeeping.WorkerProcess", _refused)
        work = world.housekeeping.begin(world.job([]))
    has_events.append(world.housekeeping.has_events)
    (failed,) = world.housekeeping.events()
    assert isinstance(failed, Failed)
    assert (failed.work, type(failed.fault)) == (work, TooManyOpenFiles)
    assert [*has_events, world.housekeeping.has_events] == [False, True, False]


def _refused(_module: str) -> None:
    raise BlockingIOError(11, "Resource temporarily unavailable")
