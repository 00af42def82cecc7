"""Which log is cleaned when; how a failed cleaning is handled; and what ends a cleaning early."""

from typing import Any

import pytest
from tests.sim.broker import T0
from tests.sim.cleaned_broker import CLEANER, COMPACTED, CleanedBroker, latest, names, stored

from tidelog.config.topic_config import TopicConfig
from tidelog.model.ids import TopicPartition
from tidelog.ports.errors import DiskFull, IoError
from tidelog.ports.files import Completion
from tidelog.sim.clock import SimClock
from tidelog.sim.disk import DiskSettings
from tidelog.sim.faults import Op
from tidelog.sim.files import SimFileSystem
from tidelog.storage.checkpoints.text import read_offsets, write_offsets
from tidelog.storage.cleaner.cleaner_config import CleanerConfig
from tidelog.storage.cleaner.job import CleanedSegment

T1, T2 = TopicPartition("t", 1), TopicPartition("u", 0)
CHECKPOINT = "/disk/logs/cleaner-offset-checkpoint"


def broker(config: TopicConfig = COMPACTED, cleaner: CleanerConfig = CLEANER, **options: Any) -> CleanedBroker:
    clock = SimClock()
    fs = SimFileSystem(clock, 1, {"/disk": DiskSettings(), "/other": DiskSettings()})
    return CleanedBroker(fs, clock, config=config, cleaner=cleaner, **options).start()


def turns_until_cleaning(node: CleanedBroker) -> None:
    for _ in range(50):
        if node.cleaner.in_progress:
            return
        node.turn()
    raise AssertionError("nothing is being cleaned")


def is_clean(node: CleanedBroker, partition: TopicPartition = T0) -> bool:
    """Tell whether each key is there once below the active segment."""
    log = node.log(partition)
    keys = [each.key for each in stored(log) if each.offset < log.segments.active.base_offset]
    return len(keys) == len(set(keys))


def test_a_dirty_log_is_cleaned_and_nothing_of_value_goes() -> None:
    node = broker()
    node.fill()
    before, count = latest(stored(node.log())), len(stored(node.log()))
    node.clean()
    assert is_clean(node)
    assert latest(stored(node.log())) == before
    assert len(stored(node.log())) < count
    assert read_offsets(node.fs, CHECKPOINT) == {T0: node.log().segments.active.base_offset}
    assert not names(node, ".cleaned") + names(node, ".swap")
    metrics = node.cleaner.metrics(node.now)
    assert metrics.cleanings == 1
    assert metrics.bytes_reclaimed > 0
    assert metrics.bytes_moved > metrics.bytes_reclaimed
    assert 0 < metrics.cleaner_recopy_percent < 100
    assert metrics.max_buffer_utilization_percent > 0


def test_what_was_cleaned_stays_clean_over_a_restart() -> None:
    node = broker()
    node.fill()
    node.clean()
    before = stored(node.log())
    node.stop()
    again = CleanedBroker(node.fs, node.clock).start()
    assert stored(again.log()) == before
    again.clean()
    assert again.cleaner.counts.cleanings == 0


def test_a_log_is_read_while_its_segments_are_swapped() -> None:
    node = broker()
    node.fill()
    before, swaps = latest(stored(node.log())), 0
    for _ in range(300):
        node.turn()
        swaps += node.log().swap is not None
        assert latest(stored(node.log())) == before
    assert swaps > 3
    assert is_clean(node)


def test_only_compacted_logs_are_cleaned() -> None:
    node = broker(config=COMPACTED)
    node.fill()
    node.set_config(cleanup_policy=("delete",))
    count = len(stored(node.log()))
    node.clean()
    assert len(stored(node.log())) == count
    node.set_config(cleanup_policy=("delete", "compact"))
    node.clean()
    assert is_clean(node)


