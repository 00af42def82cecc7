"""The simulated workers: they take one step at a time, and their death leaves everything as it was."""

from collections.abc import Generator

import pytest

from tidelog.ports.errors import IoError
from tidelog.ports.files import FileSystem, OpenMode
from tidelog.ports.housekeeping import NOT_WATCHABLE, Cancelled, Event, Failed, Finished, Stepped, WorkId
from tidelog.sim.clock import SimClock
from tidelog.sim.files import SimFileSystem
from tidelog.sim.housekeeping import SimHousekeeping


def write(fs: FileSystem, path: str) -> Generator[object, None, object]:
    """Run as a job that removes its file at the end."""
    fs.open(path, OpenMode.CREATE).close()
    try:
        yield "begun"
        if path.endswith("fault"):
            raise IoError(path, "broken")
        if path.endswith("bug"):
            raise ValueError("oh")
        yield "half"
        return "done"
    finally:
        fs.remove_file(path)


def world() -> tuple[SimFileSystem, SimHousekeeping]:
    fs = SimFileSystem(SimClock(), 1)
    return fs, SimHousekeeping(fs, 1, write)


def run(housekeeping: SimHousekeeping) -> list[Event]:
    events: list[Event] = []
    while housekeeping.step():
        events += housekeeping.events()
    return events


def test_a_job_from_its_beginning_to_its_end() -> None:
    fs, housekeeping = world()
    work = housekeeping.begin("/disk/a")
    assert housekeeping.events() == []
    assert run(housekeeping) == [Stepped(work, "begun"), Stepped(work, "half"), Finished(work, "done")]
    assert housekeeping.fileno() == NOT_WATCHABLE
    assert fs.list_directory("/disk") == []


def test_chance_mixes_the_jobs_and_one_seed_is_one_history() -> None:
    histories = []
    for _ in range(2):
        _, housekeeping = world()
        for name in "abc":
            housekeeping.begin(f"/disk/{name}")
        histories.append(run(housekeeping))
    assert histories[0] == histories[1]
    works = [each.work for each in histories[0]]
    assert works != sorted(works)


@pytest.mark.parametrize(("path", "fault"), [("/disk/fault", IoError), ("/disk/bug", type(None))])
def test_what_goes_wrong_is_the_end_of_the_job_alone(path: str, fault: type) -> None:
    _, housekeeping = world()
    work = housekeeping.begin(path)
    failed = run(housekeeping)[-1]
    assert isinstance(failed, Failed)
    assert (failed.work, type(failed.fault), failed.worker_died) == (work, fault, False)


def test_a_job_that_is_called_off_clears_up_at_its_next_step() -> None:
    fs, housekeeping = world()
    work = housekeeping.begin("/disk/a")
    housekeeping.step()
    housekeeping.cancel(work)
    assert fs.list_directory("/disk") == ["a"]
    assert run(housekeeping)[-1] == Cancelled(work)
    assert fs.list_directory("/disk") == []
    housekeeping.cancel(work)
    housekeeping.cancel(WorkId(99))


def test_a_worker_that_is_killed_leaves_its_files() -> None:
    fs, housekeeping = world()
    work = housekeeping.begin("/disk/a")
    housekeeping.step()
    housekeeping.kill(work)
    died = housekeeping.events()[-1]
    assert isinstance(died, Failed)
    assert died.worker_died
    assert fs.list_directory("/disk") == ["a"]


def test_so_does_one_whose_machine_dies() -> None:
    fs, housekeeping = world()
    housekeeping.begin("/disk/a")
    housekeeping.step()
    fs.kill()
    housekeeping.stop()
    assert fs.list_directory("/disk") == ["a"]
    assert not housekeeping.step()
