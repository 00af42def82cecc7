import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tidelog.cli.failing import WrongUsage
from tidelog.cli.produce import line_input
from tidelog.cli.produce.line_input import lines


@pytest.mark.parametrize("chunk_bytes", [1, 3, 1 << 18])
def test_lines_of_a_file(tmp_path: Path, chunk_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_input, "LINES_CHUNK_BYTES", chunk_bytes)
    path = tmp_path / "lines"
    path.write_bytes(b"one\n\nthree\r\n\xff\x00\nno end")
    assert list(lines(str(path))) == [b"one", b"", b"three", b"\xff\x00", b"no end"]


def test_an_end_of_line_at_the_end_is_no_further_line(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"one\n")
    assert list(lines(str(path))) == [b"one"]
    path.write_bytes(b"")
    assert list(lines(str(path))) == []


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(WrongUsage, match="nothing: No such file or directory"):
        list(lines(str(tmp_path / "nothing")))


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)


def test_while_nobody_types_the_caller_gets_a_turn(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    found = line_input._lines(reading)
    assert next(found) is None
    os.write(writing, b"half a")
    os.write(writing, b" line\nnext")
    assert next(found) == b"half a line"
    assert next(found) is None
    threading.Thread(target=os.close, args=(writing,)).start()
    assert [line for line in found if line is not None] == [b"next"]
