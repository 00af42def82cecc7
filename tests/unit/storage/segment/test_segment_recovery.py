"""The scan after an unclean stop: good batches stay, the rest is cut, and nothing durable is cut in silence."""

import struct
from zlib import crc32

import pytest
from tests.unit.storage.segment_data import (
    DIRECTORY,
    append,
    batch,
    begun,
    contents,
    fill,
    machine,
    new_segment,
    reopened,
)

from tidelog.ports.files import OpenMode
from tidelog.records.patch import assign_offset
from tidelog.sim.files import SimFileSystem
from tidelog.storage.errors import CorruptSegmentError, SegmentOverflowError, UnsupportedSegmentError
from tidelog.storage.segment.facts import RecoveredSegment
from tidelog.storage.segment.recovery import recover_segment
from tidelog.storage.segment.scan import ScannedChunk, scan
from tidelog.storage.segment.segment import IndexSettings, Segment
from tidelog.storage.segment.transaction_index import AbortedTxn

LOG = "00000000000000000000.log"
INDEX = "00000000000000000000.index"
TIME_INDEX = "00000000000000000000.timeindex"


def nothing(chunk: ScannedChunk) -> None:
    """Ignore the chunk: the contents of the batches do not matter here."""


def with_tail(tail: bytes, good: int = 3) -> tuple[SimFileSystem, list[bytes]]:
    """Return a log of good batches with something behind them."""
    fs = machine()
    made = fill(new_segment(fs), good)
    fs.open(f"{DIRECTORY}/{LOG}", OpenMode.WRITE).write_at(len(b"".join(made)), [tail])
    return fs, made


def check_cut(fs: SimFileSystem, made: list[bytes], tail: bytes) -> RecoveredSegment:
    segment = reopened(fs)
    recovered = recover_segment(segment, nothing)
    good = b"".join(made)
    assert recovered[:2] == (len(good), len(tail))
    assert recovered.next_offset == segment.next_offset() == 2 * len(made)
    assert contents(fs, LOG) == good
    assert segment.size_bytes == len(good)
    return recovered


def test_a_good_log_is_left_alone() -> None:
    fs, made = with_tail(b"")
    assert check_cut(fs, made, b"").reason is None


@pytest.mark.parametrize("cut", range(1, 115))
def test_a_batch_cut_at_any_byte_is_dropped(cut: int) -> None:
    tail = batch(6, [1, 2])[:cut]
    fs, made = with_tail(tail)
    assert check_cut(fs, made, tail).reason == "the file ends within a batch"


@pytest.mark.parametrize("size", [1, 16, 17, 61, 400, 5000])
def test_zeros_are_dropped(size: int) -> None:
    fs, made = with_tail(bytes(size))
    assert check_cut(fs, made, bytes(size)).reason is not None


@pytest.mark.parametrize("byte", range(16, 110))
def test_a_flipped_bit_anywhere_under_the_checksum_drops_the_batch_and_what_follows(byte: int) -> None:
    """The bytes before 16 are base offset, length and leader epoch, which no checksum covers."""
    damaged = bytearray(batch(6, [1, 2]))
    damaged[byte] ^= 0x10
    tail = bytes(damaged) + batch(8, [3, 4])
    fs, made = with_tail(tail)
    assert check_cut(fs, made, tail).reason


@pytest.mark.parametrize("base_offset", [-1, 0, 5, 2**63 - 1])
def test_offsets_that_go_back_or_out_of_range_are_dropped(base_offset: int) -> None:
    wrong = bytearray(batch(6, [1, 2]))
    assign_offset(wrong, 0, base_offset, 0)
    fs, made = with_tail(bytes(wrong))
    assert check_cut(fs, made, bytes(wrong)).reason


def test_a_gap_is_no_damage() -> None:
    fs, made = with_tail(batch(1000, [1, 2]))
    assert recover_segment(reopened(fs), nothing) == (len(b"".join(made)) + len(batch(1000, [1, 2])), 0, None, 1002)


def test_an_older_epoch_behind_a_newer_one_is_what_a_lost_truncation_leaves() -> None:
    fs = machine()
    segment = new_segment(fs)
    made = fill(segment, 2, epoch=3) + fill(segment, 1, epoch=5)
    tail = batch(6, [1, 2], epoch=4)
    fs.open(f"{DIRECTORY}/{LOG}", OpenMode.WRITE).write_at(segment.size_bytes, [tail])
    assert check_cut(fs, made, tail).reason == "leader epoch 4 after 5"


