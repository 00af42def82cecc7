"""Names, directories, locks and space, in both worlds."""

import pytest
from tests.contract.conftest import World

from tidelog.ports.durable import make_directory_durably, replace_durably
from tidelog.ports.errors import (
    AlreadyExists,
    LockHeld,
    NameTooLong,
    NotEmpty,
    NotFound,
    WrongKind,
)
from tidelog.ports.files import OpenMode


def write(world: World, name: str, contents: bytes = b"") -> str:
    path = f"{world.root}/{name}"
    file = world.fs.open(path, OpenMode.CREATE)
    file.write_at(0, [contents])
    file.close()
    return path


def read(world: World, path: str) -> bytes:
    file = world.fs.open(path, OpenMode.READ)
    contents = file.read_at(0, file.size())
    file.close()
    return contents


def test_a_directory_lists_sorted_names(world: World) -> None:
    for name in ("b", "a", "c.log"):
        write(world, name)
    world.fs.make_directory(f"{world.root}/b2")
    assert world.fs.list_directory(world.root) == ["a", "b", "b2", "c.log"]


def test_stat(world: World) -> None:
    before = world.clock.wall_ms()
    path = write(world, "file", b"12345")
    found = world.fs.stat(path)
    assert (found.is_directory, found.size) == (False, 5)
    assert before - 1_000 <= found.modified_ms <= world.clock.wall_ms() + 1_000
    assert world.fs.stat(world.root)[:2] == (True, 0)


def test_the_time_of_a_file_can_be_set(world: World) -> None:
    path = write(world, "file", b"12345")
    world.fs.set_modified(path, 1_234_567)
    assert world.fs.stat(path) == (False, 5, 1_234_567)
    write(world, "file", b"54321")
    assert world.fs.stat(path).modified_ms >= world.clock.wall_ms() - 60_000


def test_what_is_missing_is_not_found(world: World) -> None:
    missing = f"{world.root}/missing"
    for use in (
        lambda: world.fs.stat(missing),
        lambda: world.fs.list_directory(missing),
        lambda: world.fs.remove_file(missing),
        lambda: world.fs.remove_directory(missing),
        lambda: world.fs.rename(missing, f"{world.root}/x"),
        lambda: world.fs.sync_directory(missing),
        lambda: world.fs.begin_sync_directory(missing),
        lambda: world.fs.begin_replace(f"{missing}/below", b""),
        lambda: world.fs.space(missing),
        lambda: world.fs.set_modified(missing, 1),
        lambda: world.fs.make_directory(f"{missing}/below"),
        lambda: world.fs.open(f"{missing}/below", OpenMode.CREATE),
        lambda: world.fs.lock(f"{missing}/.lock"),
    ):
        with pytest.raises(NotFound):
            use()
    assert world.fs.list_directory(world.root) == []


def test_a_file_is_not_a_directory(world: World) -> None:
    path = write(world, "file")
    for use in (
        lambda: world.fs.list_directory(path),
        lambda: world.fs.remove_directory(path),
        lambda: world.fs.sync_directory(path),
        lambda: world.fs.begin_sync_directory(path),
        lambda: world.fs.begin_replace(f"{path}/below", b""),
        lambda: world.fs.make_directory(f"{path}/below"),
        lambda: world.fs.open(f"{path}/below", OpenMode.CREATE),
        lambda: world.fs.stat(f"{path}/below"),
    ):
        with pytest.raises(WrongKind):
            use()


def test_directories_are_made_and_removed(world: World) -> None:
    path = f"{world.root}/topic-0"
    make_directory_durably(world.fs, path)
    with pytest.raises(AlreadyExists):
        world.fs.make_directory(path)
    write(world, "topic-0/0.log")
    with pytest.raises(NotEmpty):
        world.fs.remove_directory(path)
    with pytest.raises(WrongKind):
        world.fs.remove_file(path)
    world.fs.remove_file(f"{path}/0.log")
    world.fs.remove_directory(path)
    assert world.fs.list_directory(world.root) == []


def test_a_removed_file_reads_on_through_its_handle(world: World) -> None:
    path = write(world, "file", b"still here")
    file = world.fs.open(path, OpenMode.READ)
    world.fs.remove_file(path)
    assert file.read_at(0, 20) == b"still here"
    with pytest.raises(NotFound):
        world.fs.stat(path)
    file.close()


def test_rename_replaces_a_file(world: World) -> None:
    source, target = write(world, "new", b"new"), write(world, "old", b"old")
    reader = world.fs.open(target, OpenMode.READ)
    world.fs.rename(source, target)
    assert (read(world, target), reader.read_at(0, 3)) == (b"new", b"old")
    assert world.fs.list_directory(world.root) == ["old"]
    world.fs.rename(target, target)
    assert read(world, target) == b"new"


def test_rename_moves_a_directory_under_open_files(world: World) -> None:
    old, new = f"{world.root}/topic-0", f"{world.root}/topic-0.4f-delete"
    world.fs.make_directory(old)
    file = world.fs.open(f"{old}/0.log", OpenMode.CREATE)
    world.fs.rename(old, new)
    file.write_at(0, [b"late"])
    assert read(world, f"{new}/0.log") == b"late"
    assert (file.path, world.fs.list_directory(world.root)) == (f"{old}/0.log", ["topic-0.4f-delete"])


def test_rename_between_directories(world: World) -> None:
    world.fs.make_directory(f"{world.root}/a")
    path = write(world, "file", b"moved")
    world.fs.rename(path, f"{world.root}/a/file")
    assert read(world, f"{world.root}/a/file") == b"moved"
    assert world.fs.list_directory(world.root) == ["a"]


