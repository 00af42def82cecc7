"""What the contract tests can not provoke on a healthy machine: faults are put in place of the system calls."""

import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tidelog.io.files import PosixFileSystem
from tidelog.io.handles import PROBE_STRIDE_BYTES, PosixFile
from tidelog.ports.errors import DiskFull, HandleClosed, IoError
from tidelog.ports.files import OpenMode

Patch = pytest.MonkeyPatch


def failing(number: int) -> Callable[..., object]:
    def fail(*_args: object) -> object:
        raise OSError(number, os.strerror(number))

    return fail


def test_descriptors_are_not_inherited(file: PosixFile) -> None:
    assert not os.get_inheritable(file.descriptor)


def test_a_short_write_is_reported_as_it_was(file: PosixFile, monkeypatch: Patch) -> None:
    monkeypatch.setattr(os, "pwritev", lambda _fd, pieces, _position: len(pieces[0]) - 1)
    assert file.write_at(0, [b"abc", b"def"]) == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a device that is always full")
def test_a_full_device_raises(fs: PosixFileSystem) -> None:
    file = fs.open("/dev/full", OpenMode.WRITE)
    with pytest.raises(DiskFull, match="ENOSPC"):
        file.write_at(0, [b"x"])
    file.close()


@pytest.mark.parametrize("call", ["pwritev", "pread", "ftruncate", "fstat", "fdatasync"])
def test_every_call_translates_its_error(file: PosixFile, monkeypatch: Patch, call: str) -> None:
    uses: dict[str, Callable[[], object]] = {
        "pwritev": lambda: file.write_at(0, [b"x"]),
        "pread": lambda: file.read_at(0, 1),
        "ftruncate": lambda: file.truncate(0),
        "fstat": file.size,
        "fdatasync": file.sync,
    }
    with monkeypatch.context() as patch:  # only around the call: others need fstat, too
        patch.setattr(os, call, failing(errno.EIO))
        with pytest.raises(IoError) as raised:
            uses[call]()
    assert raised.value.path == file.path


def test_a_failed_sync_is_never_tried_again(file: PosixFile, monkeypatch: Patch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", failing(errno.EIO))
        with pytest.raises(IoError) as first:
            file.sync()
    calls: list[int] = []
    monkeypatch.setattr(os, "fdatasync", calls.append)
    with pytest.raises(IoError) as second:
        file.sync()
    assert second.value is first.value
    assert calls == []


def test_a_read_goes_on_until_the_end_of_the_file(file: PosixFile, monkeypatch: Patch) -> None:
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, size, position: pread(fd, min(size, 3), position))
    assert file.read_at(1, 100) == b"123456789"
    assert file.read_at(1, 5) == b"12345"


@pytest.mark.skipif(not hasattr(os, "RWF_NOWAIT"), reason="this platform can not probe")
def test_a_cold_byte_anywhere_on_the_way_is_noticed(file: PosixFile, monkeypatch: Patch) -> None:
    size = 3 * PROBE_STRIDE_BYTES + 10
    file.truncate(size)
    for cold in (0, PROBE_STRIDE_BYTES, 3 * PROBE_STRIDE_BYTES, size - 1):

        def probe(_fd: int, _buffers: object, position: int, flags: int, cold: int = cold) -> int:
            assert flags == os.RWF_NOWAIT
            if position == cold:
                raise BlockingIOError(errno.EAGAIN, "cold")
            return 1

        with monkeypatch.context() as patch:
            patch.setattr(os, "preadv", probe)
            assert not file.is_cached(0, size + 100)
            assert file.is_cached(1, 1)


@pytest.mark.parametrize("number", [errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS])
def test_where_the_probe_is_refused_plain_reads_serve(file: PosixFile, monkeypatch: Patch, number: int) -> None:
    monkeypatch.setattr(os, "preadv", failing(number))
    assert file.is_cached(0, 10)


def test_where_there_is_no_probe_plain_reads_serve(file: PosixFile, monkeypatch: Patch) -> None:
    monkeypatch.delattr(os, "RWF_NOWAIT", raising=False)
    monkeypatch.setattr(os, "preadv", failing(errno.EAGAIN))
    assert file.is_cached(0, 10)


def test_a_probe_that_meets_a_bad_sector_raises(file: PosixFile, monkeypatch: Patch) -> None:
    monkeypatch.setattr(os, "preadv", failing(errno.EIO))
    with pytest.raises(IoError):
        file.is_cached(0, 10)


def is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def test_the_descriptor_closes_with_the_last_pin(file: PosixFile) -> None:
    descriptor = file.descriptor
    first, second = file.range(0, 1), file.range(0, 1)
    file.close()
    first.release()
    assert is_open(descriptor)
    with pytest.raises(HandleClosed):
        first.release()
    assert is_open(descriptor)
    second.release()
    assert not is_open(descriptor)
    file.close()


def test_a_range_is_sent_as_far_as_the_socket_takes_it(file: PosixFile) -> None:
    left, right = socket.socketpair()
    with left, right:
        left.setblocking(False)
        data = bytes(range(256)) * 8_192
        file.write_at(0, [data])
        part = file.range(5, len(data) - 5)
        received = bytearray()
        sends = 0
        while part.remaining:
            try:
                sends += part.send_to(left.fileno()) > 0
            except BlockingIOError:
                received += right.recv(1 << 20)
        left.close()
        while more := right.recv(1 << 20):
            received += more
        assert sends > 1
        assert received == data[5:]
        part.release()
        with pytest.raises(HandleClosed):
            part.send_to(0)


def test_sending_from_a_file_that_shrank_sends_nothing(file: PosixFile) -> None:
    left, right = socket.socketpair()
    with left, right:
        part = file.range(0, 10)
        file.truncate(4)
        assert (part.send_to(left.fileno()), part.send_to(left.fileno()), part.remaining) == (4, 0, 6)
        part.release()


def test_the_disks_fault_and_the_sockets_are_told_apart(file: PosixFile, monkeypatch: Patch) -> None:
    part = file.range(0, 10)
    monkeypatch.setattr(os, "sendfile", failing(errno.EIO))
    with pytest.raises(IoError):
        part.send_to(0)
    monkeypatch.setattr(os, "sendfile", failing(errno.ECONNRESET))
    with pytest.raises(ConnectionResetError):
        part.send_to(0)
    part.release()
