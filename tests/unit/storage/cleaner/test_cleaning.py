"""Compaction, rule by rule. The property tests compare whole logs with a twin; here each rule fails by name."""

import pickle
from collections.abc import Sequence

import pytest
from tests.unit.storage.cleaner.toylog import DIRECTORY, ToyLog, read_file, settings, state_of

from tidelog.ports.errors import IoError
from tidelog.records.compression import CompressionType
from tidelog.records.header import TimestampType
from tidelog.records.record import Record
from tidelog.sim.faults import Op
from tidelog.storage.cleaner.cleaning import clean_log
from tidelog.storage.cleaner.job import BytesMoved, CleanedSegment, SegmentFacts
from tidelog.storage.errors import CorruptSegmentError
from tidelog.storage.segment.segment import Segment

RETENTION_MS = 1000


def offsets(records: Sequence[Record]) -> list[int]:
    return [record.offset for record in records]


def test_the_last_record_of_each_key_stays_as_it_was() -> None:
    log = ToyLog()
    log.data([(b"a", b"1"), (b"b", b"1"), (b"a", b"2")])
    log.roll()
    log.data([(b"c", b"1"), (b"b", b"2")])
    log.roll()
    before = {record.offset: record for record in log.records()}
    result = log.clean()
    assert log.records() == [before[offset] for offset in (2, 3, 4)]
    assert result.end_offset == 5
    assert (result.stats.records_read, result.stats.records_kept) == (5, 3)
    assert result.stats.bytes_reclaimed > 0


def test_the_active_segment_counts_for_nothing() -> None:
    log = ToyLog()
    log.data([(b"a", b"1")])
    log.roll()
    log.data([(b"a", b"2")])
    log.clean()
    assert offsets(log.records()) == [0, 1]


def test_a_batch_of_which_everything_stays_is_copied_byte_for_byte() -> None:
    log = ToyLog()
    log.data([(b"a", b"1"), (b"b", b"1")], codec=CompressionType.ZSTD)
    log.roll()
    before = read_file(log.fs, log.path(0))
    log.clean()
    assert read_file(log.fs, log.path(0)) == before


def test_ranges_of_offsets_and_sequences_survive_their_first_and_last_record() -> None:
    log = ToyLog()
    log.data([(b"a", b"1"), (b"b", b"1"), (b"c", b"1")], producer=5)
    log.data([(b"a", b"2"), (b"c", b"2")], producer=5)
    log.roll()
    log.clean()
    first = log.batches()[0].header
    assert (first.base_offset, first.last_offset, first.base_sequence, first.last_sequence) == (0, 2, 0, 2)
    assert (first.records_count, first.partition_leader_epoch) == (1, 3)


def test_the_max_timestamp_is_that_of_what_stayed() -> None:
    log = ToyLog()
    log.data([(b"a", b"1"), (b"b", b"1")])
    log.data([(b"b", b"2")])
    log.roll()
    log.clean()
    batch = log.batches()[0]
    assert batch.header.max_timestamp == next(batch.records()).timestamp


def test_log_append_time_stays() -> None:
    log = ToyLog()
    log.data([(b"a", b"1"), (b"b", b"1"), (b"t", None)], log_append_time=777)
    log.data([(b"b", b"2")])
    log.roll()
    log.clean()
    batch = log.batches()[0]
    assert batch.header.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert [record.timestamp for record in batch.records()] == [777, 777]


def test_records_without_a_key_go() -> None:
    log = ToyLog()
    log.data([(None, b"1"), (b"b", b"1")])
    log.roll()
    assert log.clean().stats.keyless_records == 1
    assert offsets(log.records()) == [1]


def test_a_tombstone_goes_when_its_horizon_has_passed() -> None:
    log = ToyLog()
    log.data([(b"a", b"1"), (b"a", None), (b"b", b"1")])
    log.roll()
    first = log.now_ms
    log.clean(first)
    assert offsets(log.records()) == [1, 2]
    assert log.batches()[0].header.delete_horizon_ms == first + RETENTION_MS
    log.clean(first + RETENTION_MS - 1)
    assert offsets(log.records()) == [1, 2]
    assert log.batches()[0].header.delete_horizon_ms == first + RETENTION_MS, "the horizon is set once"
    log.clean(first + RETENTION_MS)
    assert offsets(log.records()) == [2]


