"""Whatever a running broker does with its logs, its thread never waits for the disk: the simulated disk forbids it."""

import pytest
from tests.sim.broker import T0, TOPIC_ID, Broker, batch_of, contents, topic_config

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.ports.errors import DiskFull
from tidelog.sim.clock import SimClock
from tidelog.sim.disk import DiskSettings
from tidelog.sim.faults import Op
from tidelog.sim.files import SimFileSystem, WaitForbidden
from tidelog.storage.append.outcome import Refused

T1 = TopicPartition("t", 1)


def broker(**changes: object) -> Broker:
    clock = SimClock()
    fs = SimFileSystem(clock, 1, {"/disk": DiskSettings()})
    node = Broker(fs, clock, config=topic_config(internal_segment_bytes=200, **changes)).start()
    fs.forbids_waits = True
    return node


def test_the_guard_guards() -> None:
    node = broker()
    with pytest.raises(WaitForbidden):
        node.fs.sync_directory("/disk/logs")
    node.produce([b"x"])
    with pytest.raises(WaitForbidden):
        node.log().segments.active.flush()


def test_everything_a_running_broker_does() -> None:
    node = broker(retention_bytes=300)
    for i in range(8):
        node.produce([b"%d" % i], producer_id=1, producer_epoch=0, base_sequence=i)
    log = node.log()
    log.roll(node.now)
    log.update_high_watermark(5)
    node.checkpoint()
    node.retain()
    assert log.log_start_offset > 0
    node.truncate(6)
    assert (log.log_end_offset, log.is_unsettled) == (6, False)
    node.logs.begin_truncate({T0: 20}, node.now, is_whole=True)
    node.settle()
    assert (log.log_start_offset, log.log_end_offset) == (20, 20)
    node.produce([b"anew"])
    assert contents(log) == [(20, b"anew")]
    node.logs.begin_expiry(node.now)
    node.logs.delete(T0, "0" * 32, node.now)
    node.settle()
    node.clock.advance(log.config.file_delete_delay_ms)
    node.retain()
    assert not any("t-0" in name for name in node.fs.list_directory("/disk/logs"))
    assert not node.logs.failures


def test_a_write_that_failed_is_settled_before_the_next() -> None:
    node = broker()
    node.produce([b"x"])
    node.fs.disk("/disk").faults.fail(Op.WRITE, "/disk/logs/t-0", fault=DiskFull)
    node.produce([b"y"])
    assert isinstance(node.stage(batch_of([b"z"], node.now)), Refused)
    node.settle()
    node.produce([b"z"])
    assert contents(node.log()) == [(0, b"x"), (1, b"z")]


def test_a_cut_whose_sync_fails_takes_the_directory_offline() -> None:
    node = broker()
    node.produce([b"x"])
    node.flush()
    node.logs.begin_truncate({T0: 0}, node.now)
    node.fs.disk("/disk").faults.fail(Op.SYNC, "/disk/logs/t-0")
    node.settle()
    assert [each.path for each in node.logs.failures] == ["/disk/logs"]


def test_a_log_that_is_deleted_while_it_is_cut_needs_no_cut() -> None:
    """The directory that the truncation waits for has another name by then."""
    node = broker()
    node.produce([b"x"])
    node.flush()
    log = node.log()
    (operation,) = node.logs.begin_truncate({T0: 0}, node.now)
    while log.log_end_offset:
        node.clock.advance(1)
        node.logs.complete(node.fs.completions(), node.now)
        node.logs.work(node.now, 1)
    node.logs.work(node.now)  # now it waits for the disk
    node.fs.disk("/disk").faults.fail(Op.SYNC, "/disk/logs/t-0")
    node.logs.delete(T0, "0" * 32, node.now)
    node.settle()
    assert (operation.is_done, node.logs.failures) == (True, [])


def test_a_truncation_without_room_for_its_checkpoint_cuts_nothing_and_can_be_repeated() -> None:
    node = broker()
    for i in range(3):
        node.produce([b"%d" % i])
    node.flush()
    node.checkpoint()
    log = node.log()
    node.fs.disk("/disk").faults.fail(Op.WRITE, "/disk/logs/recovery-point-offset-checkpoint.tmp", fault=DiskFull)
    (operation,) = node.logs.begin_truncate({T0: 1}, node.now)
    node.settle()
    assert isinstance(operation.fault, DiskFull)
    assert (log.log_end_offset, log.is_unsettled, node.logs.failures) == (3, False, [])
    node.truncate(1)
    assert log.log_end_offset == 1


def test_a_second_truncation_may_come_before_the_first_is_done_and_cut_below_the_log_start() -> None:
    """The second truncation once never ended: the end of the first removed the second one's limit, so that the log
    start checkpoint, which had to be lowered, was written unchanged again and again."""
    node = broker()
    for i in range(8):
        node.produce([b"%d" % i])
    log = node.log()
    log.update_high_watermark(8)
    log.delete_records(5)
    node.checkpoint()
    node.logs.begin_truncate({T0: 7}, node.now)
    node.logs.begin_truncate({T0: 4}, node.now)
    node.settle()
    assert (log.log_start_offset, log.log_end_offset, log.is_unsettled) == (4, 4, False)
    node.checkpoint()
    node.fs.kill()
    again = Broker(node.fs, node.clock, config=log.config).start().log()
    assert (again.log_start_offset, again.log_end_offset) == (4, 4)


def test_many_logs_are_made_a_piece_at_a_time() -> None:
    node = broker()
    wanted = {TopicPartition("many", i): TOPIC_ID for i in range(20)}
    creation = node.logs.begin_create(wanted, node.now)
    node.logs.work(node.now, 5)
    node.clock.advance(20)
    node.logs.complete(node.fs.completions(), node.now)
    assert 1 < len(creation.outcomes) < 20
    node.settle()
    assert creation.is_done
    assert list(creation.outcomes) == list(wanted)


def test_a_name_is_not_free_before_its_deletion_is_durable() -> None:
    node = broker()
    node.produce([b"old"], T1)
    node.flush(T1)
    node.checkpoint()
    node.logs.delete(T1, "0" * 32, node.now)
    assert node.logs.create(T1, TOPIC_ID, node.now) is ErrorCode.KAFKA_STORAGE_ERROR
    creation = node.logs.begin_create({T1: TOPIC_ID}, node.now)
    node.settle()
    assert creation.outcomes == {T1: node.logs.get(T1)}
    assert contents(node.log(T1)) == []


def test_a_new_log_does_not_roll_before_its_first_segment_has_a_durable_name() -> None:
    node = broker()
    node.flushes_new = False
    for i in range(6):
        node.produce([b"%d" % i])
    log = node.log()
    assert len(log.segments) == 1
    node.settle()
    node.produce([b"6"])
    assert len(log.segments) == 2
