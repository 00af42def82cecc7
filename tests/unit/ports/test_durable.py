"""The durable write sequences, on a file that records the calls."""

from collections.abc import Sequence
from typing import cast

import pytest

from tidelog.ports.durable import write_fully
from tidelog.ports.errors import DeviceFault, DiskFull, IoError, PathFault, StorageFault
from tidelog.ports.files import MAX_PIECES, Buffer, File


class ShortFile:
    """A file that takes a limited number of bytes in each write."""

    path = "/log"

    def __init__(self, limits: list[int]) -> None:
        self.limits = limits
        self.data = b""
        self.pieces: list[int] = []

    def write_at(self, position: int, pieces: Sequence[Buffer]) -> int:
        assert position == len(self.data)
        self.pieces.append(len(pieces))
        if not self.limits:
            raise DiskFull(self.path, "full")
        taken = b"".join(pieces)[: self.limits.pop(0)]
        self.data += taken
        return len(taken)


def test_short_writes_are_continued_where_they_stopped() -> None:
    for first in range(1, 12):
        file = ShortFile([first, 2, 99])
        assert write_fully(cast(File, file), 0, [b"abc", b"", bytearray(b"def"), memoryview(b"ghijk"), b""]) == 11
        assert file.data == b"abcdefghijk"


def test_no_write_gets_more_pieces_than_it_may() -> None:
    file = ShortFile([1 << 20] * 9)
    write_fully(cast(File, file), 0, [b"x"] * (2 * MAX_PIECES + 1))
    assert file.pieces == [MAX_PIECES, MAX_PIECES, 1]


def test_nothing_to_write_is_no_write() -> None:
    file = ShortFile([])
    assert write_fully(cast(File, file), 0, []) == 0
    assert file.pieces == []


def test_a_fault_in_the_middle_comes_out() -> None:
    file = ShortFile([4])
    with pytest.raises(DiskFull):
        write_fully(cast(File, file), 0, [b"abcdef"])
    assert file.data == b"abcd"


def test_a_write_without_progress_is_a_fault_not_a_loop() -> None:
    with pytest.raises(IoError, match="no progress"):
        write_fully(cast(File, ShortFile([0] * 100)), 0, [b"abc"])


def test_typed_arrays_are_written_as_bytes() -> None:
    file = ShortFile([3, 99])
    assert write_fully(cast(File, file), 0, [memoryview(b"abcdefgh").cast("I")]) == 8
    assert file.data == b"abcdefgh"


def test_a_fault_says_where_and_what() -> None:
    fault = DiskFull("/a/b", "no space left")
    assert (fault.path, fault.detail, str(fault)) == ("/a/b", "no space left", "/a/b: no space left")
    assert isinstance(fault, DeviceFault)
    assert not isinstance(fault, PathFault)
    assert isinstance(fault, StorageFault)
