"""What a File does, in both worlds."""

import pytest
from tests.contract.conftest import World

from tidelog.ports.durable import write_fully
from tidelog.ports.errors import AlreadyExists, HandleClosed, NotFound, PermissionRefused, WrongKind
from tidelog.ports.files import MAX_PIECES, File, OpenMode


def new(world: World, contents: bytes = b"", name: str = "file") -> File:
    file = world.fs.open(f"{world.root}/{name}", OpenMode.CREATE_NEW)
    write_fully(file, 0, [contents])
    return file


def test_a_file_reads_back_what_was_written(world: World) -> None:
    file = new(world, b"hello")
    assert (file.size(), file.read_at(0, 5), file.path) == (5, b"hello", f"{world.root}/file")


def test_a_read_is_short_only_at_the_end(world: World) -> None:
    file = new(world, b"hello")
    assert file.read_at(3, 10) == b"lo"
    assert file.read_at(5, 10) == b""
    assert file.read_at(99, 10) == b""
    assert file.read_at(1, 0) == b""


def test_pieces_follow_each_other(world: World) -> None:
    file = new(world, b"0123456789")
    assert file.write_at(2, [b"ab", bytearray(b""), memoryview(b"xcdx")[1:3]]) == 4
    assert file.read_at(0, 20) == b"01abcd6789"


def test_writing_nothing_changes_nothing(world: World) -> None:
    file = new(world, b"abc")
    assert file.write_at(10, []) == 0
    assert file.write_at(10, [b""]) == 0
    assert file.size() == 3


def test_past_the_end_a_write_leaves_zeros(world: World) -> None:
    file = new(world, b"ab")
    assert file.write_at(5, [b"c"]) == 1
    assert file.read_at(0, 10) == b"ab\0\0\0c"


def test_more_pieces_than_one_write_takes_make_it_short(world: World) -> None:
    file = new(world)
    assert file.write_at(0, [b"xy"] * (MAX_PIECES + 10)) == 2 * MAX_PIECES
    assert file.size() == 2 * MAX_PIECES


def test_write_fully_takes_any_number_of_pieces(world: World) -> None:
    file = new(world)
    pieces = [str(i).encode() for i in range(3 * MAX_PIECES)]
    end = write_fully(file, 0, [b"", *pieces, b""])
    assert end == file.size()
    assert file.read_at(0, end) == b"".join(pieces)


def test_truncate_cuts_and_extends_with_zeros(world: World) -> None:
    file = new(world, b"0123456789")
    file.truncate(4)
    assert file.read_at(0, 20) == b"0123"
    file.truncate(7)
    assert file.read_at(0, 20) == b"0123\0\0\0"


def test_a_preallocated_tail_takes_no_space(world: World) -> None:
    file = new(world)
    total, _usable = world.fs.space(world.root)
    file.truncate(total)
    assert file.size() == total
    assert file.read_at(total - 2, 10) == b"\0\0"
    assert file.write_at(0, [b"entry"]) == 5


def test_open_modes(world: World) -> None:
    path = f"{world.root}/file"
    for must_exist in (OpenMode.READ, OpenMode.WRITE):
        with pytest.raises(NotFound) as missing:
            world.fs.open(path, must_exist)
        assert missing.value.path == path
    world.fs.open(path, OpenMode.CREATE).write_at(0, [b"kept"])
    with pytest.raises(AlreadyExists):
        world.fs.open(path, OpenMode.CREATE_NEW)
    for mode in (OpenMode.READ, OpenMode.WRITE, OpenMode.CREATE):
        assert world.fs.open(path, mode).read_at(0, 10) == b"kept"
    world.fs.open(path, OpenMode.WRITE).write_at(0, [b"K"])
    assert world.fs.open(path, OpenMode.READ).read_at(0, 10) == b"Kept"


def test_a_file_opened_for_reading_refuses_to_change(world: World) -> None:
    new(world, b"abc")
    file = world.fs.open(f"{world.root}/file", OpenMode.READ)
    with pytest.raises(PermissionRefused, match="reading only"):
        file.write_at(0, [b"x"])
    with pytest.raises(PermissionRefused, match="reading only"):
        file.truncate(0)
    assert file.read_at(0, 3) == b"abc"


def test_a_directory_is_not_a_file(world: World) -> None:
    world.fs.make_directory(f"{world.root}/directory")
    for mode in (OpenMode.READ, OpenMode.WRITE, OpenMode.CREATE):
        with pytest.raises(WrongKind):
            world.fs.open(f"{world.root}/directory", mode)
    with pytest.raises(AlreadyExists):
        world.fs.open(f"{world.root}/directory", OpenMode.CREATE_NEW)


def test_two_handles_see_one_file(world: World) -> None:
    writer = new(world, b"one")
    reader = world.fs.open(f"{world.root}/file", OpenMode.READ)
    writer.write_at(3, [b" two"])
    assert reader.read_at(0, 10) == b"one two"
    writer.close()
    assert reader.size() == 7


def test_a_closed_file_is_a_bug_not_a_fault(world: World) -> None:
    file = new(world, b"abc")
    file.close()
    file.close()
    for use in (
        file.size,
        file.sync,
        lambda: file.read_at(0, 1),
        lambda: file.read_cached(0, 1),
        lambda: file.write_at(0, [b"x"]),
        lambda: file.truncate(0),
        lambda: file.range(0, 1),
        lambda: file.is_cached(0, 1),
        lambda: world.fs.begin_sync(file),
        lambda: world.fs.begin_warm(file, 0, 1),
    ):
        with pytest.raises(HandleClosed):
            use()


def test_what_was_just_written_is_cached(world: World) -> None:
    file = new(world, bytes(300_000))
    assert file.is_cached(0, 300_000)
    assert file.is_cached(299_999, 10)
    assert file.is_cached(300_000, 10)
    assert file.is_cached(0, 0)


def test_what_is_cached_is_read_without_waiting(world: World) -> None:
    file = new(world, b"0123456789")
    assert file.read_cached(2, 3) == b"234"
    assert file.read_cached(8, 100) == b"89"
    assert file.read_cached(10, 5) == b""


def test_sync_and_its_twin_off_the_loop(world: World) -> None:
    file = new(world, b"abc")
    file.sync()
    first, second = world.fs.begin_sync(file), world.fs.begin_sync(file)
    file.close()
    assert first != second
    assert world.wait_for(first, second) == [(first, None), (second, None)]
    assert world.fs.completions() == []


def test_warming_completes(world: World) -> None:
    file = new(world, bytes(10_000))
    ticket = world.fs.begin_warm(file, 0, 10_000)
    file.close()
    assert world.wait_for(ticket) == [(ticket, None)]