def test_nothing_is_cleaned_before_the_checkpoint_of_the_recovery_point_covers_it() -> None:
    node = broker()
    node.fill()
    node.put([(b"k0", b"new")])
    node.log().roll(node.now)
    node.flush()
    node.clean()
    assert node.cleaner.counts.cleanings == 1
    assert len([each for each in stored(node.log()) if each.key == b"k0"]) == 2
    node.checkpoint()
    node.clean()
    assert node.cleaner.counts.cleanings == 2
    assert [each.value for each in stored(node.log()) if each.key == b"k0"] == [b"new"]


def test_no_more_jobs_than_workers_and_the_filthiest_first() -> None:
    node = broker(cleaner=CleanerConfig(threads=2, dedupe_buffer_bytes=1 << 16, io_buffer_bytes=256, backoff_ms=40))
    for partition, batches in ((T0, 4), (T1, 12), (T2, 8)):
        node.fill(partition, batches=batches)
    node.clean()
    for partition in (T0, T1, T2):
        assert is_clean(node, partition)
        node.fill(partition, batches={T0: 4, T1: 12, T2: 8}[partition])
    turns_until_cleaning(node)
    assert sorted(node.cleaner.in_progress) == [T1, T2]
    seen = set()
    for _ in range(200):
        seen.add(len(node.cleaner.in_progress))
        node.turn()
    assert max(seen) == 2
    assert all(is_clean(node, each) for each in (T0, T1, T2))


def test_each_worker_has_its_share_of_the_broker_s_buffers() -> None:
    config = CleanerConfig(threads=4, dedupe_buffer_bytes=4000, io_buffer_bytes=800, io_bytes_per_second_max=100.0)
    settings = config.settings_for(COMPACTED)
    assert (settings.dedupe_buffer_bytes, settings.io_buffer_bytes, settings.io_bytes_per_second) == (1000, 200, 25.0)


def test_several_passes_where_the_keys_do_not_fit() -> None:
    node = broker(cleaner=CleanerConfig(dedupe_buffer_bytes=150, io_buffer_bytes=256, backoff_ms=40))
    node.fill(keys=9)
    before = latest(stored(node.log()))
    node.clean()
    assert node.cleaner.counts.cleanings > 1
    assert latest(stored(node.log())) == before
    assert read_offsets(node.fs, CHECKPOINT) == {T0: node.log().segments.active.base_offset}


@pytest.mark.parametrize("config", [CleanerConfig(is_enabled=False), CleanerConfig(threads=0)])
def test_a_cleaner_that_is_switched_off_does_nothing(config: CleanerConfig) -> None:
    node = broker(cleaner=config)
    node.fill()
    node.turns(50)
    assert not node.cleaner.in_progress
    assert node.cleaner.deadline_ms is None


def test_it_rests_when_there_is_nothing_to_do() -> None:
    node = broker()
    node.turn()
    started = node.cleaner.counts.last_run_ms
    assert node.cleaner.deadline_ms == started + CLEANER.backoff_ms
    node.turns(3)
    assert node.cleaner.counts.last_run_ms == started
    assert node.cleaner.metrics(node.now).time_since_last_run_ms == node.now - started
    node.clock.advance(CLEANER.backoff_ms)
    node.turn()
    assert node.cleaner.counts.last_run_ms > started


def test_a_clock_that_is_set_back_does_not_make_it_rest_for_long() -> None:
    node = broker()
    node.turn()
    node.clock.jump_wall(-3_600_000)
    node.fill()
    node.clean()
    assert is_clean(node)


# The end of a cleaning


def test_a_truncation_calls_the_cleaning_off_and_its_files_go() -> None:
    node = broker()
    node.fill()
    turns_until_cleaning(node)
    node.turns(4)
    before = latest(each for each in stored(node.log()) if each.offset < 10)
    node.truncate(10)
    node.clean()
    assert node.cleaner.counts.cleanings_failed == 0
    assert not node.cleaner.uncleanable
    assert latest(stored(node.log())) == before
    assert not names(node, ".cleaned") + names(node, ".swap")


def test_the_offset_of_a_truncated_log_is_lowered_on_disk() -> None:
    node = broker()
    node.fill()
    node.clean()
    node.truncate(6)
    assert read_offsets(node.fs, CHECKPOINT)[T0] <= 6


