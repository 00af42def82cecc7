"""File ranges: read when sent, pinned until released, in both worlds."""

import pytest
from tests.contract.conftest import World

from tidelog.ports.errors import HandleClosed
from tidelog.ports.files import File, OpenMode


def new(world: World, contents: bytes) -> File:
    file = world.fs.open(f"{world.root}/segment", OpenMode.CREATE_NEW)
    file.write_at(0, [contents])
    return file


def test_a_range_is_read_bit_by_bit(world: World) -> None:
    part = new(world, b"0123456789").range(2, 6)
    assert (part.remaining, part.read(4), part.read(99)) == (6, b"2345", b"234567")
    part.advance(4)
    assert (part.remaining, part.read(99)) == (2, b"67")
    part.advance(2)
    assert (part.remaining, part.read(99)) == (0, b"")


def test_a_range_reads_at_send_time(world: World) -> None:
    file = new(world, b"old old")
    part = file.range(0, 7)
    file.write_at(0, [b"new"])
    assert part.read(7) == b"new old"


def test_a_file_that_shrank_is_noticed(world: World) -> None:
    file = new(world, b"0123456789")
    part = file.range(0, 10)
    file.truncate(4)
    assert part.read(10) == b"0123"
    part.advance(4)
    assert part.remaining == 6
    assert part.read(10) == b""


def test_a_range_outlives_close_and_removal(world: World) -> None:
    file = new(world, b"pinned")
    first, second = file.range(0, 6), file.range(3, 3)
    file.close()
    world.fs.remove_file(f"{world.root}/segment")
    first.release()
    other = world.fs.open(f"{world.root}/other", OpenMode.CREATE)
    other.write_at(0, [b"another partition"])
    assert second.read(6) == b"ned"
    second.release()


def test_a_released_range_is_dead(world: World) -> None:
    part = new(world, b"abc").range(0, 3)
    part.release()
    with pytest.raises(HandleClosed):
        part.read(1)
    with pytest.raises(HandleClosed):
        part.release()
