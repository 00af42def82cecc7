"""No descriptor is left for a while: nothing goes offline, nothing is lost, and all work is done in the end."""

import pytest
from tests.sim.broker import T0, Broker, batch_of, contents, topic_config

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.ports.errors import TooManyOpenFiles
from tidelog.ports.files import Ticket
from tidelog.server.fetch.partition_read import records_of
from tidelog.sim.clock import SimClock
from tidelog.sim.disk import DiskSettings
from tidelog.sim.faults import Op
from tidelog.sim.files import SimFileSystem
from tidelog.storage.directories.logs import Logs
from tidelog.storage.log.group_commit import Append
from tidelog.storage.log.loader import LogContext
from tidelog.storage.log.reading import FetchIsolation, read
from tidelog.storage.producers.replay import snapshot_at_roll
from tidelog.storage.segment.descriptors import Descriptors
from tidelog.storage.segment.segment import Segment

ONE_BATCH = len(batch_of([b"0"], 0))
SMALL = topic_config(internal_segment_bytes=2 * ONE_BATCH)


def broker() -> Broker:
    clock = SimClock()
    return Broker(SimFileSystem(clock, 1, {"/disk": DiskSettings()}), clock, config=SMALL).start()


def run_out(node: Broker, path: str = "/disk", *, skip: int = 0, times: int | None = None) -> None:
    """Make every open fail for want of descriptors, and close those that the log keeps open."""
    node.log().descriptors.close()
    node.fs.disk("/disk").faults.fail(Op.OPEN, path, fault=TooManyOpenFiles, skip=skip, times=times)


def recover(node: Broker) -> None:
    node.fs.disk("/disk").faults.heal()


def produced(node: Broker, value: bytes) -> ErrorCode | None:
    append = node.produce([value])
    return append.code


def is_online(node: Broker) -> bool:
    return not node.logs.failures and all(each.is_online for each in node.logs.directories.values())


@pytest.mark.parametrize("skip", range(8))
def test_a_flush_is_begun_again_and_calls_nothing_durable_before(skip: int) -> None:
    node = broker()
    for value in (b"0", b"1", b"2"):
        assert produced(node, value) is ErrorCode.NONE
    log = node.log()
    run_out(node, log.directory, skip=skip, times=2)
    log.flush.ask(log)
    node.settle()
    assert is_online(node)
    assert log.flush.recovery_point == log.log_end_offset == 3
    recover(node)
    node.checkpoint()
    node.fs.lose_power()
    again = Broker(node.fs, node.clock, config=SMALL).start()
    assert [value for _, value in contents(again.log())] == [b"0", b"1", b"2"]


@pytest.mark.parametrize(("failing", "missing"), [("log", "index"), ("index", "timeindex")])
def test_a_sync_that_fails_before_a_shortage_is_not_missed(failing: str, missing: str) -> None:
    node = broker()
    node.flushes_new = False
    assert produced(node, b"0") is ErrorCode.NONE
    log = node.log()
    log.segments.active.seal()  # so that its indexes are synced as well
    first = f"{log.directory}/{0:020d}"
    run_out(node, f"{first}.{missing}", times=2)
    node.fs.disk("/disk").faults.fail(Op.SYNC, f"{first}.{failing}")
    log.flush.ask(log)
    node.settle()
    assert [each.path for each in node.logs.failures] == ["/disk/logs"]


def test_a_snapshot_whose_sync_fails_before_a_shortage_is_not_missed() -> None:
    node = broker()
    node.flushes_new = False
    assert produced(node, b"0") is ErrorCode.NONE
    log = node.log()
    for offset in (0, 1):
        snapshot_at_roll(log, offset)
    run_out(node, log.snapshots.path(1), times=1)
    node.fs.disk("/disk").faults.fail(Op.SYNC, log.snapshots.path(0))
    log.flush.ask(log)
    node.settle()
    assert [each.path for each in node.logs.failures] == ["/disk/logs"]


def test_a_cut_that_finds_no_descriptor_for_its_sync_waits_for_one() -> None:
    node = broker()
    for value in (b"0", b"1"):
        assert produced(node, value) is ErrorCode.NONE
    node.settle()
    log = node.log()
    failing = f"{log.directory}/{0:020d}.timeindex"
    begin, count = log.segments.active.begin_flush_cut, 0

    def without_descriptors(tickets: list[Ticket]) -> None:
        nonlocal count
        count += 1
        if count == 1:
            run_out(node, failing, times=2)
        begin(tickets)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Segment, "begin_flush_cut", lambda _segment, tickets: without_descriptors(tickets))
        node.logs.begin_truncate({T0: 1}, node.now)
        node.settle()
    assert count == 2
    assert is_online(node)
    assert (log.log_end_offset, log.unsettled) == (1, 0)


