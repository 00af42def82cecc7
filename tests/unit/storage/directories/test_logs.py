"""The logs of a broker over several directories: starting, stopping, failing one by one, and a disk that is full."""

import pytest
from tests.sim.broker import T0, TOPIC_ID, Broker, batch_of, contents, topic_config

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.ports.errors import IoError, LockHeld
from tidelog.ports.files import OpenMode
from tidelog.sim.clock import SimClock
from tidelog.sim.disk import DiskSettings
from tidelog.sim.faults import Op
from tidelog.sim.files import SimFileSystem
from tidelog.storage.append.outcome import Refused
from tidelog.storage.log.group_commit import Append
from tidelog.storage.log.loader import create_log
from tidelog.storage.log.log import Log

T1, T2 = TopicPartition("t", 1), TopicPartition("t", 2)
BOTH = ("/a/logs", "/b/logs")


def machine(capacity_bytes: int = 1 << 20) -> tuple[SimFileSystem, SimClock]:
    clock = SimClock()
    return SimFileSystem(clock, 5, {"/a": DiskSettings(capacity_bytes), "/b": DiskSettings()}), clock


def two_directories() -> Broker:
    fs, clock = machine()
    return Broker(fs, clock, BOTH).start()


def code_of(append: Append | Refused) -> ErrorCode | None:
    return append.code


def test_new_partitions_go_to_the_emptiest_directory() -> None:
    node = two_directories()
    for partition in (T0, T1, T2):
        node.log(partition)
    assert [list(each.logs) for each in node.logs.directories.values()] == [[T0, T2], [T1]]
    node.logs.cordoned = ["/b/logs"]
    assert node.log(TopicPartition("u", 0)).directory == "/a/logs/u-0"
    node.logs.cordoned = ["*"]
    assert node.logs.create(TopicPartition("u", 1), TOPIC_ID, node.now) is ErrorCode.KAFKA_STORAGE_ERROR


@pytest.mark.parametrize("op", [Op.WRITE, Op.SYNC])
def test_a_failing_directory_goes_offline_alone(op: Op) -> None:
    node = two_directories()
    node.log(T0), node.log(T1)
    node.fs.disk("/a").faults.fail(op, times=None)
    codes = [code_of(node.produce([b"x"], partition)) for partition in (T0, T1)]
    for partition in (T0, T1):
        log = node.logs.get(partition)
        if log is not None:
            log.flush.ask(log)
    node.settle()
    assert codes == [ErrorCode.KAFKA_STORAGE_ERROR if op is Op.WRITE else ErrorCode.NONE, ErrorCode.NONE]
    assert [(each.path, each.partitions) for each in node.logs.failures] == [("/a/logs", [T0])]
    assert isinstance(node.logs.failures[0].fault, IoError)
    assert node.logs.find(T0) is ErrorCode.KAFKA_STORAGE_ERROR
    assert node.logs.find(T2) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert code_of(node.produce([b"y"], T1)) is ErrorCode.NONE
    assert node.log(T2).directory == "/b/logs/t-2"


def test_a_failed_sync_is_not_tried_again() -> None:
    node = two_directories()
    node.produce([b"x"], T0)
    node.fs.disk("/a").faults.fail(Op.SYNC, "/a/logs/t-0", times=1)
    node.flush(T0)
    assert node.logs.get(T0) is None
    directory = node.logs.directories["/a/logs"]
    assert directory.logs[T0].flush.recovery_point == 0, "nothing was promised"
    node.logs.flush_due(node.now)
    node.checkpoint()
    node.stop()
    assert not any("cleanshutdown" in name for name in node.fs.list_directory("/a/logs"))
    assert ".kafka_cleanshutdown" in node.fs.list_directory("/b/logs")


def test_appends_are_refused_below_the_reserve_and_resume_by_themselves() -> None:
    fs, clock = machine(capacity_bytes=20_000)
    node = Broker(
        fs, clock, ("/a/logs",), topic_config(internal_segment_bytes=1000, retention_bytes=2000), 8000
    ).start()
    other = fs.open("/a/other", OpenMode.CREATE)
    node.produce([b"x" * 400])
    other.write_at(0, [bytes(fs.space("/a").usable_bytes - 8100)])
    refused = [code_of(node.produce([b"y" * 400])) for _ in range(3)]
    assert refused == [ErrorCode.KAFKA_STORAGE_ERROR] * 3
    assert contents(node.log()) == [(0, b"x" * 400)], "reads go on"
    node.checkpoint()
    node.retain()
    node.flush()
    assert not node.logs.failures, "a full disk is no failure"
    other.truncate(0)
    assert code_of(node.produce([b"z"])) is ErrorCode.NONE
    assert [value for _, value in contents(node.log())] == [b"x" * 400, b"z"]


