from collections.abc import Iterator
from pathlib import Path

import pytest

from tidelog.io.files import PosixFileSystem
from tidelog.io.handles import PosixFile
from tidelog.ports.files import OpenMode


@pytest.fixture
def fs() -> Iterator[PosixFileSystem]:
    fs = PosixFileSystem()
    yield fs
    fs.close()


@pytest.fixture
def file(fs: PosixFileSystem, tmp_path: Path) -> Iterator[PosixFile]:
    file = fs.open(str(tmp_path / "file"), OpenMode.CREATE)
    file.write_at(0, [b"0123456789"])
    yield file
    file.close()