@pytest.mark.parametrize("codec", list(CompressionType))
def test_a_horizon_changes_no_timestamp(codec: CompressionType) -> None:
    log = ToyLog()
    log.data([(b"a", b"x" * 100), (b"b", None), (b"c", b"1"), (b"a", b"2")], codec=codec)
    log.roll()
    before = {record.offset: record for record in log.records()}
    log.clean()
    assert log.records() == [before[offset] for offset in (1, 2, 3)]
    assert log.batches()[0].compression is codec


def test_a_retention_without_end_is_no_overflow() -> None:
    log = ToyLog()
    log.data([(b"a", None), (b"b", b"1")])
    log.roll()
    before = log.records()
    log.clean(cleaner=settings(delete_retention_ms=2**63 - 1))
    assert log.records() == before
    log.clean(now_ms=2**60)
    assert log.records() == before


def test_the_last_tombstone_of_what_is_cleaned_outlives_its_horizon() -> None:
    log = ToyLog()
    log.data([(b"a", b"1"), (b"b", None), (b"a", None)])
    log.roll()
    log.clean(log.now_ms)
    log.clean(log.now_ms + 10 * RETENTION_MS)
    assert offsets(log.records()) == [2]


def test_a_tombstone_beyond_the_table_gets_no_horizon_yet() -> None:
    """The record that it deletes is still there, and may be read for the first time long after."""
    log = ToyLog()
    log.data([(b"a", b"1"), (b"b", b"1")])
    log.data([(b"c", b"1"), (b"a", None), (b"d", b"1")])
    log.roll()
    result = log.clean(cleaner=settings(dedupe_buffer_bytes=72))
    assert result.end_offset < 5
    assert all(batch.header.delete_horizon_ms is None for batch in log.batches())
    assert 0 in offsets(log.records())


def test_the_end_of_what_was_cleaned_stays_known() -> None:
    log = ToyLog()
    log.data([(b"a", b"1")])
    log.data([(b"a", b"aborted")], producer=1, transactional=True)
    log.roll()
    log.marker(1, committed=False)
    log.clean(producers={})
    headers = [batch.header for batch in log.batches()]
    assert [(header.last_offset, header.records_count) for header in headers] == [(0, 1), (1, 0), (2, 1)]


def test_several_passes_when_the_table_is_small() -> None:
    log = ToyLog()
    for round_ in range(3):
        for key in range(6):
            log.data([(b"%d" % key, b"%d" % round_), (b"x", b"%d" % (10 * round_ + key))])
        log.roll()
    expected = state_of(log.records())
    small = settings(dedupe_buffer_bytes=100)
    passes = 0
    while log.first_dirty_offset < log.cleanable_end():
        before = log.first_dirty_offset
        log.clean(cleaner=small)
        passes += 1
        assert log.first_dirty_offset > before
        assert state_of(log.records()) == expected
    assert passes > 2
    assert len(log.records()) == len(expected)


def test_small_segments_become_one() -> None:
    log = ToyLog()
    for key in range(6):
        log.data([(b"%d" % key, b"x" * 50)])
        log.roll()
    size = log.facts(100)[0].size_bytes
    log.clean(cleaner=settings(segment_bytes_max=3 * size))
    assert log.base_offsets == [0, 3, 6]
    assert offsets(log.records()) == list(range(6))


def test_a_batch_larger_than_the_buffer_is_read() -> None:
    log = ToyLog()
    log.data([(b"a", b"x" * 5000), (b"a", b"y" * 5000), (b"b", b"1")])
    log.roll()
    log.clean(cleaner=settings(io_buffer_bytes=100))
    assert offsets(log.records()) == [1, 2]


def test_the_new_segment_can_be_searched() -> None:
    log = ToyLog()
    for round_ in range(20):
        log.data([(b"%d" % round_, b"x" * 40), (b"same", b"%d" % round_)])
    log.roll()
    log.clean()
    segment = Segment.open(log.descriptors, DIRECTORY, 0, settings().index)
    assert segment.next_offset() == 40
    for record in log.records():
        located = segment.locate(record.offset, 1)
        assert located is not None
        assert located.base_offset <= record.offset
    last = log.records()[-1]
    found = segment.find_by_timestamp(last.timestamp, 0)
    assert found is not None
    assert found.offset == last.offset


