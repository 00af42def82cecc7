"""Group commit: offsets, rolls, duplicates; and writes that fail, which leave nothing behind."""

from typing import Any

import pytest
from tests.sim.broker import T0, Broker, batch_of, contents, topic_config

from tidelog.model.errors import ErrorCode
from tidelog.ports.errors import DiskFull
from tidelog.sim.clock import SimClock
from tidelog.sim.disk import DiskSettings
from tidelog.sim.faults import Op
from tidelog.sim.files import SimFileSystem
from tidelog.storage.append.outcome import Refused
from tidelog.storage.log.group_commit import Append
from tidelog.storage.producers.snapshot import decode_snapshot

ONE_BATCH = len(batch_of([b"0"], 0))


def broker(**config: object) -> Broker:
    clock = SimClock()
    fs = SimFileSystem(clock, 1, {"/disk": DiskSettings()})
    return Broker(fs, clock, config=topic_config(**config)).start()


def staged(node: Broker, *values: bytes, **options: Any) -> Append:
    append = node.stage(batch_of(values, node.now, **options))
    assert isinstance(append, Append), append
    return append


def test_appends_of_a_turn_are_written_together() -> None:
    node = broker()
    first, second = staged(node, b"a", b"b"), staged(node, b"c")
    log = node.log()
    assert (first.code, log.log_end_offset) == (None, 0), "nothing happens before the commit"
    writes = node.fs.trace.count
    node.commit()
    assert node.fs.trace.count == writes + 1, "one write"
    assert (first.code, first.first_offset, first.last_offset) == (ErrorCode.NONE, 0, 1)
    assert (second.code, second.first_offset) == (ErrorCode.NONE, 2)
    assert contents(log) == [(0, b"a"), (1, b"b"), (2, b"c")]
    assert log.epochs.latest_epoch == 0


def epochs(node: Broker) -> list[tuple[int, int]]:
    return [(each.epoch, each.start_offset) for each in node.log().epochs.entries()]


def stage_in(node: Broker, leader_epoch: int, value: bytes) -> None:
    batch = bytearray(batch_of([value], node.now))
    append = node.log().append_as_leader(memoryview(batch), 0, len(batch), leader_epoch, node.now)
    assert isinstance(append, Append), append


def test_an_epoch_that_begins_while_a_batch_of_the_last_is_staged_begins_behind_it() -> None:
    node = broker()
    staged(node, b"a", b"b")
    node.log().begin_epoch(1)
    node.commit()
    assert epochs(node) == [(0, 0), (1, 2)]
    stage_in(node, 1, b"c")
    node.commit()
    assert epochs(node) == [(0, 0), (1, 2)]


def test_an_epoch_and_its_first_batch_in_the_turn_of_the_last_epoch() -> None:
    node = broker()
    staged(node, b"a", b"b")
    node.log().begin_epoch(1)
    stage_in(node, 1, b"c")
    node.commit()
    assert epochs(node) == [(0, 0), (1, 2)]


@pytest.mark.parametrize("is_written", [False, None])
def test_an_epoch_behind_a_batch_that_is_not_written_begins_where_the_log_ends(is_written: bool | None) -> None:
    node = broker()
    staged(node, b"a")
    node.commit()
    staged(node, b"b")
    node.log().begin_epoch(1)
    if is_written is None:
        node.log().abandon()
    else:
        node.fs.disk("/disk").faults.fail(Op.WRITE, fault=DiskFull)
        node.commit()
    assert epochs(node) == [(0, 0), (1, 1)]


def test_an_epoch_begins_at_once_where_all_that_was_staged_was_refused() -> None:
    node = broker(max_message_bytes=ONE_BATCH)
    assert isinstance(node.stage(batch_of([b"x" * 100], node.now)), Refused)
    node.log().begin_epoch(1)
    assert epochs(node) == [(1, 0)]


def test_a_turn_may_roll_several_times() -> None:
    node = broker(internal_segment_bytes=2 * ONE_BATCH)
    appends = [staged(node, b"%d" % i) for i in range(5)]
    node.commit()
    log = node.log()
    assert [append.code for append in appends] == [ErrorCode.NONE] * 5
    assert list(log.segments.base_offsets) == [0, 2, 4]
    assert log.snapshots.offsets == [2, 4]
    assert [value for _, value in contents(log)] == [b"0", b"1", b"2", b"3", b"4"]


def test_a_snapshot_at_a_roll_is_of_that_offset() -> None:
    node = broker(internal_segment_bytes=2 * ONE_BATCH)
    for sequence in range(4):
        staged(node, b"x", producer_id=5, producer_epoch=0, base_sequence=sequence)
    node.commit()
    entries = decode_snapshot(node.log().snapshots.read(2), "")
    assert [(entry.producer_id, entry.last_sequence) for entry in entries] == [(5, 1)]


def test_a_duplicate_of_the_same_turn_shares_its_fate() -> None:
    node = broker()
    options: dict[str, Any] = {"producer_id": 1, "producer_epoch": 0, "base_sequence": 0}
    first, again = staged(node, b"x", **options), staged(node, b"x", **options)
    assert again.code is None, "not before the commit"
    node.fs.disk("/disk").faults.fail(Op.WRITE, fault=DiskFull)
    node.commit()
    assert [each.code for each in (first, again)] == [ErrorCode.KAFKA_STORAGE_ERROR] * 2
    assert node.log().producers.is_empty


