"""A shortage of room in a broker's logs: only the operation that needs the room fails, never the directory."""

from typing import Any

import pytest
from tests.sim.broker import T0, TOPIC_ID, Broker, batch_of, contents, topic_config

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.ports.errors import DiskFull, NotFound, StorageFault, TooManyOpenFiles
from tidelog.ports.files import OpenMode
from tidelog.sim.clock import SimClock
from tidelog.sim.disk import DiskSettings
from tidelog.sim.faults import Op
from tidelog.sim.files import SimFileSystem
from tidelog.storage.directories.disk_room import PLENTY_BYTES, RETRY_MS, DiskRoom
from tidelog.storage.log.log import Log

ONE_BATCH = len(batch_of([b"0"], 0))
DIRECTORY = "/disk/logs/t-0"
T1 = TopicPartition("t", 1)


def broker(capacity_bytes: int = 1 << 20, reserved_bytes: int = 0, **config: Any) -> Broker:
    clock = SimClock()
    fs = SimFileSystem(clock, 1, {"/disk": DiskSettings(capacity_bytes)})
    return Broker(fs, clock, config=topic_config(**config), reserved_bytes=reserved_bytes).start()


def restarted(node: Broker) -> Broker:
    return Broker(node.fs, node.clock).start()


def is_online(node: Broker) -> bool:
    return node.logs.directories["/disk/logs"].is_online


# Which operations may take room


def test_nothing_is_granted_without_asking() -> None:
    node = broker()
    room = DiskRoom(node.fs, "/disk", 2 << 20)
    assert not room.has_room_for(1, 0)
    assert not room.has_room_for(0, 0), "the reserve is not there"
    assert room.has_room_for(1, 0, uses_reserve=True)
    room.owed_bytes = 2 << 20
    assert not room.has_room_for(1, 0, uses_reserve=True), "it is the metadata log's"


def test_where_there_is_plenty_the_next_are_granted_in_advance() -> None:
    fs = SimFileSystem(SimClock(), 1, {"/disk": DiskSettings(2 * PLENTY_BYTES)})
    room = DiskRoom(fs, "/disk", 0)
    assert room.has_room_for(100, 0)
    fs.disk("/disk").settings.capacity_bytes = 0
    assert room.has_room_for(100, 0)
    assert not room.is_short_of(100, 0)
    room.note_full(0)
    assert not room.has_room_for(100, 0), "a write has found out"


def test_a_quota_is_not_tried_at_every_append() -> None:
    room = DiskRoom(broker().fs, "/disk", 0)
    room.note_full(0)
    assert room.has_room_for(1, 1), "once may be an accident"
    room.note_full(2)
    assert not room.has_room_for(1, RETRY_MS)
    assert room.has_room_for(1, 2 + RETRY_MS)
    room.note_full(2 + RETRY_MS)
    assert not room.has_room_for(1, 3 + RETRY_MS), "one try a second"


def test_new_partitions_are_not_made_below_the_reserve_but_coordinators_are() -> None:
    node = broker(reserved_bytes=2 << 20)
    assert node.logs.create(T0, TOPIC_ID, node.now) is ErrorCode.KAFKA_STORAGE_ERROR
    assert isinstance(node.logs.create(TopicPartition("__consumer_offsets", 0), TOPIC_ID, node.now), Log)


# Partitions that are half made


@pytest.mark.parametrize("op", [Op.OPEN, Op.WRITE])
@pytest.mark.parametrize("skip", range(2))
def test_a_partition_without_room_leaves_nothing_behind_and_is_made_later(op: Op, skip: int) -> None:
    node = broker()
    node.fs.disk("/disk").faults.fail(op, DIRECTORY, fault=DiskFull, skip=skip)
    outcomes = [node.logs.create(T0, TOPIC_ID, node.now)]
    if outcomes == [ErrorCode.KAFKA_STORAGE_ERROR]:
        assert "t-0" not in node.fs.list_directory("/disk/logs")
    assert is_online(node)
    assert isinstance(node.logs.create(T0, TOPIC_ID, node.now), Log)


def test_a_directory_that_could_not_be_cleared_away_is_used_by_the_next_try() -> None:
    node = broker()
    node.fs.make_directory(DIRECTORY)
    node.fs.open(f"{DIRECTORY}/partition.metadata", OpenMode.CREATE).close()
    log = node.logs.create(T0, TOPIC_ID, node.now)
    assert isinstance(log, Log)
    assert log.topic_id == TOPIC_ID


def test_a_directory_with_records_is_not_touched_and_costs_that_partition_alone() -> None:
    node = broker()
    node.fs.make_directory(DIRECTORY)
    file = node.fs.open(f"{DIRECTORY}/{0:020d}.log", OpenMode.CREATE)
    file.write_at(0, [b"records"])
    assert node.logs.create(T0, TOPIC_ID, node.now) is ErrorCode.KAFKA_STORAGE_ERROR
    assert file.read_at(0, 10) == b"records"
    assert is_online(node)
    assert "holds" in node.logs.take_shortages()[0]


