"""The worker's own loop, in this process: its messages to its node, and when it listens."""

import socket
from collections.abc import Generator, Iterator
from typing import Any

import pytest

from tidelog.io import cleaner_worker
from tidelog.io.cleaner_worker import CleanerWorker
from tidelog.io.files import PosixFileSystem
from tidelog.io.housekeeping_frames import Begin, Cancel, FailedAsText, FrameDecoder, encode, failure_from_text
from tidelog.io.worker import NodeGone
from tidelog.ports.errors import DiskFull, IoError, LockHeld, StorageFault
from tidelog.ports.housekeeping import Cancelled, Finished, Stepped, WorkId
from tidelog.storage.cleaner.job import BytesMoved, CleanedSegment, CleanerSettings, CleaningJob
from tidelog.storage.errors import CorruptSegmentError, UndoFault
from tidelog.storage.segment.indexes import IndexSettings

Channel = tuple[socket.socket, socket.socket]
WORK = WorkId(7)
SEGMENT = CleanedSegment(0, (0, 5), 100, 1)


@pytest.fixture
def channel() -> Iterator[Channel]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def job(bytes_per_second: float = 1e9) -> CleaningJob:
    settings = CleanerSettings(1 << 12, 0.9, 512, IndexSettings(100, 1000), 1000, 0, bytes_per_second)
    return CleaningJob("/nowhere", [], 0, 0, 0, bytes(16), settings)


def answers(channel: Channel, monkeypatch: pytest.MonkeyPatch, steps: Any, *said: object) -> list[object]:
    """Return all messages of a worker whose job takes these steps, until the node is gone."""
    ours, theirs = channel
    monkeypatch.setattr(cleaner_worker, "clean_log", lambda fs, job: steps)
    for each in said:
        ours.sendall(encode(each))
    ours.shutdown(socket.SHUT_WR)
    with pytest.raises(NodeGone):
        CleanerWorker(theirs, PosixFileSystem()).run()
    theirs.close()
    decoder, values = FrameDecoder(), []
    while data := ours.recv(1000):
        values += decoder.feed(data)
    return values


def no_steps(result: object) -> Generator[object, None, object]:
    yield SEGMENT
    return result


def test_steps_and_the_result(channel: Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    said = answers(channel, monkeypatch, no_steps("done"), Begin(WORK, job()))
    assert said == [Stepped(WORK, SEGMENT), Stepped(WORK, BytesMoved(0, 0)), Finished(WORK, "done")]


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (DiskFull("/a", "full"), DiskFull),
        (UndoFault("/a", IoError("/a", "x"), IoError("/a", "y")), IoError),
        (MemoryError("out of it"), None),
        (CorruptSegmentError("/a", 5, "bad"), None),
    ],
)
def test_what_goes_wrong(
    channel: Channel, monkeypatch: pytest.MonkeyPatch, error: Exception, fault: type[StorageFault] | None
) -> None:
    def fail() -> Iterator[object]:
        yield SEGMENT
        raise error

    (failed,) = [
        each for each in answers(channel, monkeypatch, fail(), Begin(WORK, job())) if type(each) is FailedAsText
    ]
    event = failure_from_text(failed)
    assert event.work == WORK
    assert type(error).__name__ in event.reason or str(error) in event.reason
    assert type(event.fault) is (fault or type(None))


def test_a_bug_is_seen_and_survived(
    channel: Channel, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> Iterator[object]:
        yield SEGMENT
        raise ZeroDivisionError("oh")

    assert answers(channel, monkeypatch, fail(), Begin(WORK, job()))[-1] == FailedAsText(
        WORK, "ZeroDivisionError: oh", "", "", ""
    )
    assert "Traceback" in capsys.readouterr().err


def test_a_job_that_is_called_off_is_closed(channel: Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = []

    def steps() -> Iterator[object]:
        try:
            while True:
                yield BytesMoved(10, 10)
        finally:
            closed.append(True)

    said = answers(channel, monkeypatch, steps(), Begin(WORK, job()), Cancel(WORK))
    assert said == [Cancelled(WORK)]
    assert closed


def test_a_node_that_goes_away_ends_the_job_too(channel: Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = []

    def steps() -> Iterator[object]:
        try:
            while True:
                yield BytesMoved(10, 10)
        finally:
            closed.append(True)

    answers(channel, monkeypatch, steps(), Begin(WORK, job()))
    assert closed


def test_it_rests_for_the_io_limit_and_hears_of_the_end_meanwhile(
    channel: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    rests: list[int] = []
    rest = CleanerWorker._rest

    def note(worker: CleanerWorker, work: WorkId, until_ms: int) -> None:
        rests.append(until_ms - cleaner_worker._now_ms())
        rest(worker, work, until_ms)

    def steps() -> Iterator[object]:
        while True:
            yield BytesMoved(600, 400)

    monkeypatch.setattr(CleanerWorker, "_rest", note)
    answers(channel, monkeypatch, steps(), Begin(WORK, job(bytes_per_second=0.1)))
    assert 9_000_000 < rests[0] <= 10_000_000, "1000 bytes, a tenth of one a second"


def test_it_says_while_it_rests_that_it_is_there(channel: Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that sent nothing while it rests would be taken for one that hangs."""
    now_ms = 1_000

    def hear(_worker: CleanerWorker, timeout_ms: int) -> bool:
        nonlocal now_ms
        now_ms += timeout_ms
        return False

    def steps() -> Generator[object, None, object]:
        yield BytesMoved(1_000, 0)
        return "done"

    monkeypatch.setattr(cleaner_worker, "_now_ms", lambda: now_ms)
    monkeypatch.setattr(CleanerWorker, "_hear", hear)
    said = answers(channel, monkeypatch, steps(), Begin(WORK, job(bytes_per_second=500)))
    rest_ms = now_ms - 1_000
    assert 1_500 < rest_ms <= 2_000, "1000 bytes, 500 of them a second"
    alive = [Stepped(WORK, BytesMoved(0, 0))] * (rest_ms // cleaner_worker.REPORT_MS - 1)
    assert said == [*alive, Stepped(WORK, BytesMoved(1_000, 0)), Finished(WORK, "done")]


def test_frames_come_in_any_pieces() -> None:
    data, decoder = encode(Cancel(WORK)) + encode(SEGMENT), FrameDecoder()
    values: list[object] = []
    for at in range(len(data)):
        values += decoder.feed(data[at : at + 1])
    assert values == [Cancel(WORK), SEGMENT]


def test_a_fault_that_has_no_name_among_the_ports_is_a_failed_device() -> None:
    for name in ("UndoFault", "LockHeld", "TEMPORARY_SUFFIX", LockHeld.__name__):
        assert type(failure_from_text(FailedAsText(WORK, "r", name, "/a", "d")).fault) is IoError