def test_a_disk_that_fills_up_without_a_reserve_costs_the_append_only() -> None:
    fs, clock = machine(capacity_bytes=12_000)
    node = Broker(fs, clock, ("/a/logs",)).start()
    codes = [code_of(node.produce([b"%d" % i * 300])) for i in range(60)]
    written = codes.count(ErrorCode.NONE)
    assert 5 < written < 60
    assert set(codes[written:]) == {ErrorCode.KAFKA_STORAGE_ERROR}
    assert len(contents(node.log())) == written
    assert not node.logs.failures
    fs.disk("/a").settings.capacity_bytes = 1 << 20
    assert code_of(node.produce([b"more"])) is ErrorCode.NONE
    assert contents(node.log())[-1] == (written, b"more")


def test_a_second_process_is_refused_by_name_and_owner() -> None:
    fs, clock = machine()
    Broker(fs, clock, ("/a/logs",)).start()
    with pytest.raises(LockHeld, match=r"/a/logs/\.lock: locked by sim"):
        Broker(fs, clock, ("/a/logs",)).start()


def test_a_clean_stop_leaves_nothing_to_scan() -> None:
    node = two_directories()
    for i in range(5):
        node.produce([b"%d" % i], T0, producer_id=1, producer_epoch=0, base_sequence=i)
    node.log(T0).update_high_watermark(4)
    node.stop()
    node.fs.lose_power()
    again = Broker(node.fs, node.clock, BOTH).start()
    assert again.logs.previous_broker_epoch == 7
    assert (again.progress.bytes_total, again.progress.problems, again.progress.truncations) == (0, [], [])
    log = again.log(T0)
    assert [value for _, value in contents(log)] == [b"0", b"1", b"2", b"3", b"4"]
    assert (log.high_watermark, log.flush.recovery_point, log.topic_id) == (4, 5, TOPIC_ID)
    assert log.producers.producers[1].last_sequence == 4
    assert ".kafka_cleanshutdown" not in node.fs.list_directory("/a/logs")
    node.fs.kill()
    assert Broker(node.fs, node.clock, BOTH).start().logs.previous_broker_epoch == -1


def test_progress_is_told_log_by_log() -> None:
    node = two_directories()
    for partition in (T0, T1, T2):
        node.produce([b"x" * 100], partition)
    node.fs.kill()
    again = Broker(node.fs, node.clock, BOTH)
    seen = [(each.logs_done, each.logs_total, each.bytes_done) for each in again.logs.load(node.now)]
    size = node.logs.directories["/a/logs"].logs[T0].size_bytes
    assert seen == [(0, 3, 0), (1, 3, size), (2, 3, 2 * size), (3, 3, 3 * size), (3, 3, 3 * size)]
    again.progress.started_ms, again.progress.bytes_total, again.progress.bytes_done = 0, 400, 100
    assert again.progress.remaining_ms(50) == 150


def test_a_deleted_partition_goes_in_two_steps() -> None:
    node = two_directories()
    node.produce([b"x"], T0)
    log = node.log(T0)
    node.logs.delete(T0, "0" * 32, node.now)
    assert log.generation > 0
    assert node.logs.find(T0) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert f"t-0.{'0' * 32}-delete" in node.fs.list_directory("/a/logs")
    node.clock.advance(log.config.file_delete_delay_ms)
    node.retain()
    assert not any("delete" in name for name in node.fs.list_directory("/a/logs"))


def test_a_clock_that_is_set_back_does_not_keep_a_deleted_partition() -> None:
    node = two_directories()
    node.produce([b"x"], T0)
    node.clock.advance(10_000)
    node.logs.delete(T0, "0" * 32, node.now)
    node.clock.jump_wall(-10_000)
    node.retain()
    assert not any("delete" in name for name in node.fs.list_directory("/a/logs"))


def test_a_topic_made_again_is_not_measured_by_the_old_recovery_point() -> None:
    node = two_directories()
    for _ in range(5):
        node.produce([b"x"], T0)
    node.flush(T0)
    node.checkpoint()
    node.logs.delete(T0, "0" * 32, node.now)
    node.produce([b"new"], T0)
    node.fs.kill()
    again = Broker(node.fs, node.clock, BOTH).start()
    assert not again.logs.directories["/a/logs"].corrupt
    assert contents(again.log(T0)) == [(0, b"new")]


def test_with_flush_messages_1_nothing_is_acknowledged_before_its_sync() -> None:
    fs, clock = machine()
    node = Broker(fs, clock, ("/a/logs",), topic_config(flush_messages=1)).start()
    node.produce([b"x"])
    log = node.log()
    assert (log.log_end_offset, log.acknowledgeable_offset) == (1, 0)
    node.produce([b"y"])  # appended while the first sync is under way, it shares the next one
    clock.advance(100)
    assert node.logs.complete(fs.completions(), node.now) == [log]
    assert log.acknowledgeable_offset == 1
    node.settle()
    assert log.acknowledgeable_offset == 2
    fs.lose_power()
    assert contents(Broker(fs, clock, ("/a/logs",)).start().log()) == [(0, b"x"), (1, b"y")]