def test_a_topic_id_without_room_leaves_no_empty_file() -> None:
    node = broker()
    log = node.log()
    node.produce([b"x"])
    log.topic_id = None
    node.fs.remove_file(f"{DIRECTORY}/partition.metadata")
    node.fs.disk("/disk").faults.fail(Op.WRITE, DIRECTORY, fault=DiskFull)
    assert node.logs.create(T0, TOPIC_ID, node.now) is ErrorCode.KAFKA_STORAGE_ERROR
    assert "partition.metadata" not in node.fs.list_directory(DIRECTORY)
    assert node.logs.create(T0, TOPIC_ID, node.now) is log


# Rolling, indexes, epochs


def test_indexes_without_room_wait_in_memory_and_recovery_would_scan_their_segment() -> None:
    node = broker(internal_segment_bytes=2 * ONE_BATCH, index_interval_bytes=1)
    node.log()
    for kind in ("index", "timeindex"):
        node.fs.disk("/disk").faults.fail(Op.WRITE, f"{DIRECTORY}/{0:020d}.{kind}", fault=DiskFull, times=None)
    for number in range(7):
        node.produce([b"%d" % number])
    node.flush()
    log = node.log()
    assert (log.flush.recovery_point, log.flush.checkpoint) == (7, 0)
    assert [value for _, value in contents(log, 1)] == [b"%d" % number for number in range(1, 7)]
    assert is_online(node)
    node.fs.disk("/disk").faults.heal()
    node.flush()
    assert log.flush.checkpoint == 6
    node.fs.lose_power()
    assert len(contents(restarted(node).log())) == 7


def test_epochs_without_room_hold_the_recovery_point_at_their_start_only() -> None:
    node = broker(flush_messages=1)
    node.produce([b"old"])
    node.settle()
    log = node.log()
    log.assign_epoch(5, log.log_end_offset)
    node.epoch = 5
    node.fs.disk("/disk").faults.fail(Op.WRITE, f"{DIRECTORY}/leader-epoch-checkpoint.tmp", fault=DiskFull, times=None)
    log.flush.ask(log)
    node.logs.work(node.now)
    node.settle()
    assert log.flush.recovery_point == 1, "what is older is durable"
    node.produce([b"new"])
    for _ in range(5):
        node.settle()
    assert log.flush.recovery_point == 1
    node.fs.disk("/disk").faults.heal()
    node.clock.advance(2_000)
    node.settle()
    assert log.flush.recovery_point == 2, "tried again by itself"


# Retention and deletion


def aged(count: int, **config: Any) -> Broker:
    node = broker(internal_segment_bytes=2 * ONE_BATCH, **config)
    for number in range(count):
        for partition in (T0, T1):
            node.produce([b"%d" % number], partition)
    for partition in (T0, T1):
        node.log(partition).update_high_watermark(count)
    return node


def test_a_log_that_can_not_roll_does_not_keep_the_others() -> None:
    node = aged(5, retention_ms=1_000)
    node.flush(T0, T1)
    node.clock.advance(60_000)
    node.fs.disk("/disk").faults.fail(Op.OPEN, f"{DIRECTORY}/{5:020d}.log", fault=DiskFull)
    node.retain()
    assert list(node.log(T0).segments.base_offsets) == [4], "the closed segments go"
    assert list(node.log(T1).segments.base_offsets) == [5]
    assert "can not be rolled" in node.logs.take_shortages()[0]
    node.retain()
    assert list(node.log(T0).segments.base_offsets) == [5], "and the active one when there is room"


def test_a_log_with_something_staged_is_rolled_another_time() -> None:
    node = aged(5, retention_ms=1_000)
    node.flush(T0, T1)
    node.clock.advance(60_000)
    staged = node.stage(batch_of([b"new"], node.now))
    node.logs.begin_retention(node.now)
    node.commit(T0)
    node.settle()
    assert staged.code is ErrorCode.NONE
    assert contents(node.log()) == [(4, b"4"), (5, b"new")]


def test_without_a_checkpoint_segments_go_in_order_and_leave_no_hole() -> None:
    for seed in range(20):
        node = aged(9, retention_ms=1_000)
        node.flush(T0, T1)
        node.checkpoint()
        node.clock.advance(60_000)
        node.fs.disk("/disk").random.seed(seed)
        path = "/disk/logs/log-start-offset-checkpoint.tmp"
        node.fs.disk("/disk").faults.fail(Op.OPEN, path, fault=DiskFull, times=None)
        node.logs.begin_retention(node.now)
        for _ in range(seed):
            node.logs.work(node.now, 1)
            node.clock.advance(3)
            node.logs.complete(node.fs.completions(), node.now)
        node.fs.lose_power()
        node.fs.disk("/disk").faults.heal()
        after = restarted(node)
        assert not after.logs.directories["/disk/logs"].corrupt, f"seed {seed}"
        found = contents(after.log())
        assert [offset for offset, _ in found] == list(range(after.log().log_start_offset, 9))