def test_rename_refuses_what_it_would_destroy(world: World) -> None:
    file = write(world, "file")
    for name in ("full", "empty", "moved"):
        world.fs.make_directory(f"{world.root}/{name}")
    write(world, "full/entry")
    with pytest.raises(NotEmpty):
        world.fs.rename(f"{world.root}/moved", f"{world.root}/full")
    with pytest.raises(WrongKind):
        world.fs.rename(file, f"{world.root}/empty")
    with pytest.raises(WrongKind):
        world.fs.rename(f"{world.root}/moved", file)
    world.fs.rename(f"{world.root}/moved", f"{world.root}/empty")
    assert world.fs.list_directory(world.root) == ["empty", "file", "full"]


@pytest.mark.parametrize("path", ["", "relative", "/a//b", "/a/./b", "/a/../b", "/a/", "/nul\0"])
def test_only_absolute_normal_paths(world: World, path: str) -> None:
    for use in (
        lambda: world.fs.open(path, OpenMode.READ),
        lambda: world.fs.stat(path),
        lambda: world.fs.list_directory(path),
        lambda: world.fs.make_directory(path),
        lambda: world.fs.remove_file(path),
        lambda: world.fs.remove_directory(path),
        lambda: world.fs.rename(path, f"{world.root}/x"),
        lambda: world.fs.rename(f"{world.root}/x", path),
        lambda: world.fs.sync_directory(path),
        lambda: world.fs.begin_sync_directory(path),
        lambda: world.fs.begin_make_directory(path, {}),
        lambda: world.fs.space(path),
        lambda: world.fs.lock(path),
    ):
        with pytest.raises(ValueError, match="not an absolute, normal path"):
            use()


def test_a_directory_does_not_move_into_itself(world: World) -> None:
    world.fs.make_directory(f"{world.root}/a")
    with pytest.raises(ValueError, match="into itself"):
        world.fs.rename(f"{world.root}/a", f"{world.root}/a/b")


def test_a_name_has_a_limit(world: World) -> None:
    write(world, "n" * 255)
    for use in (
        lambda: world.fs.make_directory(f"{world.root}/{'n' * 256}"),
        lambda: write(world, "é" * 128),
    ):
        with pytest.raises(NameTooLong):
            use()


def test_a_lock_excludes_and_names_its_owner(world: World) -> None:
    path = f"{world.root}/.lock"
    assert world.fs.lock_owner(path) is None
    assert world.fs.list_directory(world.root) == []
    held = world.fs.lock(path)
    with pytest.raises(LockHeld) as refused:
        world.fs.lock(path)
    assert refused.value.owner in str(refused.value)
    assert refused.value.owner
    assert world.fs.lock_owner(path) == refused.value.owner
    held.release()
    assert world.fs.lock_owner(path) is None
    again = world.fs.lock(path)
    held.release()  # the first owner's second release must not free the second owner's lock
    with pytest.raises(LockHeld):
        world.fs.lock(path)
    again.release()
    assert ".lock" in world.fs.list_directory(world.root)


def test_space_is_counted(world: World) -> None:
    total, usable = world.fs.space(world.root)
    assert 0 < usable <= total


def test_replace_durably_and_its_twin_off_the_loop(world: World) -> None:
    path = f"{world.root}/recovery-point-offset-checkpoint"
    write(world, "recovery-point-offset-checkpoint.tmp", b"left over by a crash, and longer than what follows")
    replace_durably(world.fs, path, b"one")
    assert read(world, path) == b"one"
    first, second = world.fs.begin_replace(path, b"two"), world.fs.begin_replace(path, b"three")
    assert [fault for _, fault in world.wait_for(first, second)] == [None, None]
    assert read(world, path) == b"three"
    assert world.fs.list_directory(world.root) == ["recovery-point-offset-checkpoint"]


def test_directories_are_made_with_their_first_files_off_the_loop(world: World) -> None:
    paths = [f"{world.root}/t-{index}" for index in range(20)]
    tickets = [world.fs.begin_make_directory(path, {"partition.metadata": b"id", "0.log": b""}) for path in paths]
    completed = world.wait_for(*tickets)
    assert sorted(completed) == [(ticket, None) for ticket in tickets]
    for path in paths:
        assert world.fs.list_directory(path) == ["0.log", "partition.metadata"]
        assert (read(world, f"{path}/partition.metadata"), read(world, f"{path}/0.log")) == (b"id", b"")


def test_a_directory_that_is_there_is_not_filled(world: World) -> None:
    world.fs.make_directory(f"{world.root}/t-0")
    ticket = world.fs.begin_make_directory(f"{world.root}/t-0", {"0.log": b""})
    (completed,) = world.wait_for(ticket)
    assert isinstance(completed.fault, AlreadyExists)
    assert world.fs.list_directory(f"{world.root}/t-0") == []
    (completed,) = world.wait_for(world.fs.begin_make_directory(f"{world.root}/missing/t-0", {}))
    assert isinstance(completed.fault, NotFound)


def test_a_fault_off_the_loop_comes_with_its_ticket(world: World) -> None:
    ticket = world.fs.begin_sync_directory(world.root)
    world.fs.make_directory(f"{world.root}/occupied")
    write(world, "occupied/entry")
    refused = world.fs.begin_replace(f"{world.root}/occupied", b"a file can not replace a directory")
    done, failed = world.wait_for(ticket, refused)
    assert done == (ticket, None)
    assert failed.ticket == refused
    assert isinstance(failed.fault, WrongKind)
