"""A bounded number of open files, without disturbing reads in flight."""

import pytest
from tests.unit.storage.segment_data import machine

from tidelog.ports.durable import write_fully
from tidelog.ports.errors import AlreadyExists, HandleClosed, NotFound, PermissionRefused, TooManyOpenFiles
from tidelog.ports.files import OpenMode
from tidelog.sim.files import SimFileSystem
from tidelog.sim.handles import SimFile
from tidelog.storage.segment.descriptors import Descriptors


@pytest.fixture
def fs() -> SimFileSystem:
    made = machine()
    for name in "abc":
        write_fully(made.open(f"/disk/{name}", OpenMode.CREATE), 0, [name.encode() * 4])
    return made


def test_the_file_used_longest_ago_is_closed_for_a_new_one(fs: SimFileSystem) -> None:
    descriptors = Descriptors(fs, 2)
    a, b = descriptors.open("/disk/a"), descriptors.open("/disk/b")
    assert descriptors.open("/disk/a") is a
    descriptors.open("/disk/c")
    assert len(descriptors) == 2
    assert a.read_at(0, 1) == b"a"
    with pytest.raises(HandleClosed):
        b.read_at(0, 1)


def test_a_read_in_flight_survives_being_pushed_out(fs: SimFileSystem) -> None:
    descriptors = Descriptors(fs, 1)
    sending = descriptors.open("/disk/a").range(0, 4)
    descriptors.open("/disk/b")
    assert "/disk/a" not in descriptors
    assert sending.read(4) == b"aaaa"
    sending.release()


def test_a_read_in_flight_survives_removal_and_rename(fs: SimFileSystem) -> None:
    descriptors = Descriptors(fs)
    removed, renamed = descriptors.open("/disk/a").range(0, 4), descriptors.open("/disk/b").range(0, 4)
    assert descriptors.remove("/disk/a")
    descriptors.rename("/disk/b", "/disk/a")
    assert (removed.read(4), renamed.read(4)) == (b"aaaa", b"bbbb")
    assert descriptors.open("/disk/a").read_at(0, 4) == b"bbbb"
    with pytest.raises(NotFound):
        descriptors.open("/disk/b")


def test_a_rename_onto_an_open_file_does_not_leave_the_old_one_in_its_place(fs: SimFileSystem) -> None:
    descriptors = Descriptors(fs)
    descriptors.open("/disk/a")
    descriptors.rename("/disk/b", "/disk/a")
    assert descriptors.open("/disk/a").read_at(0, 4) == b"bbbb"


def test_removing_what_is_not_there_says_so(fs: SimFileSystem) -> None:
    assert not Descriptors(fs).remove("/disk/x")


def test_create_makes_and_a_new_one_must_be_new(fs: SimFileSystem) -> None:
    descriptors = Descriptors(fs)
    made = descriptors.create("/disk/x")
    assert descriptors.create("/disk/x") is made
    with pytest.raises(AlreadyExists):
        descriptors.create("/disk/x", new=True)


def test_a_reading_cache_opens_nothing_for_writing(fs: SimFileSystem) -> None:
    with pytest.raises(PermissionRefused):
        Descriptors(fs, read_only=True).open("/disk/a").write_at(0, [b"x"])


def test_files_under_a_directory_are_dropped_together(fs: SimFileSystem) -> None:
    fs.make_directory("/disk/d")
    descriptors = Descriptors(fs)
    descriptors.create("/disk/d/x")
    descriptors.open("/disk/a")
    descriptors.drop_under("/disk/d")
    assert ("/disk/d/x" in descriptors, "/disk/a" in descriptors) == (False, True)


def test_closing_closes_them_all(fs: SimFileSystem) -> None:
    descriptors = Descriptors(fs)
    a = descriptors.open("/disk/a")
    descriptors.close()
    with pytest.raises(HandleClosed):
        a.read_at(0, 1)


def test_when_the_process_runs_out_of_descriptors_old_ones_are_given_back(
    fs: SimFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    real = fs.open

    def scarce(path: str, mode: OpenMode) -> SimFile:
        if len(opened) == 3:
            opened.append(path)
            raise TooManyOpenFiles(path, "no descriptor left")
        opened.append(path)
        return real(path, mode)

    monkeypatch.setattr(fs, "open", scarce)
    descriptors = Descriptors(fs)
    for name in "abc":
        descriptors.open(f"/disk/{name}")
    descriptors.create("/disk/x")
    assert opened[3:] == ["/disk/x", "/disk/x"]
    assert ("/disk/a" in descriptors, "/disk/b" in descriptors, "/disk/c" in descriptors) == (False, False, True)


def test_with_nothing_to_give_back_the_fault_is_the_callers(fs: SimFileSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str, mode: OpenMode) -> SimFile:
        raise TooManyOpenFiles(path, f"no descriptor left ({mode})")

    monkeypatch.setattr(fs, "open", refuse)
    with pytest.raises(TooManyOpenFiles):
        Descriptors(fs).open("/disk/a")