def test_damage_is_never_given_a_new_checksum() -> None:
    log = ToyLog()
    log.data([(b"a", b"1"), (b"b", b"1")])
    log.data([(b"a", b"2")])
    log.roll()
    names = log.fs.list_directory(DIRECTORY)
    size = log.facts(100)[0].size_bytes
    log.fs.rot(log.path(0), [8 * (size - 1)])
    with pytest.raises(CorruptSegmentError) as caught:
        log.clean()
    assert caught.value.path == log.path(0)
    assert caught.value.position > 0
    assert log.fs.list_directory(DIRECTORY) == names


def test_a_segment_that_ends_within_a_batch_is_damaged() -> None:
    log = ToyLog()
    log.data([(b"a", b"1")])
    log.roll()
    job = log.job(0, settings())
    job.segments = [job.segments[0]._replace(size_bytes=job.segments[0].size_bytes - 1)]
    with pytest.raises(CorruptSegmentError, match="within a batch"):
        list(clean_log(log.fs, job))


def test_an_aborted_job_leaves_nothing_behind() -> None:
    log = ToyLog()
    log.data([(b"a", b"1")])
    log.data([(b"b", b"x" * 600)])
    log.roll()
    names = log.fs.list_directory(DIRECTORY)
    steps = clean_log(log.fs, log.job(log.now_ms, settings()))
    while not any(name.endswith(".cleaned") for name in log.fs.list_directory(DIRECTORY)):
        assert isinstance(next(steps), BytesMoved)
    steps.close()
    assert log.fs.list_directory(DIRECTORY) == names


def test_a_full_disk_leaves_nothing_behind() -> None:
    log = ToyLog()
    log.data([(b"a", b"1")])
    log.roll()
    names = log.fs.list_directory(DIRECTORY)
    log.fs.disk("/disk").faults.fail(Op.WRITE, DIRECTORY)
    with pytest.raises(IoError):
        log.clean()
    assert log.fs.list_directory(DIRECTORY) == names
    log.fs.disk("/disk").faults.heal()
    assert log.clean().end_offset == 1


def test_what_died_before_does_not_stand_in_the_way() -> None:
    log = ToyLog()
    log.data([(b"a", b"1"), (b"a", b"2")])
    log.roll()
    first = clean_log(log.fs, log.job(log.now_ms, settings()))
    while not isinstance(next(first), CleanedSegment):
        pass
    log.clean()
    assert offsets(log.records()) == [1]


def test_a_job_travels_between_processes() -> None:
    log = ToyLog()
    log.data([(b"a", b"1")], producer=1, transactional=True)
    log.marker(1, committed=False)
    log.roll()
    job = log.job(log.now_ms, settings())
    copy = pickle.loads(pickle.dumps(job))
    assert copy == job
    for step in clean_log(log.fs, copy):
        assert pickle.loads(pickle.dumps(step)) == step


def test_a_log_without_closed_segments_is_clean() -> None:
    log = ToyLog()
    log.data([(b"a", b"1"), (b"a", b"2")])
    assert log.clean().end_offset == 0
    assert offsets(log.records()) == [0, 1]


def test_empty_segments_are_passed_over() -> None:
    log = ToyLog()
    log.data([(b"a", b"1"), (b"a", b"2")])
    log.roll()
    job = log.job(log.now_ms, settings())
    Segment.create(log.descriptors, DIRECTORY, 1).seal()
    job.segments = [job.segments[0], SegmentFacts(1, 0)]
    found = [step for step in clean_log(log.fs, job) if isinstance(step, CleanedSegment)]
    assert [segment.replaced for segment in found] == [(0, 1)]
    job.segments = [SegmentFacts(1, 0)]
    assert list(clean_log(log.fs, job)) == []


def test_every_buffer_is_accounted_for() -> None:
    log = ToyLog()
    log.data([(b"a", b"1"), (b"a", b"2")])
    log.roll()
    moved = [step for step in clean_log(log.fs, log.job(log.now_ms, settings())) if isinstance(step, BytesMoved)]
    size = log.facts(100)[0].size_bytes
    assert [step.read for step in moved] == [size, size]
    assert moved[0].written == 0 < moved[1].written < size


def test_the_new_segment_is_as_old_as_its_latest_source() -> None:
    """Retention by time would otherwise begin anew with every cleaning, where records have no timestamps."""
    log = ToyLog()
    for base, modified_ms in ((0, 5_000), (1, 7_000), (2, 6_000)):
        log.data([(b"k", b"v")])
        log.roll()
        log.fs.set_modified(log.path(base), modified_ms)
    log.clean()
    log.fs.lose_power()
    assert log.fs.stat(log.path(0)).modified_ms == 7_000
