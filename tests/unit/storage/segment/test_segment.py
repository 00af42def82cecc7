"""A segment without faults: appended batches are found, by offset and by time; and the calls that a log makes."""

import pytest
from tests.unit.storage.segment_data import (
    DIRECTORY,
    SETTINGS,
    append,
    batch,
    begun,
    contents,
    described,
    few_descriptors,
    fill,
    machine,
    new_segment,
    reopened,
)

from tidelog.ports.errors import AlreadyExists, NotFound
from tidelog.ports.files import OpenMode
from tidelog.records.batch import read_batch
from tidelog.records.builder import BatchOptions
from tidelog.records.compression import CompressionType
from tidelog.storage.errors import CorruptSegmentError, SegmentOverflowError
from tidelog.storage.segment.segment import IndexSettings, Segment
from tidelog.storage.segment.transaction_index import AbortedTxn

LOG = "00000000000000000000.log"


def sizes(made: list[bytes]) -> list[int]:
    return [len(each) for each in made]


def test_the_log_is_the_batches_one_after_another() -> None:
    fs = machine()
    made = fill(new_segment(fs), 3)
    assert contents(fs, LOG) == b"".join(made)


def test_pieces_need_not_be_whole_batches() -> None:
    fs = machine()
    data = batch(0, [1, 2]) + batch(2, [3])
    new_segment(fs).append([data[:5], memoryview(data)[5:]], described(data))
    assert contents(fs, LOG) == data


def test_an_existing_log_is_not_created_again() -> None:
    fs = machine()
    fill(new_segment(fs), 1)
    with pytest.raises(AlreadyExists):
        new_segment(fs)
    assert len(contents(fs, LOG)) > 0


def test_left_over_indexes_do_not_become_those_of_a_new_segment() -> None:
    fs = machine()
    for kind in (".index", ".timeindex", ".txnindex"):
        fs.open(f"{DIRECTORY}/00000000000000000000{kind}", OpenMode.CREATE).write_at(0, [b"\1" * 408])
    segment = new_segment(fs)
    assert (segment.indexes.offset.entries, segment.max_timestamp, segment.collect_aborted(0, 99)) == (
        0,
        -1,
        ([], False),
    )


def test_what_is_not_there_can_not_be_opened() -> None:
    with pytest.raises(NotFound):
        reopened(machine())


# Locating


