"""Checkpoints of a directory: their contents, when they are lowered, and when they can not be trusted."""

from tests.sim.broker import T0, Broker, contents, topic_config

from tidelog.ports.files import OpenMode
from tidelog.sim.clock import SimClock
from tidelog.sim.disk import DiskSettings
from tidelog.sim.files import SimFileSystem
from tidelog.storage.checkpoints.text import read_offsets

RECOVERY_POINTS = "/disk/logs/recovery-point-offset-checkpoint"


def broker(count: int) -> Broker:
    clock = SimClock()
    fs = SimFileSystem(clock, 1, {"/disk": DiskSettings()})
    node = Broker(fs, clock, config=topic_config(internal_segment_bytes=200)).start()
    for i in range(count):
        node.produce([b"%d" % i])
    return node


def test_a_durable_log_claims_one_record_less_while_its_indexes_are_not() -> None:
    node = broker(2)
    node.flush()
    assert node.log().flush.recovery_point == 2
    node.checkpoint()
    assert read_offsets(node.fs, RECOVERY_POINTS) == {T0: 1}
    node.log().roll(node.now)
    node.logs.flush_due(node.now)
    node.settle()
    node.checkpoint()
    assert read_offsets(node.fs, RECOVERY_POINTS) == {T0: 2}


def test_the_recovery_point_is_lowered_on_disk_before_a_truncation() -> None:
    node = broker(4)
    node.flush()
    node.checkpoint()
    log = node.log()
    node.logs.begin_truncate({T0: 1}, node.now)
    while read_offsets(node.fs, RECOVERY_POINTS)[T0] > 1:
        assert log.log_end_offset == 4, "not yet"
        node.clock.advance(1)
        node.logs.complete(node.fs.completions(), node.now)
    node.settle()
    assert log.log_end_offset == 1


def test_a_damaged_checkpoint_means_a_full_scan_and_is_told() -> None:
    node = broker(4)
    node.stop()
    node.fs.open(RECOVERY_POINTS, OpenMode.WRITE).write_at(0, [b"nonsense"])
    again = Broker(node.fs, node.clock).start()
    assert any(RECOVERY_POINTS in problem for problem in again.progress.problems)
    assert again.progress.bytes_total == again.log().size_bytes
    assert len(contents(again.log())) == 4


def test_a_damaged_marker_of_a_clean_stop_counts_as_none() -> None:
    node = broker(1)
    node.stop()
    file = node.fs.open("/disk/logs/.kafka_cleanshutdown", OpenMode.WRITE)
    file.write_at(0, [b"?"])
    file.close()
    again = Broker(node.fs, node.clock).start()
    assert again.logs.previous_broker_epoch == -1
    assert len(contents(again.log())) == 1


def test_the_marker_does_not_come_back_with_a_power_loss() -> None:
    for seed in range(8):
        clock = SimClock()
        fs = SimFileSystem(clock, seed, {"/disk": DiskSettings()})
        node = Broker(fs, clock).start()
        node.produce([b"x"])
        node.stop()
        assert Broker(fs, clock).start().logs.previous_broker_epoch == 7
        fs.lose_power()
        assert Broker(fs, clock).start().logs.previous_broker_epoch == -1


def test_a_deleted_log_keeps_its_offsets_until_its_new_name_is_durable() -> None:
    """A power loss before that brings the log back, and it must not start before where its records were deleted."""
    node = broker(4)
    node.flush()
    log = node.log()
    log.update_high_watermark(4)
    log.delete_records(3)
    node.checkpoint()
    node.logs.delete(T0, "0" * 32, node.now)
    directory = node.logs.directories["/disk/logs"]
    for _ in directory.checkpoint():
        node.clock.advance(20)
        node.fs.completions()
    assert T0 in directory.leaving, "not durable yet"
    assert directory.durable_log_start(T0) == 3
    node.settle()
    assert directory.durable_log_start(T0) == 0
    assert directory.is_free(T0)