def test_another_policy_calls_the_cleaning_off() -> None:
    node = broker()
    node.fill()
    turns_until_cleaning(node)
    node.set_config(cleanup_policy=("delete",))
    count = len(stored(node.log()))
    node.clean()
    assert len(stored(node.log())) == count
    assert node.cleaner.counts.cleanings == node.cleaner.counts.cleanings_failed == 0
    assert not names(node, ".cleaned")


def test_a_log_that_is_made_anew_begins_dirty() -> None:
    node = broker()
    node.fill()
    node.clean()
    node.logs.delete(T0, "0" * 32, node.now)
    node.turns(20)
    node.fill(batches=6)
    node.clean()
    assert is_clean(node)
    assert read_offsets(node.fs, CHECKPOINT) == {T0: node.log().segments.active.base_offset}


def test_retention_leaves_a_log_alone_that_is_being_cleaned() -> None:
    node = broker()
    node.fill()
    node.set_config(cleanup_policy=("compact", "delete"), retention_bytes=0)
    turns_until_cleaning(node)
    start = node.log().log_start_offset
    node.retain()
    assert node.log().log_start_offset == start
    node.clean()
    assert node.cleaner.counts.cleanings == 1
    node.retain()
    assert node.log().log_start_offset > start


def test_fewer_bytes_a_worker_call_a_larger_job_off() -> None:
    node = broker()
    node.fill()
    turns_until_cleaning(node)
    node.cleaner.reconfigure(CleanerConfig(threads=2, dedupe_buffer_bytes=1 << 16, io_buffer_bytes=256, backoff_ms=40))
    assert not node.cleaner.in_progress
    node.clean()
    assert is_clean(node)


# Failures


def corrupt(node: CleanedBroker, partition: TopicPartition = T0) -> None:
    """Flip a bit at the end of the first segment, in its second batch."""
    segment = node.log(partition).segments[0]
    node.fs.rot(segment.path, [8 * (segment.size_bytes - 1)])


def test_a_damaged_log_is_set_aside_and_the_others_go_on() -> None:
    node = broker()
    node.fill(T0)
    node.fill(T1, batches=4)
    corrupt(node)
    node.clean()
    aside = node.cleaner.uncleanable[T0]
    assert "CorruptSegmentError" in aside.reason
    assert str(node.log().segments[0].path) in aside.reason
    assert is_clean(node, T1)
    assert list(node.cleaner.uncleanable) == [T0]
    node.clean()
    assert node.cleaner.counts.cleanings_failed == 1, "it is not tried again and again"
    metrics = node.cleaner.metrics(node.now)
    assert metrics.uncleanable_partitions_count == {"/disk/logs": 1}
    assert metrics.uncleanable_bytes["/disk/logs"] > 0
    assert not names(node, ".cleaned")


def test_one_that_was_set_aside_is_tried_again_when_it_was_truncated() -> None:
    node = broker()
    node.fill()
    turns_until_cleaning(node)
    node.housekeeping.kill(node.housekeeping.under_way[0])
    node.turns(3)
    assert T0 in node.cleaner.uncleanable
    node.truncate(node.log().segments.active.base_offset)
    node.put([(b"new", b"1")])
    node.make_durable()
    node.clean()
    assert not node.cleaner.uncleanable
    assert node.cleaner.counts.cleanings > 0


def test_a_worker_that_dies_takes_one_partition_with_it_and_leaves_nothing() -> None:
    node = broker()
    node.fill(T0)
    node.fill(T1, batches=4)
    turns_until_cleaning(node)
    victim = node.cleaner.in_progress[0]
    for _ in range(40):
        if names(node, ".cleaned", victim):
            break
        node.turn()
    assert names(node, ".cleaned", victim)
    node.housekeeping.kill(node.housekeeping.under_way[0])
    node.clean()
    assert list(node.cleaner.uncleanable) == [victim]
    assert node.cleaner.metrics(node.now).dead_thread_count == 1
    assert not names(node, ".cleaned", victim)
    assert is_clean(node, T1 if victim == T0 else T0)