def test_batches_without_an_epoch_are_no_older_ones() -> None:
    fs = machine()
    segment = new_segment(fs)
    fill(segment, 1, epoch=3)
    fill(segment, 1, epoch=-1)
    fill(segment, 1, epoch=3)
    assert recover_segment(reopened(fs), nothing).reason is None


def old_message(magic: int, checksum_off: int = 0) -> bytes:
    body = struct.pack(">bb", magic, 0) + (struct.pack(">q", 5) if magic else b"") + struct.pack(">ii", -1, -1)
    message = struct.pack(">I", crc32(body) ^ checksum_off) + body
    return struct.pack(">qi", 6, len(message)) + message


@pytest.mark.parametrize("magic", [0, 1])
def test_whole_messages_of_an_old_format_are_refused_and_not_cut(magic: int) -> None:
    tail = old_message(magic)
    fs, made = with_tail(tail)
    with pytest.raises(UnsupportedSegmentError, match=f"format {magic}") as caught:
        recover_segment(reopened(fs), nothing)
    assert (caught.value.position, caught.value.next_offset) == (len(b"".join(made)), 6)
    assert contents(fs, LOG) == b"".join(made) + tail


@pytest.mark.parametrize("tail", [old_message(0, 1), old_message(1, 1), old_message(1)[:-1]])
def test_what_only_looks_like_an_old_format_is_cut(tail: bytes) -> None:
    fs, made = with_tail(tail)
    assert check_cut(fs, made, tail).reason


def test_damage_below_the_recovery_point_is_reported_and_not_cut() -> None:
    fs, made = with_tail(b"garbage" * 20)
    before = contents(fs, LOG)
    with pytest.raises(CorruptSegmentError) as caught:
        recover_segment(reopened(fs), nothing, recovery_point=7)
    assert (caught.value.position, caught.value.next_offset) == (len(b"".join(made)), 6)
    assert contents(fs, LOG) == before
    assert recover_segment(reopened(fs), nothing, recovery_point=6).truncated_bytes == 140


def test_rot_in_a_base_offset_below_the_recovery_point_is_reported_and_not_cut() -> None:
    """No checksum covers the base offset, and the damaged one is far above the recovery point."""
    fs, made = with_tail(b"")
    before = bytearray(contents(fs, LOG))
    before[len(made[0]) + 6] ^= 0x01  # in the base offset of the second batch
    file = fs.open(f"{DIRECTORY}/{LOG}", OpenMode.WRITE)
    file.write_at(0, [before])
    with pytest.raises(CorruptSegmentError, match="base offset"):
        recover_segment(reopened(fs), nothing, recovery_point=6)
    assert contents(fs, LOG) == before


def test_a_torn_base_offset_behind_the_recovery_point_costs_its_own_batch_alone() -> None:
    """The torn bytes read as a durable offset, but every batch before it follows on its predecessor, so none of those
    can be the damaged one."""
    torn = bytearray(batch(6, [1, 2]))
    torn[:8] = bytes(8)
    fs, made = with_tail(bytes(torn))
    recovered = recover_segment(reopened(fs), nothing, recovery_point=6, allows_gaps=False)
    assert recovered.next_offset == 6
    assert recovered.reason == "base offset 0 where 6 or more was due"
    assert contents(fs, LOG) == b"".join(made)


@pytest.mark.parametrize("allows_gaps", [True, False])
def test_a_base_offset_out_of_the_segments_reach_behind_the_recovery_point_is_torn(allows_gaps: bool) -> None:
    """A compacted log has gaps, but no batch of a segment is out of its reach."""
    torn = bytearray(batch(6, [1, 2]))
    torn[:8] = b"\x31" * 8
    fs, made = with_tail(bytes(torn))
    recovered = recover_segment(reopened(fs), nothing, recovery_point=6, allows_gaps=allows_gaps, is_last=True)
    assert recovered.next_offset == 6
    assert contents(fs, LOG) == b"".join(made)


@pytest.mark.parametrize(("recovery_point", "allows_gaps", "kept"), [(0, True, 4), (0, False, 3), (7, False, 4)])
def test_a_gap_past_the_recovery_point_is_a_torn_base_offset_unless_compaction_makes_gaps(
    recovery_point: int, allows_gaps: bool, kept: int
) -> None:
    fs = machine()
    segment = new_segment(fs)
    made = fill(segment, 3)
    far = batch(100, [1, 1])
    append(segment, far)
    recovered = recover_segment(reopened(fs), nothing, recovery_point, allows_gaps=allows_gaps)
    assert contents(fs, LOG) == b"".join([*made, far][:kept])
    assert recovered.next_offset == (102 if kept == 4 else 6)


