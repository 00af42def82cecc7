"""Writes that are short or fail: an append happens as a whole or not at all, and reports which."""

import pytest
from tests.unit.storage.segment_data import (
    DIRECTORY,
    append,
    batch,
    contents,
    fill,
    machine,
    new_segment,
    reopened,
)

from tidelog.ports.errors import DiskFull, IoError
from tidelog.ports.files import OpenMode
from tidelog.sim.faults import Op
from tidelog.sim.files import SimFileSystem
from tidelog.storage.errors import UndoFault
from tidelog.storage.segment.recovery import recover_segment
from tidelog.storage.segment.segment import IndexSettings, Segment

LOG = "00000000000000000000.log"


def facts(segment: Segment) -> tuple[object, ...]:
    return segment.size_bytes, segment.next_offset(), segment.max_timestamp, segment.indexes.offset.entries


@pytest.mark.parametrize("seed", range(20))
def test_short_writes_are_continued(seed: int) -> None:
    fs = machine(seed, short_write_chance=0.9)
    made = fill(new_segment(fs), 20)
    assert contents(fs, LOG) == b"".join(made)


def test_a_failed_write_leaves_nothing_behind() -> None:
    fs = machine()
    segment = new_segment(fs)
    made = fill(segment, 5)
    before = facts(segment)
    fs.disk("/disk").faults.fail(Op.WRITE)
    with pytest.raises(IoError):
        append(segment, batch(10, [9000]), batch(11, [9001]))
    assert facts(segment) == before
    assert contents(fs, LOG) == b"".join(made)
    made += fill(segment, 5)
    assert contents(fs, LOG) == b"".join(made)


@pytest.mark.parametrize("room", [1, 60, 100, 150])
def test_a_disk_that_fills_up_within_a_write_leaves_nothing_behind(room: int) -> None:
    fs = machine(capacity_bytes=10_000)
    segment = new_segment(fs)
    made = fill(segment, 5)
    ballast = fs.open("/disk/ballast", OpenMode.CREATE)
    ballast.write_at(0, [bytes(fs.space("/disk").usable_bytes - room)])
    before = facts(segment)
    with pytest.raises(DiskFull):
        append(segment, batch(10, [9000]), batch(11, [9001]))
    assert facts(segment) == before
    assert contents(fs, LOG) == b"".join(made)
    ballast.truncate(0)
    made += fill(segment, 5)
    assert contents(fs, LOG) == b"".join(made)


def test_what_was_taken_back_does_not_return_after_a_power_loss() -> None:
    """The part that was written would be a whole batch at the right offset, behind one of the same size."""
    for seed in range(200):
        fs = machine(seed)
        segment = new_segment(fs)
        fill(segment, 2)
        segment.flush()
        refused = [batch(4, [1, 1]), batch(6, [2, 2]), batch(8, [3, 3])]
        cut_write(fs, segment, refused)
        segment.flush()
        append(segment, batch(4, [7, 7]))
        fs.lose_power()
        again = reopened(fs)
        recover_segment(again, lambda chunk: None)
        assert again.next_offset() in (4, 6), f"seed {seed}"


def cut_write(fs: SimFileSystem, segment: Segment, parts: list[bytes]) -> None:
    """Append the batches so that the first write takes two of them, and the second fails."""
    with pytest.MonkeyPatch.context() as patch:
        disk, real = fs.disk("/disk"), fs.disk("/disk").write
        patch.setattr(disk, "write", lambda i, p, data, path: real(i, p, data[: len(parts[0]) + len(parts[1])], path))
        fs.disk("/disk").faults.fail(Op.WRITE, skip=1)
        with pytest.raises(IoError):
            append(segment, *parts)


def test_a_write_that_was_taken_back_has_to_be_synced() -> None:
    fs = machine()
    segment = new_segment(fs)
    fill(segment, 2)
    segment.flush()
    fs.disk("/disk").faults.fail(Op.WRITE)
    with pytest.raises(IoError):
        append(segment, batch(4, [1]))
    assert not segment.is_flushed


def test_a_write_that_can_not_be_taken_back_says_so() -> None:
    fs = machine()
    segment = new_segment(fs)
    fill(segment, 5)
    fs.disk("/disk").faults.fail(Op.WRITE)
    fs.disk("/disk").faults.fail(Op.TRUNCATE)
    with pytest.raises(UndoFault, match="truncating back failed") as caught:
        append(segment, batch(10, [9000]))
    assert "(write)" in caught.value.cause.detail
    assert "(truncate)" in caught.value.undo.detail


def test_a_fault_of_an_index_comes_before_the_log_is_written() -> None:
    fs = machine()
    segment = new_segment(fs, settings=IndexSettings(interval_bytes=0, max_bytes=1 << 20))
    fill(segment, 513, first_offset=0, records=1)
    assert segment.indexes.offset.wants_flush
    fs.disk("/disk").faults.fail(Op.WRITE)
    before = facts(segment)
    with pytest.raises(IoError, match="index"):
        append(segment, batch(513, [9000]))
    assert facts(segment) == before
    append(segment, batch(513, [9000]))
    assert segment.next_offset() == 514


def test_a_failed_sync_is_not_forgotten_by_the_segment() -> None:
    fs = machine()
    segment = new_segment(fs)
    fill(segment, 1)
    fs.disk("/disk").faults.fail(Op.SYNC)
    with pytest.raises(IoError):
        segment.flush()
    assert not segment.is_flushed


def test_a_failed_sync_of_the_directory_is_not_forgotten_either() -> None:
    fs = machine()
    segment = new_segment(fs)
    fs.disk("/disk").faults.fail(Op.SYNC_DIRECTORY, DIRECTORY)
    with pytest.raises(IoError):
        segment.flush()
    assert not segment.is_flushed