def test_a_cleaning_without_a_worker_is_heard_of_at_once_and_tried_again() -> None:
    node = broker()
    node.fill()
    node.housekeeping.refusals = 1
    turns_until_cleaning(node)
    has_news = [node.cleaner.has_news]
    node.turn()
    assert [*has_news, node.cleaner.has_news] == [True, False]
    assert node.cleaner.counts.cleanings_failed == 1
    assert not node.cleaner.uncleanable
    node.clean()
    assert is_clean(node)


def test_a_full_disk_is_no_fault_of_the_partition() -> None:
    node = broker()
    node.fill()
    turns_until_cleaning(node)
    node.fs.disk("/disk").faults.fail(Op.WRITE, fault=DiskFull)
    for _ in range(20):
        node.turn()
    assert not node.cleaner.uncleanable
    assert node.logs.directories["/disk/logs"].is_online
    assert node.cleaner.counts.cleanings_failed == 1
    node.clean()
    assert is_clean(node)


def test_a_full_disk_does_not_keep_the_cleaner_from_another() -> None:
    node = broker(paths=("/disk/logs", "/other/logs"))
    node.fill(T0, batches=20)
    node.fill(T1, batches=4)
    mount = "/" + node.log(T0).directory.split("/")[1]
    assert not node.log(T1).directory.startswith(mount)
    turns_until_cleaning(node)
    assert node.cleaner.in_progress == [T0], "the filthiest"
    node.fs.disk(mount).faults.fail(Op.WRITE, fault=DiskFull, times=None)
    node.turns(100)
    assert is_clean(node, T1)
    assert 1 < node.cleaner.counts.cleanings_failed < 20, "tried again, after a rest"
    assert not node.cleaner.uncleanable


def test_a_disk_that_fails_under_a_worker_goes_offline_and_the_other_one_goes_on() -> None:
    node = broker(paths=("/disk/logs", "/other/logs"))
    node.fill(T0)
    node.fill(T1)
    turns_until_cleaning(node)
    first = node.cleaner.in_progress[0]
    path = "/" + node.log(first).directory.split("/")[1]
    node.fs.disk(path).faults.fail(Op.SYNC, fault=IoError)
    node.clean()
    assert not node.logs.directories[path + "/logs"].is_online
    other = T1 if first == T0 else T0
    assert is_clean(node, other)
    assert not node.cleaner.uncleanable


def test_a_sync_that_fails_in_a_swap_takes_the_directory_offline() -> None:
    node = broker()
    node.fill()
    turns_until_cleaning(node)
    while node.log().swap is None:
        node.turn()
    node.fs.disk("/disk").faults.fail(Op.SYNC_DIRECTORY)
    node.turns(30)
    assert not node.logs.directories["/disk/logs"].is_online
    assert not node.cleaner.is_busy


def test_a_directory_that_fails_during_a_swap_gets_no_second_one() -> None:
    """This holds for any failure, with another segment ready to be swapped in."""
    node = broker()
    node.fill(batches=40)
    turns_until_cleaning(node)
    while node.log().swap is None:
        node.turn()
    (task,) = node.cleaner._tasks
    closed = node.log().segments.base_offsets[-2]
    task.ready.append(CleanedSegment(closed, (closed,), 1, -1))
    node.logs.report("/disk/logs", IoError("/disk/logs/t-0/00000000000000000000.log", "a read failed"))
    assert task.ticket is not None
    node.cleaner.complete([Completion(task.ticket, None)], node.now)
    assert task.is_called_off


def test_an_offset_beyond_the_recovery_point_is_not_believed_at_the_start() -> None:
    node = broker()
    node.fill()
    node.clean()
    node.fs.kill()
    point = read_offsets(node.fs, "/disk/logs/recovery-point-offset-checkpoint")[T0]
    write_offsets(node.fs, CHECKPOINT, {T0: point + 1, T1: 3})
    CleanedBroker(node.fs, node.clock).start()
    assert read_offsets(node.fs, CHECKPOINT) == {}