def test_a_start_waits_for_descriptors_and_leaves_every_directory_as_it_was() -> None:
    node = broker()
    assert produced(node, b"x") is ErrorCode.NONE
    directory = node.log().directory
    node.fs.kill()
    again = Broker(node.fs, node.clock, config=SMALL)
    node.fs.disk("/disk").faults.fail(Op.OPEN, directory, fault=TooManyOpenFiles, times=None)
    loading = again.logs.load(again.now)
    shortages = [next(loading).shortage for _ in range(5)]
    assert shortages[0] is None, "its directories are opened"
    assert all(each is not None and directory in each for each in shortages[1:])
    assert is_online(again)
    node.fs.disk("/disk").faults.heal()
    assert {each.shortage for each in loading} == {None}
    assert contents(again.log()) == [(0, b"x")]
    node.fs.kill()
    assert contents(Broker(node.fs, node.clock, config=SMALL).start().log()) == [(0, b"x")]


def test_a_log_that_is_new_stays_so_until_its_names_are_durable() -> None:
    node = broker()
    node.flushes_new = False
    log = node.log()
    assert produced(node, b"x") is ErrorCode.NONE
    run_out(node, f"{log.directory}/partition.metadata")
    log.flush.ask(log)
    node.logs.work(node.now)
    node.clock.advance(20)
    node.logs.complete(node.fs.completions(), node.now)
    assert (log.flush.is_new, log.flush.recovery_point) == (True, 0)
    recover(node)
    node.settle()
    assert (log.flush.is_new, log.flush.recovery_point) == (False, 1)


def test_an_append_that_can_not_roll_is_refused_and_the_next_one_is_taken() -> None:
    node = broker()
    assert [produced(node, b"0"), produced(node, b"1")] == [ErrorCode.NONE] * 2
    run_out(node)
    assert produced(node, b"2") is ErrorCode.KAFKA_STORAGE_ERROR
    recover(node)
    node.settle()
    assert is_online(node)
    assert produced(node, b"3") is ErrorCode.NONE
    assert [value for _, value in contents(node.log())] == [b"0", b"1", b"3"]


def test_what_could_not_be_taken_back_is_taken_back_later() -> None:
    node = broker()
    assert produced(node, b"0") is ErrorCode.NONE
    log = node.log()
    staged = [node.stage(batch_of([value], node.now)) for value in (b"1", b"2")]
    # The first of the two is written, the roll before the second finds no descriptor, and then there is none at all.
    run_out(node, skip=1)
    node.commit()
    assert [each.code for each in staged if isinstance(each, Append)] == [ErrorCode.KAFKA_STORAGE_ERROR] * 2
    assert (log.is_to_be_cut_back, log.unsettled) == (True, 1)
    recover(node)
    node.settle()
    assert (log.is_to_be_cut_back, log.unsettled) == (False, 0)
    assert is_online(node)
    assert produced(node, b"3") is ErrorCode.NONE
    assert [value for _, value in contents(log)] == [b"0", b"3"]
    node.fs.kill()
    again = Broker(node.fs, node.clock, config=SMALL).start()
    assert [value for _, value in contents(again.log())] == [b"0", b"3"]


def test_a_roll_without_its_snapshot_is_a_roll() -> None:
    node = broker()
    for value in (b"0", b"1"):
        assert produced(node, value) is ErrorCode.NONE
    log = node.log()
    node.fs.disk("/disk").faults.fail(Op.OPEN, f"{log.directory}/{2:020d}.snapshot", fault=TooManyOpenFiles)
    assert produced(node, b"2") is ErrorCode.NONE
    assert (list(log.segments.base_offsets), log.snapshots.offsets) == ([0, 2], [])
    assert is_online(node)


def test_a_roll_that_fails_leaves_a_log_that_can_be_appended_to() -> None:
    node = broker()
    assert produced(node, b"0") is ErrorCode.NONE
    log = node.log()
    run_out(node, f"{log.directory}/{1:020d}.log", times=2)
    with pytest.raises(TooManyOpenFiles):
        log.roll(node.now)
    recover(node)
    assert produced(node, b"1") is ErrorCode.NONE
    assert [value for _, value in contents(log)] == [b"0", b"1"]


def test_beyond_the_pinned_files_a_read_is_its_bytes() -> None:
    clock = SimClock()
    fs = SimFileSystem(clock, 1, {"/disk": DiskSettings()})
    node = Broker(fs, clock, config=SMALL)
    node.logs = Logs(LogContext(Descriptors(fs, 16, pins_max=1)), ("/disk/logs",), lambda _topic: SMALL)
    node.start()
    for index in range(2):
        node.produce([b"x"], TopicPartition("t", index))
    first = records_of(read(node.log(), 0, 1_000, FetchIsolation.LOG_END), may_wait=True)
    assert not isinstance(first, bytes | None)
    other = read(node.log(TopicPartition("t", 1)), 0, 1_000, FetchIsolation.LOG_END)
    assert not other.may_pin
    for may_wait in (False, True):
        assert records_of(other, may_wait=may_wait) == other.read_all()
    first.release()
    last = records_of(other, may_wait=False)
    assert not isinstance(last, bytes | None)
    last.release()