@pytest.mark.parametrize("offset", range(20))
def test_a_read_starts_with_the_batch_that_holds_the_offset(offset: int) -> None:
    segment = new_segment(machine())
    made = fill(segment, 10)
    located = segment.locate(offset, 1)
    assert located is not None
    assert located.base_offset == offset // 2 * 2
    assert segment.read(located.position, located.size) == made[offset // 2]


def test_a_read_past_the_end_finds_nothing() -> None:
    segment = new_segment(machine())
    assert segment.locate(0, 100) is None
    fill(segment, 10)
    assert segment.locate(20, 100) is None


def test_a_gap_is_read_over() -> None:
    segment = new_segment(machine())
    append(segment, batch(0, [1]))
    append(segment, batch(50, [1]))
    located = segment.locate(10, 1)
    assert located is not None
    assert located.base_offset == 50


@pytest.mark.parametrize("start", [0, 3])
@pytest.mark.parametrize("whole", [1, 2, 5])
@pytest.mark.parametrize("more", [0, 1, 50])
def test_a_read_is_of_whole_batches_and_as_many_as_fit(start: int, whole: int, more: int) -> None:
    segment = new_segment(machine())
    made = fill(segment, 10)
    wanted = made[start : start + whole]
    located = segment.locate(2 * start, sum(sizes(wanted)) + more)
    assert located is not None
    assert segment.read(located.position, located.size) == b"".join(wanted)


def test_the_first_batch_comes_whole_however_large_it_is() -> None:
    segment = new_segment(machine())
    made = fill(segment, 3)
    located = segment.locate(2, 0)
    assert located is not None
    assert located.size == len(made[1])


def test_the_first_batch_does_not_come_where_there_is_no_room_and_none_is_asked_for() -> None:
    segment = new_segment(machine())
    made = fill(segment, 3)
    located = segment.locate(2, len(made[1]) - 1, min_one_batch=False)
    assert located is not None
    assert (located.position, located.size) == (len(made[0]), 0)
    enough = segment.locate(2, len(made[1]), min_one_batch=False)
    assert enough is not None
    assert enough.size == len(made[1])


def test_nothing_past_the_last_position_is_read() -> None:
    segment = new_segment(machine())
    made = fill(segment, 10)
    end = sum(sizes(made[:4]))
    located = segment.locate(4, 10_000, end)
    assert located is not None
    assert located.position + located.size == end
    beyond = segment.locate(8, 10_000, end)
    assert beyond is not None
    assert (beyond.position, beyond.size) == (end, 0)


def test_a_range_sends_the_same_bytes_whatever_happens_to_the_segment() -> None:
    segment = new_segment(machine())
    made = fill(segment, 4)
    sending = segment.file_range(len(made[0]), len(made[1]))
    segment.change_suffix(".deleted")
    segment.delete()
    assert sending.read(1 << 20) == made[1]
    sending.release()


def test_a_walk_over_damage_says_so_and_ends() -> None:
    fs = machine()
    made = fill(new_segment(fs, settings=IndexSettings(1 << 20, 1 << 20)), 5)
    fs.open(f"{DIRECTORY}/{LOG}", OpenMode.WRITE).write_at(len(made[0]) + 8, [b"\xff\xff\xff\xff"])
    with pytest.raises(CorruptSegmentError) as caught:
        reopened(fs).locate(8, 1)
    assert caught.value.position == len(made[0])


# Index entries


def test_an_entry_comes_with_the_first_batch_after_the_interval() -> None:
    segment = new_segment(machine(), settings=IndexSettings(interval_bytes=200, max_bytes=1 << 20))
    made = fill(segment, 6)  # each of some 120 bytes
    assert all(101 <= size <= 199 for size in sizes(made))
    offset = segment.indexes.offset
    # Two batches pass 200 bytes, so the third has an entry: its last offset, and where it starts.
    assert [offset.entry(slot) for slot in range(offset.entries)] == [(5, 2 * len(made[0])), (9, 4 * len(made[0]))]


def test_a_full_index_gets_no_more_entries_and_lookups_stay_right() -> None:
    segment = new_segment(machine(), settings=IndexSettings(interval_bytes=0, max_bytes=24))
    made = fill(segment, 20)
    assert segment.indexes.is_full
    assert segment.indexes.offset.entries == 3
    located = segment.locate(37, 1)
    assert located is not None
    assert segment.read(located.position, located.size) == made[18]


def test_entries_beyond_what_waits_in_memory_are_in_the_file() -> None:
    fs = machine()
    segment = new_segment(fs, settings=IndexSettings(interval_bytes=0, max_bytes=1 << 20))
    fill(segment, 600, first_offset=0, records=1)
    assert len(contents(fs, "00000000000000000000.index")) >= 4096
    assert segment.indexes.offset.entries == 599
    assert segment.next_offset() == 600


# Overflow


def test_an_offset_beyond_32_bits_of_the_base_is_refused_before_anything_is_written() -> None:
    fs = machine()
    segment = new_segment(fs)
    append(segment, batch(2**31 - 1, [5]))
    assert segment.can_hold(2**31 - 1)
    assert not segment.can_hold(2**31)
    with pytest.raises(SegmentOverflowError):
        append(segment, batch(2**31, [6]))
    assert (segment.size_bytes, segment.next_offset()) == (len(contents(fs, LOG)), 2**31)
    assert not segment.room(0, 1 << 30, 1 << 40).takes(1, 2**31, 0)


def test_a_position_beyond_32_bits_is_refused_before_anything_is_written() -> None:
    fs = machine()
    segment = new_segment(fs)
    append(segment, batch(0, [5]))
    claimed = described(batch(1, [6]))
    claimed[0].size_bytes = 2**31
    with pytest.raises(SegmentOverflowError):
        segment.append([b"x"], claimed)


# Rolling


def test_rolling_by_size() -> None:
    segment = new_segment(machine())
    made = fill(segment, 2)
    room = 1000 - sum(sizes(made))
    assert segment.room(0, 1000, 10**9).takes(room, 4, 1002)
    assert not segment.room(0, 1000, 10**9).takes(room + 1, 4, 1002)


def test_rolling_by_the_records_time_with_jitter() -> None:
    segment = new_segment(machine())
    append(segment, batch(0, [1000, 1700]))
    segment.roll_jitter_ms = 100
    assert segment.room(10**12, 10**6, 1000).takes(1, 9, 1700 + 900)
    assert not segment.room(10**12, 10**6, 1000).takes(1, 9, 1700 + 901)


def test_rolling_by_the_clock_where_records_have_no_time() -> None:
    fs = machine()
    segment = Segment.create(few_descriptors(fs), DIRECTORY, 0, SETTINGS, 5000)
    append(segment, batch(0, [-1]))
    assert segment.room(6000, 10**6, 1000).takes(1, 9, -1)
    assert not segment.room(6001, 10**6, 1000).takes(1, 9, -1)


def test_an_empty_segment_is_never_too_old() -> None:
    assert new_segment(machine()).room(10**15, 10**6, 1).takes(1, 0, 10**15)


def test_the_first_timestamp_is_read_back() -> None:
    fs = machine()
    append(new_segment(fs), batch(0, [1000, 1700]))
    assert reopened(fs).first_timestamp() == 1700
    assert not reopened(fs).room(0, 10**6, 1000).takes(1, 9, 2701)


def test_rolling_for_want_of_room_in_the_time_index() -> None:
    segment = new_segment(machine(), settings=IndexSettings(interval_bytes=0, max_bytes=36))
    fill(segment, 4)
    assert not segment.room(0, 10**6, 10**9).takes(1, 9, 0)


# Time


def test_the_first_record_not_before_a_time_is_found_inside_its_batch() -> None:
    segment = new_segment(machine())
    fill(segment, 10)  # offset n has timestamp 1000 + n
    for timestamp in (0, 1000, 1001, 1007, 1019):
        found = segment.find_by_timestamp(timestamp, 0)
        assert found == (max(timestamp, 1000), max(timestamp, 1000) - 1000, 0)
    assert segment.find_by_timestamp(1020, 0) is None


@pytest.mark.parametrize("codec", list(CompressionType))
def test_a_compressed_batch_is_inflated_for_it(codec: CompressionType) -> None:
    segment = new_segment(machine())
    options = BatchOptions(compression=codec, partition_leader_epoch=7)
    append(segment, batch(0, [10, 30, 20, 40], options=options))
    assert segment.find_by_timestamp(15, 0) == (30, 1, 7)
    assert segment.find_by_timestamp(15, 2) == (20, 2, 7)
    assert segment.find_by_timestamp(35, 0) == (40, 3, 7)


def test_times_out_of_order_are_found_where_they_come_first() -> None:
    segment = new_segment(machine())
    for offset, timestamp in enumerate([50, 10, 90, 20, 90, 95, 30] * 5):
        append(segment, batch(offset, [timestamp]))
    assert segment.find_by_timestamp(60, 0) == (90, 2, 0)
    assert segment.find_by_timestamp(91, 0) == (95, 5, 0)
    assert segment.find_by_timestamp(91, 6) == (95, 12, 0)
    assert segment.find_by_timestamp(96, 0) is None


def test_under_log_append_time_every_record_has_the_batchs() -> None:
    segment = new_segment(machine())
    append(segment, batch(0, [1, 2, 3], options=BatchOptions(log_append_time=500)))
    assert segment.find_by_timestamp(400, 1) == (500, 1, -1)


def test_the_largest_timestamp_is_the_last_entry_of_a_sealed_segment() -> None:
    fs = machine()
    segment = new_segment(fs)
    for offset, timestamp in enumerate([50, 99, 20]):
        append(segment, batch(offset, [timestamp]))
    segment.seal()
    assert reopened(fs).indexes.time.last_entry() == (99, 1)
    assert reopened(fs).largest_timestamp() == 99


def test_without_timestamps_the_files_time_counts() -> None:
    fs = machine()
    segment = new_segment(fs)
    append(segment, batch(0, [-1]))
    assert segment.max_timestamp == -1
    assert segment.largest_timestamp() == fs.stat(segment.path).modified_ms


# Truncating


@pytest.mark.parametrize("offset", range(22))
def test_truncation_takes_the_batches_that_reach_the_offset(offset: int) -> None:
    fs = machine()
    segment = new_segment(fs)
    made = fill(segment, 10)
    segment.append_aborted(AbortedTxn(1, 3, 11, 12))
    segment.seal()
    kept = made[: offset // 2]
    assert segment.truncate_to(offset) == sum(sizes(made)) - sum(sizes(kept))
    assert contents(fs, LOG) == b"".join(kept)
    assert segment.next_offset() == min(20, offset // 2 * 2)
    assert segment.max_timestamp == (999 + 2 * len(kept) if kept else -1)
    assert bool(segment.collect_aborted(0, 99)[0]) == (offset > 11)
    again = fill(segment, 5, epoch=1)
    assert contents(fs, LOG) == b"".join(kept + again)
    segment.seal()
    assert_indexes_lead_right(segment)


def assert_indexes_lead_right(segment: Segment) -> None:
    """Check that lookups by the indexes find what a fresh walk of the log finds."""
    position = 0
    data = segment.read(0, segment.size_bytes)
    while position < len(data):
        found = read_batch(data, position)
        assert found is not None
        assert segment.position_of(found.header.last_offset) == position
        first = segment.find_by_timestamp(found.header.max_timestamp, 0)
        assert first is not None
        assert first.offset <= found.header.last_offset
        position += found.header.size_bytes


# Names, flushing, closing


def test_a_closed_segment_holds_no_file_and_opens_by_itself() -> None:
    segment = new_segment(machine())
    made = fill(segment, 5)
    segment.close()
    assert len(segment._files.descriptors) == 0
    assert segment.read(0, len(made[0])) == made[0]


def test_all_files_are_renamed_and_deleted_together() -> None:
    fs = machine()
    segment = new_segment(fs)
    fill(segment, 5)
    segment.append_aborted(AbortedTxn(1, 3, 9, 10))
    segment.seal()
    kinds = [".index", ".log", ".timeindex", ".txnindex"]
    assert fs.list_directory(DIRECTORY) == [f"00000000000000000000{kind}" for kind in kinds]
    segment.change_suffix(".deleted")
    assert fs.list_directory(DIRECTORY) == [f"00000000000000000000{kind}.deleted" for kind in kinds]
    assert segment.locate(3, 1) is not None
    segment.delete()
    assert fs.list_directory(DIRECTORY) == []
    segment.delete()


def test_a_rename_does_not_leave_another_segments_index_under_the_new_name() -> None:
    fs = machine()
    segment = new_segment(fs)
    fill(segment, 2)
    segment.seal()
    fs.open(f"{DIRECTORY}/00000000000000000000.txnindex.swap", OpenMode.CREATE).write_at(0, [bytes(34)])
    segment.change_suffix(".swap")
    assert segment.collect_aborted(0, 99) == ([], False)


def test_a_moved_directory_is_told_once() -> None:
    fs = machine()
    segment = new_segment(fs)
    made = fill(segment, 5)
    fs.rename(DIRECTORY, "/disk/t-0.0-delete")
    segment.directory_renamed("/disk/t-0.0-delete")
    assert segment.read(0, len(made[0])) == made[0]
    segment.close()
    assert "00000000000000000000.index" in fs.list_directory("/disk/t-0.0-delete")


def test_flushing_syncs_the_log_and_after_sealing_the_indexes() -> None:
    fs = machine()
    segment = new_segment(fs)
    fill(segment, 5)
    segment.append_aborted(AbortedTxn(1, 3, 9, 10))
    assert len(begun(segment)) == 2  # the log, and the directory that has its name
    assert begun(segment) == []
    fill(segment, 1)
    assert len(begun(segment)) == 1
    assert segment.is_flushed
    segment.seal()
    assert len(begun(segment)) == 4  # three indexes, and the directory
    assert begun(segment) == []
    with pytest.raises(AssertionError, match="after seal"):
        fill(segment, 1)


def test_closing_an_untouched_segment_writes_nothing() -> None:
    fs = machine()
    segment = new_segment(fs)
    fill(segment, 5)
    segment.close()
    before = fs.trace.count
    reopened(fs).close()
    assert fs.trace.count == before


def test_a_closed_segment_goes_on_after_reopening() -> None:
    fs = machine()
    segment = new_segment(fs)
    made = fill(segment, 7)
    segment.close()
    segment = reopened(fs)
    assert (segment.next_offset(), segment.max_timestamp) == (14, 1013)
    made += fill(segment, 7)
    segment.seal()
    assert contents(fs, LOG) == b"".join(made)
    assert reopened(fs).max_timestamp == 1027
