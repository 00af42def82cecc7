"""The real file system where it differs from what a healthy disk shows: locks between processes, helper threads, the
order of system calls."""

import errno
import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tidelog.io.clock import SystemClock
from tidelog.io.files import PosixFileSystem
from tidelog.io.handles import PosixFile
from tidelog.io.threads import HelperThreads
from tidelog.ports.durable import replace_durably
from tidelog.ports.errors import CrossDevice, IoError, LockHeld, NotEmpty, SyncFailed, TooManyOpenFiles, WrongKind
from tidelog.ports.files import Completion, OpenMode

HOLD_LOCK = """
import sys
from tidelog.io.files import PosixFileSystem
lock = PosixFileSystem().lock(sys.argv[1])
print("locked", flush=True)
sys.stdin.read()
"""


def test_a_lock_holds_between_processes_and_ends_with_its_owner(fs: PosixFileSystem, tmp_path: Path) -> None:
    path = str(tmp_path / ".lock")
    command = [sys.executable, "-c", HOLD_LOCK, path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "locked\n"
        with pytest.raises(LockHeld, match=f"locked by process {owner.pid}$"):
            fs.lock(path)
        owner.kill()
    fs.lock(path).release()


def test_the_lock_file_holds_the_pid_of_the_latest_owner(fs: PosixFileSystem, tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    path.write_text("999999999999 left by a dead process\n")
    lock = fs.lock(str(path))
    assert path.read_text() == f"{os.getpid()}\n"
    lock.release()


def test_an_owner_that_has_not_signed_yet(fs: PosixFileSystem, tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    lock = fs.lock(str(path))
    path.write_text("")
    with pytest.raises(LockHeld, match="just starting"):
        fs.lock(str(path))
    lock.release()


def record_calls(monkeypatch: pytest.MonkeyPatch, *names: str) -> list[str]:
    calls: list[str] = []

    def recorded(name: str, real: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object) -> object:
            calls.append(name)
            return real(*args)

        return call

    for name in names:
        monkeypatch.setattr(os, name, recorded(name, getattr(os, name)))
    return calls


@pytest.mark.skipif(sys.platform != "linux", reason="macOS syncs by fcntl")
def test_a_replacement_syncs_bytes_then_renames_then_syncs_names(
    fs: PosixFileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = record_calls(monkeypatch, "pwritev", "fdatasync", "rename", "fsync")
    replace_durably(fs, str(tmp_path / "checkpoint"), b"contents")
    assert calls == ["pwritev", "fdatasync", "rename", "fsync"]


def test_descriptors_do_not_leak(fs: PosixFileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def descriptors() -> int:
        return len(os.listdir("/dev/fd"))

    gc.collect()  # closes what other tests left open, before descriptors are counted
    before = descriptors()
    lock = fs.lock(str(tmp_path / ".lock"))
    with pytest.raises(LockHeld):
        fs.lock(str(tmp_path / ".lock"))
    lock.release()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda _descriptor: os.close(-1))
        with pytest.raises(IoError, match="EBADF"):
            fs.sync_directory(str(tmp_path))
    with pytest.raises(WrongKind):
        fs.open(str(tmp_path), OpenMode.READ)
    replace_durably(fs, str(tmp_path / "checkpoint"), b"contents")
    assert descriptors() == before


@pytest.mark.parametrize(
    ("number", "kind"), [(errno.EXDEV, CrossDevice), (errno.EEXIST, NotEmpty), (errno.EMFILE, TooManyOpenFiles)]
)
def test_a_rename_translates_what_we_can_not_provoke(
    fs: PosixFileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, kind: type[Exception]
) -> None:
    def fail(_source: str, _target: str) -> None:
        raise OSError(number, "x")

    monkeypatch.setattr(os, "rename", fail)
    with pytest.raises(kind):
        fs.rename(str(tmp_path / "a"), str(tmp_path / "b"))


class Woken(threading.Semaphore):
    def __init__(self) -> None:
        super().__init__(0)

    def __call__(self) -> None:
        self.release()


def wait_for(fs: PosixFileSystem, woken: Woken, count: int) -> list[Completion]:
    for _ in range(count):
        assert woken.acquire(timeout=10)
    return fs.completions()


def test_a_sync_queued_behind_one_that_fails_fails_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel reports a failure once: a second sync would succeed although the data are lost."""
    woken, gate = Woken(), threading.Event()
    fs = PosixFileSystem(woken)
    file = fs.open(str(tmp_path / "file"), OpenMode.CREATE)
    calls: list[int] = []

    def fail_once(descriptor: int) -> None:
        gate.wait(10)
        calls.append(descriptor)
        if len(calls) == 1:
            raise OSError(errno.EIO, "x")

    monkeypatch.setattr("tidelog.io.handles.sync_data", fail_once)
    first, second = fs.begin_sync(file), fs.begin_sync(file)
    file.close()
    assert fs.completions() == []  # completions() does not wait
    gate.set()
    completed = wait_for(fs, woken, 2)
    assert [ticket for ticket, _ in completed] == [first, second]
    assert [type(fault) for _, fault in completed] == [SyncFailed, SyncFailed]
    assert len(calls) == 1
    fs.close()


def test_work_keeps_the_file_open_until_its_completion_is_fetched(tmp_path: Path) -> None:
    woken = Woken()
    fs = PosixFileSystem(woken)
    file = fs.open(str(tmp_path / "file"), OpenMode.CREATE)
    descriptor = file.descriptor
    fs.begin_sync(file)
    file.close()
    os.fstat(descriptor)
    wait_for(fs, woken, 1)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)
    fs.close()


def test_a_reader_does_not_wait_for_a_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    woken, gate = Woken(), threading.Event()
    fs = PosixFileSystem(woken)
    file = fs.open(str(tmp_path / "file"), OpenMode.CREATE)
    monkeypatch.setattr("tidelog.io.handles.sync_data", lambda _descriptor: gate.wait(10))
    sync, warm = fs.begin_sync(file), fs.begin_warm(file, 0, 10)
    assert wait_for(fs, woken, 1) == [(warm, None)]
    gate.set()
    assert wait_for(fs, woken, 1) == [(sync, None)]
    file.close()
    fs.close()


def test_closing_finishes_what_was_begun(tmp_path: Path) -> None:
    fs = PosixFileSystem()
    for i in range(5):
        fs.begin_replace(str(tmp_path / "checkpoint"), b"%d" % i)
    fs.close()
    assert (tmp_path / "checkpoint").read_bytes() == b"4"
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("tidelog")]


def test_warming_reads_the_whole_range_in_pieces(
    fs: PosixFileSystem, file: PosixFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[tuple[int, int]] = []

    def read(_descriptor: int, size: int, position: int) -> bytes:
        reads.append((position, size))
        return b""

    monkeypatch.setattr(os, "pread", read)
    fs.begin_warm(file, 100, (2 << 20) + 5)
    fs.close()
    assert reads == [(100, 1 << 20), (100 + (1 << 20), 1 << 20), (100 + (2 << 20), 5)]


def test_a_bug_on_a_helper_thread_surfaces_on_the_loop() -> None:
    def bug() -> None:
        raise ZeroDivisionError

    threads = HelperThreads(lambda: None)
    threads.begin("lane", bug)
    threads.stop()
    with pytest.raises(ZeroDivisionError):
        threads.completions()


def test_the_clocks_are_the_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time_ns", lambda: 1_700_000_000_123_999_999)
    monkeypatch.setattr("time.monotonic_ns", lambda: 5_999_999)
    assert (SystemClock().wall_ms(), SystemClock().monotonic_ms()) == (1_700_000_000_123, 5)