def test_the_indexes_come_out_as_they_had_grown() -> None:
    fs = machine()
    segment = new_segment(fs)
    fill(segment, 40)
    segment.seal()
    grown = contents(fs, INDEX), contents(fs, TIME_INDEX)
    assert len(grown[0]) > 100
    for name in (INDEX, TIME_INDEX):
        fs.open(f"{DIRECTORY}/{name}", OpenMode.WRITE).write_at(3, [b"garbage" * 100])
    again = reopened(fs)
    recover_segment(again, nothing)
    assert (contents(fs, INDEX), contents(fs, TIME_INDEX)) == grown
    again.indexes.offset.sanity_check()
    again.indexes.time.sanity_check()


@pytest.mark.parametrize("max_bytes", [24, 36, 40])
def test_an_index_that_is_full_comes_out_full(max_bytes: int) -> None:
    fs = machine()
    settings = IndexSettings(interval_bytes=0, max_bytes=max_bytes)
    segment = new_segment(fs, settings=settings)
    fill(segment, 20)
    segment.seal()
    grown = contents(fs, INDEX), contents(fs, TIME_INDEX)
    recover_segment(reopened(fs, settings=settings), nothing)
    assert (contents(fs, INDEX), contents(fs, TIME_INDEX)) == grown


def test_missing_indexes_are_made() -> None:
    fs, _ = with_tail(b"")
    assert INDEX not in fs.list_directory(DIRECTORY)
    segment = reopened(fs)
    recover_segment(segment, nothing)
    assert fs.list_directory(DIRECTORY) == [INDEX, LOG, TIME_INDEX]
    assert segment.max_timestamp == 1005


def test_the_transaction_index_is_for_whoever_handles_the_batches() -> None:
    fs = machine()
    segment = new_segment(fs)
    fill(segment, 3)
    segment.append_aborted(AbortedTxn(1, 0, 5, 6))
    segment.seal()
    again = reopened(fs)
    recover_segment(again, lambda chunk: again.append_aborted(AbortedTxn(2, 1, 4, 5)))
    assert reopened(fs).indexes.transaction.all() == [AbortedTxn(2, 1, 4, 5)]


def test_recovered_bytes_are_not_taken_for_synced() -> None:
    """Recovered bytes may be in the page cache only, after the death of a process."""
    fs, _ = with_tail(b"")
    segment = reopened(fs)
    assert segment.is_flushed
    recover_segment(segment, nothing)
    assert len(begun(segment)) == 2
    recover_segment(segment, nothing)
    segment.seal()
    assert len(begun(segment)) == 4


def test_appending_goes_on_behind_what_was_good() -> None:
    fs, made = with_tail(b"garbage" * 20)
    segment = reopened(fs)
    recover_segment(segment, nothing)
    made += fill(segment, 10)
    assert contents(fs, LOG) == b"".join(made)


def test_an_offset_too_far_from_the_base_is_an_error_of_its_own() -> None:
    fs = machine()
    segment = new_segment(fs)
    append(segment, batch(0, [1]))
    fs.open(f"{DIRECTORY}/{LOG}", OpenMode.WRITE).write_at(segment.size_bytes, [batch(2**31, [1])])
    with pytest.raises(SegmentOverflowError):
        recover_segment(reopened(fs), nothing)


@pytest.mark.parametrize("chunk_bytes", [61, 100, 250, 1000])
def test_batches_come_once_and_whole_however_small_the_chunks(chunk_bytes: int) -> None:
    fs = machine()
    segment = new_segment(fs)
    fill(segment, 20)
    append(segment, batch(40, [1] * 10, value_bytes=500))
    seen = b""

    def collect(chunk: ScannedChunk) -> None:
        nonlocal seen
        assert chunk.position == len(seen)
        seen += chunk.data[: chunk.batches.end]

    found = scan("log", segment.read, 0, segment.size_bytes, collect, chunk_bytes)
    assert found == (segment.size_bytes, 50, None, 50)
    assert seen == contents(fs, LOG)


def test_an_empty_log_recovers_to_nothing() -> None:
    fs = machine()
    new_segment(fs, base_offset=7)
    segment: Segment = reopened(fs, base_offset=7)
    assert recover_segment(segment, nothing) == (0, 0, None, 7)