def test_flushes_wait_for_those_before_them_and_all_come_to_their_end() -> None:
    clock = SimClock()
    fs = SimFileSystem(clock, 1, {"/disk": DiskSettings()})
    node = Broker(fs, clock, config=SMALL)
    node.logs = Logs(LogContext(Descriptors(fs, 16, pins_max=4)), ("/disk/logs",), lambda _topic: SMALL)
    node.flushes_new = False
    node.start()
    topic_partitions = [TopicPartition("t", index) for index in range(20)]
    for topic_partition in topic_partitions:
        node.produce([b"x"], topic_partition)
    most = 0
    for topic_partition in topic_partitions:
        log = node.log(topic_partition)
        log.flush.ask(log)
    for _ in range(200):
        node.logs.work(node.now)
        most = max(most, fs.pinned_files)
        clock.advance(20)
        node.logs.complete(fs.completions(), node.now)
    assert most <= 4 + 2, "one log more than the limit, with the two files of its flush"
    assert [node.log(topic_partition).flush.recovery_point for topic_partition in topic_partitions] == [1] * len(
        topic_partitions
    )


def test_clients_that_do_not_read_keep_no_flush_away() -> None:
    clock = SimClock()
    fs = SimFileSystem(clock, 1, {"/disk": DiskSettings()})
    node = Broker(fs, clock, config=SMALL)
    node.logs = Logs(LogContext(Descriptors(fs, 16, pins_max=4)), ("/disk/logs",), lambda _topic: SMALL)
    node.start()
    topic_partitions = [TopicPartition("t", index) for index in range(6)]
    for topic_partition in topic_partitions:
        node.produce([b"x"], topic_partition)
    node.settle()
    reads = [read(node.log(topic_partition), 0, 1_000, FetchIsolation.LOG_END) for topic_partition in topic_partitions]
    records = [records_of(each, may_wait=True) for each in reads]
    assert any(isinstance(each, bytes) for each in records), "responses have what they may have"
    log = node.log(topic_partitions[-1])
    node.produce([b"y"], topic_partitions[-1])
    node.flush(topic_partitions[-1])
    assert log.flush.recovery_point == log.log_end_offset == 2


def test_a_flush_that_had_to_wait_goes_on_when_a_file_is_given_back() -> None:
    clock = SimClock()
    fs = SimFileSystem(clock, 1, {"/disk": DiskSettings()})
    node = Broker(fs, clock, config=SMALL)
    context = LogContext(Descriptors(fs, 16, pins_max=4))
    node.logs = Logs(context, ("/disk/logs",), lambda _topic: SMALL)
    node.start()
    topic_partitions = [TopicPartition("t", index) for index in range(6)]
    for topic_partition in topic_partitions:
        node.produce([b"x"], topic_partition)
    node.settle()
    ranges = [
        node.log(topic_partition).segments.active.file_range(0, 10) for topic_partition in topic_partitions[:4]
    ]  # more than the logs may have
    log = node.log(topic_partitions[-1])
    node.produce([b"y"], topic_partitions[-1])
    log.flush.ask(log)
    node.logs.work(node.now)
    assert (log.flush.begun, context.flush_queue.due_ms) == (None, None), "it waits, and nobody spins"
    ranges.pop().release()
    assert context.flush_queue.due_ms == 0
    node.settle()  # although no completion wakes it
    assert log.flush.recovery_point == log.log_end_offset == 2
    for each in ranges:
        each.release()


def test_a_log_without_a_record_is_closed_without_a_sync() -> None:
    node = broker()
    node.flushes_new = False
    for index in range(10):
        node.log(TopicPartition("fresh", index))
    assert node.produce([b"x"], T0)
    node.logs.begin_closing()
    node.settle()
    before = node.fs.trace.count
    for log in node.logs.directories["/disk/logs"].logs.values():
        log.close(node.now)
    assert node.fs.trace.count == before, "what there was to sync was synced before"
    assert node.log(T0).flush.recovery_point == 1
    names = node.fs.list_directory("/disk/logs/fresh-0")
    assert names == ["00000000000000000000.log", "partition.metadata"]


@pytest.mark.parametrize("seed", range(10))
def test_power_lost_after_a_stop_takes_fresh_logs_at_most(seed: int) -> None:
    clock = SimClock()
    node = Broker(SimFileSystem(clock, seed, {"/disk": DiskSettings()}), clock, config=SMALL).start()
    node.flushes_new = False
    fresh = [TopicPartition("fresh", index) for index in range(5)]
    for topic_partition in fresh:
        node.log(topic_partition)
    node.produce([b"x"], T0)
    node.logs.begin_closing()
    node.stop()
    node.fs.lose_power()
    again = Broker(node.fs, clock, config=SMALL).start()
    assert is_online(again)
    assert not any(each.corrupt for each in again.logs.directories.values()), again.progress.problems
    assert contents(again.log(T0)) == [(0, b"x")]
    for topic_partition in fresh:
        assert again.log(topic_partition).log_end_offset == 0