def test_a_duplicate_of_an_earlier_turn_is_answered_at_once() -> None:
    node = broker()
    options: dict[str, Any] = {"producer_id": 1, "producer_epoch": 0, "base_sequence": 0}
    node.produce([b"x", b"y"], **options)
    again = staged(node, b"x", b"y", **options)
    assert (again.code, again.first_offset, again.last_offset) == (ErrorCode.NONE, 0, 1)


def test_a_refused_append_leaves_the_others_of_the_turn_alone() -> None:
    node = broker()
    good = staged(node, b"x", producer_id=1, producer_epoch=0, base_sequence=0)
    bad = node.stage(batch_of([b"y"], node.now, producer_id=1, producer_epoch=0, base_sequence=7))
    assert isinstance(bad, Refused)
    assert bad.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    node.commit()
    assert good.code is ErrorCode.NONE
    assert contents(node.log()) == [(0, b"x")]


@pytest.mark.parametrize("base_offset", [1, 3, 5])
def test_a_write_that_fails_takes_the_whole_turn_back(base_offset: int) -> None:
    """The batches that earlier writes of the turn put into segments that were rolled since are taken back, too."""
    node = broker(internal_segment_bytes=2 * ONE_BATCH)
    node.produce([b"before"], producer_id=1, producer_epoch=0, base_sequence=0)
    appends = [staged(node, b"%d" % i, producer_id=1, producer_epoch=0, base_sequence=1 + i) for i in range(6)]
    node.fs.disk("/disk").faults.fail(Op.WRITE, f"/disk/logs/t-0/{base_offset:020d}.log", fault=DiskFull)
    node.commit()
    log = node.log()
    assert {append.code for append in appends} == {ErrorCode.KAFKA_STORAGE_ERROR}
    assert contents(log) == [(0, b"before")]
    assert log.producers.producers[1].last_sequence == 0
    assert log.producers.map_end_offset == log.log_end_offset == 1
    refused = node.stage(batch_of([b"too early"], node.now))
    assert isinstance(refused, Refused)
    assert refused.code is ErrorCode.KAFKA_STORAGE_ERROR, "the cut is not durable yet"
    node.settle()
    again = staged(node, b"again", producer_id=1, producer_epoch=0, base_sequence=1)
    node.commit()
    assert (again.code, again.first_offset) == (ErrorCode.NONE, 1)
    node.fs.lose_power()
    restarted = Broker(node.fs, node.clock).start()
    assert restarted.log().log_end_offset in (0, 1, 2)
    assert contents(restarted.log()) == [(0, b"before"), (1, b"again")][: restarted.log().log_end_offset]


def test_short_writes_are_completed() -> None:
    clock = SimClock()
    fs = SimFileSystem(clock, 3, {"/disk": DiskSettings(short_write_chance=0.9)})
    node = Broker(fs, clock).start()
    for i in range(20):
        node.produce([b"%d" % i] * 3)
    assert [value for _, value in contents(node.log())] == [b"%d" % i for i in range(20) for _ in range(3)]


def test_a_device_that_fails_takes_its_directory_offline() -> None:
    node = broker()
    node.log()
    append = staged(node, b"x")
    node.fs.disk("/disk").faults.fail(Op.WRITE)
    node.logs.commit([node.log()], node.now)
    assert append.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert [(each.path, each.partitions) for each in node.logs.failures] == [("/disk/logs", [T0])]
    assert node.logs.find(T0) is ErrorCode.KAFKA_STORAGE_ERROR


def test_a_write_that_can_not_be_undone_takes_the_log_offline_even_when_the_disk_is_only_full() -> None:
    node = broker()
    append = staged(node, b"x")
    node.fs.disk("/disk").faults.fail(Op.WRITE, fault=DiskFull)
    node.fs.disk("/disk").faults.fail(Op.TRUNCATE)
    node.logs.commit([node.log()], node.now)
    assert append.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert node.logs.failures


def follow(node: Broker, data: bytes, epoch: int = 0) -> Append | Refused:
    result = node.log().append_as_follower(memoryview(data), 0, len(data), epoch, node.now)
    node.commit()
    return result


def leader_bytes(count: int, **config: object) -> bytes:
    leader = broker(**config)
    for i in range(count):
        leader.produce([b"%d" % i])
    return leader.log().segments.first.read(0, 1 << 20)


def test_a_follower_keeps_offsets_and_splits_a_fetch_over_segments() -> None:
    node = broker(internal_segment_bytes=2 * ONE_BATCH)
    data = leader_bytes(5)
    result = follow(node, data)
    assert isinstance(result, Append)
    assert (result.code, result.first_offset, result.last_offset) == (ErrorCode.NONE, 0, 4)
    assert list(node.log().segments.base_offsets) == [0, 2, 4]
    assert b"".join(segment.read(0, 1 << 20) for segment in node.log().segments) == data


def test_a_follower_refuses_what_it_has_and_takes_nothing_of_a_later_epoch() -> None:
    node = broker()
    data = leader_bytes(2)
    follow(node, data)
    assert isinstance(follow(node, data), Refused)
    newer = broker()
    newer.epoch = 3
    newer.produce([b"x"])
    empty = broker()
    result = follow(empty, newer.log().segments.first.read(0, 1000), epoch=2)
    assert isinstance(result, Append)
    assert (result.code, empty.log().log_end_offset) == (ErrorCode.NONE, 0)
