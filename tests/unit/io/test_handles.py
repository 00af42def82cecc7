"""Errors that the contract tests can not provoke on a healthy machine: system calls are replaced by failing ones."""

import errno
import mmap
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tidelog.io.files import PosixFileSystem
from tidelog.io.handles import PROBE_STRIDE_BYTES, PosixFile, PosixFileRange
from tidelog.io.mapped_send import MAPPED_BYTES_MIN
from tidelog.ports.errors import DiskFull, HandleClosed, IoError
from tidelog.ports.files import OpenMode

Patch = pytest.MonkeyPatch


def failing(number: int) -> Callable[..., object]:
    def fail(*_args: object, **_named: object) -> object:
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


def test_a_read_that_would_wait_says_so(file: PosixFile, monkeypatch: Patch) -> None:
    monkeypatch.setattr(os, "preadv", failing(errno.EAGAIN))
    assert file.read_cached(0, 10) is None


@pytest.mark.skipif(not hasattr(os, "RWF_NOWAIT"), reason="this platform can not probe")
def test_a_read_that_is_cached_in_part_would_wait(file: PosixFile, monkeypatch: Patch) -> None:
    preadv = os.preadv

    def short(fd: int, buffers: list[bytearray], position: int, flags: int) -> int:
        found = bytearray(4)
        count = preadv(fd, [found], position, flags)
        buffers[0][:count] = found[:count]
        return count

    monkeypatch.setattr(os, "preadv", short)
    assert file.read_cached(0, 10) is None
    assert file.read_cached(7, 10) == b"789"  # up to the end of the file
    assert file.read_cached(2, 4) == b"2345"


@pytest.mark.parametrize("number", [errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS])
def test_where_it_can_not_be_told_a_plain_read_serves(file: PosixFile, monkeypatch: Patch, number: int) -> None:
    monkeypatch.setattr(os, "preadv", failing(number))
    assert file.read_cached(1, 3) == b"123"


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


@pytest.mark.parametrize("is_mapped", [False, True])
def test_a_range_is_sent_as_far_as_the_socket_takes_it(file: PosixFile, is_mapped: bool) -> None:
    left, right = socket.socketpair()
    with left, right:
        left.setblocking(False)
        data = bytes(range(251)) * 32_768
        file.write_at(0, [data])
        part = file.range(5, len(data) - 5)
        received = bytearray()
        sends = 0
        while part.remaining:
            try:
                sends += part.send_to(left.fileno(), is_mapped=is_mapped) > 0
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


def test_of_a_file_that_shrank_a_local_peer_gets_no_byte_that_was_not_there(file: PosixFile) -> None:
    """A mapped page reads as zeros behind the end of the file, and those zeros must not be sent."""
    data, left_bytes = bytes(range(1, 251)) * 400, 70_001
    left, right = socket.socketpair()
    with left, right:
        left.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        file.write_at(0, [data])
        part = file.range(0, len(data))
        file.truncate(left_bytes)
        while part.send_to(left.fileno(), is_mapped=True):
            pass
        left.close()
        received = bytearray()
        while more := right.recv(1 << 20):
            received += more
        assert (bytes(received), part.remaining) == (data[:left_bytes], len(data) - left_bytes)
        part.release()


@pytest.mark.skipif(not hasattr(os, "sendfile") or not hasattr(socket, "MSG_MORE"), reason="Linux")
class TestLocalPeer:
    """A range that is long enough to be mapped, sent to a peer on this machine."""

    @pytest.fixture
    def part(self, file: PosixFile) -> Iterator[PosixFileRange]:
        file.write_at(0, [bytes(2 * MAPPED_BYTES_MIN)])
        part = file.range(0, 2 * MAPPED_BYTES_MIN)
        yield part
        part.release()

    def test_it_is_sent_without_sendfile(self, part: PosixFileRange, monkeypatch: Patch) -> None:
        monkeypatch.setattr(os, "sendfile", failing(errno.EIO))
        left, right = socket.socketpair()
        with left, right:
            left.setblocking(False)
            assert part.send_to(left.fileno(), is_mapped=True) > 0
            with pytest.raises(IoError):
                part.send_to(left.fileno())

    def test_a_short_one_is_not_mapped(self, file: PosixFile, monkeypatch: Patch) -> None:
        monkeypatch.setattr(mmap, "mmap", failing(errno.EIO))
        monkeypatch.setattr(os, "sendfile", lambda _out, _in, _position, count: count)
        short = file.range(0, MAPPED_BYTES_MIN)
        assert short.send_to(0, is_mapped=True) == MAPPED_BYTES_MIN
        short.release()

    @pytest.mark.parametrize("number", [errno.ENODEV, errno.ENOMEM, errno.EMFILE])
    def test_what_can_not_be_mapped_goes_by_sendfile(
        self, part: PosixFileRange, monkeypatch: Patch, number: int
    ) -> None:
        monkeypatch.setattr(mmap, "mmap", failing(number))
        monkeypatch.setattr(os, "sendfile", lambda _out, _in, _position, count: count - 1)
        assert part.send_to(0, is_mapped=True) == 2 * MAPPED_BYTES_MIN - 1

    def test_a_page_that_can_not_be_read_is_the_disks_fault(self, part: PosixFileRange, monkeypatch: Patch) -> None:
        monkeypatch.setattr(os, "write", failing(errno.EFAULT))
        monkeypatch.setattr(os, "sendfile", failing(errno.EIO))
        with pytest.raises(IoError):
            part.send_to(0, is_mapped=True)

    @pytest.mark.parametrize("number", [errno.EAGAIN, errno.EPIPE, errno.ECONNRESET])
    def test_what_the_socket_says_is_the_reactors(self, part: PosixFileRange, monkeypatch: Patch, number: int) -> None:
        monkeypatch.setattr(os, "write", failing(number))
        with pytest.raises(OSError, match=os.strerror(number)):
            part.send_to(0, is_mapped=True)
        assert part.remaining == 2 * MAPPED_BYTES_MIN


def test_the_disks_fault_and_the_sockets_are_told_apart(file: PosixFile, monkeypatch: Patch) -> None:
    part = file.range(0, 10)
    monkeypatch.setattr(os, "sendfile", failing(errno.EIO))
    with pytest.raises(IoError):
        part.send_to(0)
    monkeypatch.setattr(os, "sendfile", failing(errno.ECONNRESET))
    with pytest.raises(ConnectionResetError):
        part.send_to(0)
    part.release()
