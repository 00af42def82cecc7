"""A log directory that we hold is locked against Apache's broker, and one that it holds against us: our lock and Java's
exclude each other."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tidelog.io.files import PosixFileSystem
from tidelog.ports.errors import LockHeld

LOCKER = Path(__file__).parent / "Locker.java"

pytestmark = pytest.mark.skipif(
    shutil.which("javac") is None, reason="THE LOCK IS NOT TESTED AGAINST JAVA'S: there is no JDK on the path"
)


@contextmanager
def java_locker(path: str) -> Iterator[str]:
    """Yield Java's answer to its attempt to lock the file. If it got the lock, it holds it meanwhile."""
    command = ["java", "-XX:TieredStopAtLevel=1", str(LOCKER), path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as java:
        assert java.stdout is not None
        yield java.stdout.readline().strip()
        java.communicate("\n")


def test_java_is_kept_out_of_ours(tmp_path: Path) -> None:
    fs, path = PosixFileSystem(), str(tmp_path / ".lock")
    held = fs.lock(path)
    with pytest.raises(LockHeld):
        fs.lock(path)  # the refused one closes the file, which must not free the lock
    with java_locker(path) as answer:
        assert answer == "refused"
    held.release()
    fs.close()


def test_we_are_kept_out_of_javas(tmp_path: Path) -> None:
    fs, path = PosixFileSystem(), str(tmp_path / ".lock")
    with java_locker(path) as answer:
        assert answer == "locked"
        with pytest.raises(LockHeld, match="Apache Kafka"):
            fs.lock(path)
        assert "Apache Kafka" in str(fs.lock_owner(path))
    fs.lock(path).release()
    fs.close()