def test_flush_ms() -> None:
    fs, clock = machine()
    node = Broker(fs, clock, ("/a/logs",), topic_config(flush_ms=100)).start()
    node.produce([b"x"])
    clock.advance(99)
    node.logs.flush_due(node.now)
    assert not node.logs.is_flushing
    clock.advance(1)
    node.logs.flush_due(node.now)
    node.settle()
    assert node.log().flush.recovery_point == 1
    node.produce([b"y"])
    clock.jump_wall(-50)
    node.logs.flush_due(node.now)
    assert node.logs.is_flushing, "a clock that was set back"


def test_a_directory_whose_disk_is_dead_at_the_start() -> None:
    node = two_directories()
    node.produce([b"x"], T0), node.produce([b"y"], T1)
    node.fs.kill()
    node.fs.disk("/a").faults.dead = True
    again = Broker(node.fs, node.clock, BOTH).start()
    assert [each.path for each in again.logs.failures] == ["/a/logs"]
    assert isinstance(again.logs.find(T1), Log)


def test_a_batch_for_the_reserve_counts_with_the_whole_turn() -> None:
    fs, clock = machine(capacity_bytes=20_000)
    node = Broker(fs, clock, ("/a/logs",), reserved_bytes=8000).start()
    node.log(), node.log(T1)
    room = fs.space("/a").usable_bytes - 8000
    halves = [node.stage(batch_of([bytes(room * 2 // 3)], node.now), each) for each in (T0, T1)]
    node.commit(T0, T1)
    assert [code_of(each) for each in halves] == [ErrorCode.KAFKA_STORAGE_ERROR] * 2


def nameless(node: Broker) -> Broker:
    """Restart a broker whose log has lost its topic id, as after a power loss."""
    node.fs.kill()
    node.fs.remove_file(f"{BOTH[0]}/t-0/partition.metadata")
    return Broker(node.fs, node.clock, BOTH).start()


def test_records_that_were_never_durable_and_are_nobodys_are_dropped() -> None:
    node = two_directories()
    node.flushes_new = False
    node.produce([b"of a topic that may be gone"])
    again = nameless(node)
    assert any("t-0: never flushed" in problem for problem in again.progress.problems)
    log = again.log()
    assert contents(log) == []
    again.produce([b"mine"])
    again.fs.kill()
    once_more = Broker(node.fs, node.clock, BOTH).start().log()
    assert (once_more.topic_id, contents(once_more)) == (TOPIC_ID, [(0, b"mine")])


def test_a_log_without_a_topic_id_that_was_durable_is_kept() -> None:
    node = two_directories()
    node.produce([b"x"])
    node.produce([b"y"])
    node.flush()
    node.checkpoint()
    assert len(contents(nameless(node).log())) == 2


def test_a_name_from_before_a_crash_is_synced_before_anything_behind_it_counts() -> None:
    """The process died before the log's first flush, but the machine did not, so the log was there at the next
    start."""
    for seed in range(8):
        clock = SimClock()
        fs = SimFileSystem(clock, seed, {"/a": DiskSettings(1 << 20)})
        node = Broker(fs, clock, BOTH[:1]).start()
        node.flushes_new = False
        node.produce([b"early"])
        fs.kill()
        again = Broker(fs, clock, BOTH[:1]).start()
        again.settle()
        again.produce([b"late"])
        again.flush()
        assert again.log().flush.recovery_point == 2
        fs.lose_power()
        last = Broker(fs, clock, BOTH[:1]).start()
        assert [value for _, value in contents(last.log())] == [b"early", b"late"], seed


def test_after_a_truncation_nothing_from_there_on_counts_as_durable() -> None:
    node = two_directories()
    for index in range(6):
        node.produce([b"%d" % index])
    node.flush()
    log = node.log()
    assert log.flush.recovery_point == 6
    log.set_end(3)
    assert log.flush.recovery_point == 3
    assert log.flush.indexes_durable_to <= 3


def test_a_log_elsewhere_that_asks_for_a_flush_is_nobodys_here() -> None:
    """The metadata log, in a `metadata.log.dir` of its own, shares the queue, but sees to its syncs itself."""
    node = two_directories()
    node.fs.make_directory("/b/metadata")
    log = create_log(node.logs._context, "/b/metadata/m-0", TopicPartition("m", 0), TOPIC_ID, topic_config(), node.now)
    log.flush.ask(log)
    node.logs.work(node.now)
    assert log.flush.begun is None