def test_a_deletion_without_room_for_another_name_removes_under_the_old_one() -> None:
    node = aged(3)
    node.settle()
    node.fs.disk("/disk").faults.fail(Op.NAMES, DIRECTORY, fault=DiskFull)
    node.logs.delete(T0, "0" * 32, node.now)
    node.settle()
    assert is_online(node)
    node.clock.advance(120_000)
    node.retain()
    assert "t-0" not in node.fs.list_directory("/disk/logs")
    assert contents(node.log()) == [], "made anew"


def test_a_segment_without_room_for_another_name_is_removed() -> None:
    node = aged(5, retention_ms=1_000)
    node.flush(T0, T1)
    node.clock.advance(60_000)
    node.fs.disk("/disk").faults.fail(Op.NAMES, f"{DIRECTORY}/{0:020d}.log", fault=DiskFull)
    node.retain()
    assert is_online(node)
    assert not [name for name in node.fs.list_directory(DIRECTORY) if name.startswith(f"{0:020d}.log")]


@pytest.mark.parametrize("shortage", [DiskFull, TooManyOpenFiles])
@pytest.mark.parametrize("kind", ["log", "index", "snapshot"])
def test_a_deleted_segment_that_could_not_be_removed_is_removed_later(kind: str, shortage: type[StorageFault]) -> None:
    node = aged(5, retention_ms=1_000, file_delete_delay_ms=1_000)
    node.flush(T0, T1)
    node.clock.advance(60_000)
    node.retain()
    deleted = [name for name in node.fs.list_directory(DIRECTORY) if name.endswith(".deleted")]
    assert deleted
    (first, *_) = [name for name in deleted if f".{kind}" in name]
    node.fs.disk("/disk").faults.fail(Op.NAMES, f"{DIRECTORY}/{first}", fault=shortage)
    node.clock.advance(60_000)
    node.logs.begin_removal(node.now)
    node.settle()
    assert is_online(node)
    assert node.logs.take_shortages()
    other = node.log(T1).directory
    assert not [name for name in node.fs.list_directory(other) if name.endswith(".deleted")], "the others are removed"
    node.clock.advance(60_000)
    node.logs.begin_removal(node.now)
    node.settle()
    assert not [name for name in node.fs.list_directory(DIRECTORY) if name.endswith(".deleted")]
    assert not node.log(T0).deleted


@pytest.mark.parametrize("shortage", [DiskFull, TooManyOpenFiles])
def test_a_deleted_directory_that_could_not_be_removed_is_removed_later(shortage: type[StorageFault]) -> None:
    node = aged(5)
    node.settle()
    node.logs.delete(T0, "0" * 32, node.now)
    node.logs.delete(T1, "1" * 32, node.now)
    node.settle()
    node.fs.disk("/disk").faults.fail(Op.NAMES, f"{DIRECTORY}.{'0' * 32}-delete", fault=shortage, times=3)
    for _ in range(5):
        node.clock.advance(120_000)
        node.retain()
    assert is_online(node)
    assert not [name for name in node.fs.list_directory("/disk/logs") if name.endswith("-delete")]


def test_who_reads_what_was_removed_before_its_delay_does_not_take_the_directory_offline() -> None:
    node = aged(3)
    node.settle()
    log = node.log()
    node.logs.delete(T0, "0" * 32, node.now)
    node.settle()
    node.logs.directories["/disk/logs"].room.note_full(node.now)
    node.logs.begin_removal(node.now)
    node.settle()
    assert not [name for name in node.fs.list_directory("/disk/logs") if name.endswith("-delete")]
    with pytest.raises(NotFound) as caught:
        node.fs.open(f"{log.directory}/{0:020d}.log", OpenMode.READ)
    node.logs.report("/disk/logs", caught.value)
    assert is_online(node)


# Starting and stopping


def test_a_stop_without_room_syncs_the_records_and_is_no_failure() -> None:
    node = aged(5)
    node.fs.disk("/disk").settings.capacity_bytes = 0
    node.stop()
    assert not node.logs.failures
    node.fs.lose_power()
    node.fs.disk("/disk").settings.capacity_bytes = 1 << 20
    after = restarted(node)
    assert not after.logs.directories["/disk/logs"].was_clean
    assert [value for _, value in contents(after.log())] == [b"%d" % number for number in range(5)]


def test_recovery_needs_no_room() -> None:
    node = aged(9, index_interval_bytes=1)
    node.fs.kill()
    for name in node.fs.list_directory(DIRECTORY):
        if name.endswith("index"):
            node.fs.remove_file(f"{DIRECTORY}/{name}")
    node.fs.disk("/disk").settings.capacity_bytes = 0
    after = restarted(node)
    assert is_online(after)
    assert [value for _, value in contents(after.log())] == [b"%d" % number for number in range(9)]
