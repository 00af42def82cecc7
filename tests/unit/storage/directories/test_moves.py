"""A log moves to another directory while it is written to, truncated or deleted; and the answers of
AlterReplicaLogDirs."""

import pytest
from tests.sim.broker import T0, Broker, contents, topic_config

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.sim.clock import SimClock
from tidelog.sim.disk import DiskSettings
from tidelog.sim.faults import Op
from tidelog.sim.files import SimFileSystem
from tidelog.storage.log.log import Log

A, B = "/a/logs", "/b/logs"
U, V = "1" * 32, "2" * 32
CONFIG = topic_config(internal_segment_bytes=300, index_interval_bytes=100, file_delete_delay_ms=100)


def machine(capacity_bytes: int = 1 << 20) -> tuple[SimFileSystem, SimClock]:
    clock = SimClock()
    return SimFileSystem(clock, 3, {"/a": DiskSettings(), "/b": DiskSettings(capacity_bytes)}), clock


def broker(records: int = 5, **options: int) -> Broker:
    fs, clock = machine(**options)
    node = Broker(fs, clock, (A, B), CONFIG).start()
    fs.forbids_waits = True  # no part of a move waits for the disk
    node.logs.moves.slice_bytes = 100
    for i in range(records):
        node.produce([b"%d" % i])
    return node


def again(node: Broker) -> Broker:
    fresh = Broker(node.fs, node.clock, (A, B), CONFIG)
    fresh.epoch = node.epoch + 1
    fresh.logs.moves.slice_bytes = 100
    fresh.fs.forbids_waits = False
    fresh.start()
    fresh.fs.forbids_waits = True
    return fresh


def stop(node: Broker) -> None:
    node.settle()
    node.fs.forbids_waits = False
    node.stop()


def alter(node: Broker, path: str = B, unique: str = U) -> ErrorCode:
    return node.logs.alter_directory(T0, path, unique)


def step(node: Broker, times: int = 1) -> None:
    for _ in range(times):
        node.logs.step_moves(node.now)
        node.settle()


def finish(node: Broker) -> None:
    for _ in range(100):
        if not node.logs.moves.is_moving(T0):
            return
        step(node)
    raise AssertionError(f"the move does not come to its end: {node.logs.moves._moves}")


def directories(node: Broker) -> dict[str, list[str]]:
    return {path: [name for name in node.fs.list_directory(path) if name.startswith("t-")] for path in (A, B)}


def values(log: Log) -> list[bytes | None]:
    return [value for _, value in contents(log)]


def test_a_log_moves() -> None:
    node = broker()
    old = node.log()
    old.update_high_watermark(4)
    generation = old.generation
    assert alter(node) is ErrorCode.NONE
    assert old.generation > generation, "a cleaning under way is called off"
    finish(node)
    log = node.log()
    assert log is not old
    assert log.directory == f"{B}/t-0"
    assert log.generation > old.generation - 1 > generation
    assert (log.high_watermark, log.flush.recovery_point) == (4, 5)
    assert contents(log) == [(i, b"%d" % i) for i in range(5)]
    assert directories(node) == {A: [f"t-0.{U}-delete"], B: ["t-0"]}
    assert [(each.partition, each.path, each.error) for each in node.logs.moves.done] == [(T0, B, None)]
    node.clock.advance(100)
    node.retain()
    assert directories(node) == {A: [], B: ["t-0"]}
    node.produce([b"more"])
    stop(node)
    fresh = again(node)
    assert values(fresh.log()) == [b"0", b"1", b"2", b"3", b"4", b"more"]
    assert fresh.log().high_watermark == 4
    assert fresh.progress.problems == []


def test_appends_go_on_meanwhile() -> None:
    node = broker()
    alter(node)
    lags = []
    for i in range(5, 30):
        node.produce([b"%d" % i])
        lags.append(node.logs.moves.future_lag(T0))
        for _ in range(2):
            node.logs.step_moves(node.now)
    assert lags[0] == 6
    finish(node)
    assert node.logs.moves.future_lag(T0) is None
    assert values(node.log()) == [b"%d" % i for i in range(30)]
    assert node.log().directory == f"{B}/t-0"


def test_a_slice_is_bounded_and_several_moves_take_turns() -> None:
    node = broker()
    other = TopicPartition("t", 2)
    node.log(TopicPartition("t", 1))
    for i in range(5):
        node.produce([b"%d" % i], other)
    alter(node)
    node.logs.alter_directory(other, B, V)
    step(node)  # makes the copies
    moved = []
    for _ in range(10):
        before = [node.logs.moves.future_lag(each) for each in (T0, other)]
        node.logs.step_moves(node.now)
        after = [node.logs.moves.future_lag(each) for each in (T0, other)]
        moved.append([x - y for x, y in zip(before, after, strict=True) if x is not None and y is not None])
    assert moved == [[1, 0], [0, 1]] * 5


def test_the_limit() -> None:
    node = broker()
    alter(node)
    step(node)
    node.logs.moves.limit(0, node.now)
    step(node, 3)
    assert node.logs.moves.future_lag(T0) == 5, "0 stops"
    node.logs.moves.limit(100, node.now)
    node.clock.advance(1)
    lags = []
    for _ in range(4):
        node.logs.step_moves(node.now)
        lags.append(node.logs.moves.future_lag(T0))
        node.clock.advance(400)
    assert lags == [4, 4, 3, 3]
    node.logs.moves.limit(2**63 - 1, node.now)
    finish(node)


def test_truncated_and_written_again_before_the_mover_looks() -> None:
    node = broker(records=8)
    alter(node)
    step(node, 7)
    assert 0 < (node.logs.moves.future_lag(T0) or 0) < 5
    node.truncate(2)
    node.epoch += 1
    for i in range(10):
        node.produce([b"new %d" % i])
    finish(node)
    assert values(node.log()) == [b"0", b"1", *(b"new %d" % i for i in range(10))]
    assert [tuple(each) for each in node.log().epochs.entries()] == [(0, 0), (1, 2)]
    node.log().producers.validate_state()


def test_the_start_moves_past_what_was_copied() -> None:
    node = broker(records=8)
    alter(node)
    step(node, 3)
    node.log().update_high_watermark(8)
    assert node.log().delete_records(7) is ErrorCode.NONE
    node.retain()
    finish(node)
    log = node.log()
    assert (log.log_start_offset, log.log_end_offset, log.segments.first.base_offset) == (7, 8, 7)
    assert values(log) == [b"7"]
    node.fs.lose_power()
    assert again(node).log().log_start_offset == 7, "the start is in the checkpoint of its new directory"


def test_a_start_in_the_middle_of_a_batch() -> None:
    node = broker(records=0)
    for i in range(4):
        node.produce([b"%d" % i, b"%d" % i, b"%d" % i])
    node.log().update_high_watermark(12)
    node.log().delete_records(4)
    alter(node)
    finish(node)
    assert contents(node.log()) == [(4, b"1"), (5, b"1"), *((i, b"%d" % (i // 3)) for i in range(6, 12))]
    assert node.log().log_start_offset == 4


def test_an_epoch_without_records_moves_too() -> None:
    node = broker()
    node.log().assign_epoch(3, 5)
    alter(node)
    finish(node)
    assert [tuple(each) for each in node.log().epochs.entries()] == [(0, 0), (3, 5)]


def test_producers_and_open_transactions_move_too() -> None:
    node = broker(records=0)
    node.produce([b"a"], producer_id=7, producer_epoch=0, base_sequence=0)
    node.produce([b"t"], producer_id=9, producer_epoch=0, base_sequence=0)
    node.log().producers.start_verification(node.now, 11, 0, 0, supports_epoch_bump=False)
    alter(node)
    finish(node)
    duplicate = node.produce([b"a"], producer_id=7, producer_epoch=0, base_sequence=0)
    assert (duplicate.code, getattr(duplicate, "first_offset", None)) == (ErrorCode.NONE, 0)
    assert 11 in node.log().producers.verifications
    stop(node)
    assert list(again(node).log().producers.producers) == [7, 9]


def test_asked_for_again_elsewhere_and_back() -> None:
    node = broker()
    alter(node)
    step(node, 3)
    assert alter(node, B, V) is ErrorCode.NONE, "the same move"
    assert directories(node)[B] == [f"t-0.{U}-future"]
    assert alter(node, A, V) is ErrorCode.NONE, "back: cancelled"
    node.settle()
    assert directories(node) == {A: ["t-0"], B: [f"t-0.{U}-delete"]}
    assert [each.error for each in node.logs.moves.done] == ["cancelled"]
    assert alter(node, B, V) is ErrorCode.NONE
    finish(node)
    assert values(node.log()) == [b"0", b"1", b"2", b"3", b"4"]
    assert alter(node, A, "3" * 32) is ErrorCode.NONE
    finish(node)
    assert node.log().directory == f"{A}/t-0"
    node.produce([b"5"])
    stop(node)
    assert values(again(node).log()) == [b"%d" % i for i in range(6)]


@pytest.mark.parametrize("steps", range(12))
def test_a_deleted_partition_takes_its_copy_with_it(steps: int) -> None:
    node = broker()
    alter(node)
    for _ in range(steps):
        node.logs.step_moves(node.now)
        node.clock.advance(2)
        node.logs.complete(node.fs.completions(), node.now)
        node.logs.work(node.now)
    node.logs.delete(T0, V, node.now)
    node.settle()
    assert node.logs.find(T0) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    node.clock.advance(200)
    node.retain()
    assert directories(node) == {A: [], B: []}
    assert not node.logs.failures
    node.produce([b"anew"])
    node.fs.kill()
    assert values(again(node).log()) == [b"anew"]


def test_what_it_refuses() -> None:
    node = broker()
    moves = node.logs.alter_directory
    assert moves(T0, "/c/logs", U) is ErrorCode.LOG_DIR_NOT_FOUND
    assert moves(TopicPartition("x" * 249, 0), B, U) is ErrorCode.INVALID_TOPIC_EXCEPTION
    node.logs.cordoned = [B]
    assert moves(T0, B, U) is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    node.logs.cordoned = []
    unborn = TopicPartition("u", 0)
    assert moves(unborn, A, U) is ErrorCode.REPLICA_NOT_AVAILABLE
    assert node.log(unborn).directory == f"{A}/u-0", "made where it was asked for, not in the emptiest"
    assert node.log(TopicPartition("u", 1)).directory == f"{B}/u-1"


def test_a_dead_target_ends_the_move_and_refuses_the_next() -> None:
    node = broker()
    alter(node)
    step(node, 2)
    node.fs.disk("/b").faults.fail(Op.WRITE, times=None)
    step(node, 2)
    assert [each.path for each in node.logs.failures] == [B]
    assert [each.error for each in node.logs.moves.done] == [f"{B} is offline"]
    assert values(node.log()) == [b"0", b"1", b"2", b"3", b"4"]
    assert alter(node) is ErrorCode.KAFKA_STORAGE_ERROR


def test_a_full_target_waits() -> None:
    node = broker(records=0, capacity_bytes=4000)
    for _ in range(30):
        node.produce([b"x" * 150])
    alter(node)
    for _ in range(60):
        step(node)
        node.clock.advance(500)
    assert node.logs.moves.is_moving(T0)
    assert not node.logs.failures
    node.fs.disk("/b").settings.capacity_bytes = 1 << 20
    for _ in range(60):
        step(node)
        node.clock.advance(500)
    assert len(values(node.log())) == 30
    assert node.log().directory == f"{B}/t-0"


def test_a_damaged_original_stays_and_the_move_is_off() -> None:
    node = broker()
    node.flush()
    path = node.log().segments[1].path
    node.fs.rot(path, [8 * 68])
    alter(node)
    for _ in range(20):
        step(node)
    assert not node.logs.moves.is_moving(T0)
    assert [path in (each.error or "") for each in node.logs.moves.done] == [True]
    assert node.log().directory == f"{A}/t-0"
    assert directories(node)[B] == [f"t-0.{U}-delete"]


def test_cold_pages_are_warmed_first() -> None:
    node = broker()
    node.flush()
    stop(node)
    node.fs.lose_power()
    fresh = again(node)
    fresh.log()
    alter(fresh)
    cold = fresh.fs.cold_reads
    finish(fresh)
    assert values(fresh.log()) == [b"0", b"1", b"2", b"3", b"4"]
    assert fresh.fs.cold_reads - cold <= 12, "headers and indexes alone"


def test_the_commit_waits_for_the_server() -> None:
    node = broker()
    asked = []

    def refuse(partition: TopicPartition, path: str) -> bool:
        asked.append((partition, path))
        return False

    node.logs.moves.may_commit = refuse
    alter(node)
    step(node, 30)
    assert asked[0] == (T0, B)
    assert node.log().directory == f"{A}/t-0"
    node.logs.moves.may_commit = lambda _partition, _path: True
    finish(node)
    assert node.log().directory == f"{B}/t-0"


def slow(node: Broker, disk: str, sync_ms: int = 10_000) -> None:
    settings = node.fs.disk(disk).settings
    settings.sync_ms_min = settings.sync_ms_max = sync_ms


def turns(node: Broker, times: int) -> None:
    for _ in range(times):
        node.logs.step_moves(node.now)
        node.logs.work(node.now)
        node.clock.advance(5)
        node.logs.complete(node.fs.completions(), node.now)


def test_it_is_not_committed_before_the_copy_is_as_durable_as_the_original() -> None:
    node = broker()
    node.flush()
    slow(node, "/b")
    alter(node)
    turns(node, 60)
    assert (node.logs.moves.future_lag(T0), node.log().directory) == (0, f"{A}/t-0")
    node.settle()
    finish(node)
    assert node.log().flush.recovery_point == 5


def test_a_copy_that_is_less_durable_than_the_original_needs_a_flush() -> None:
    node = broker()
    node.flush()
    node.logs.moves.may_commit = lambda _partition, _path: False
    alter(node)
    step(node, 30)
    move = node.logs.moves._moves[T0]
    assert move.future is not None
    assert not move.needs_flush
    move.future.flush.recovery_point -= 1
    assert move.needs_flush


def test_nothing_counts_as_durable_between_the_two_renames() -> None:
    node = broker()
    node.flush()
    node.logs.moves.may_commit = lambda _partition, _path: False
    alter(node)
    step(node, 30)
    slow(node, "/a")
    node.logs.moves.may_commit = lambda _partition, _path: True
    turns(node, 10)
    log = node.log()
    assert log.directory == f"{B}/t-0.{U}-future", "committed, and not promoted"
    node.produce([b"after"])
    log.flush.ask(log)
    turns(node, 60)
    assert (log.log_end_offset, log.flush.recovery_point) == (6, 5)
    node.settle()
    assert (log.directory, log.flush.recovery_point) == (f"{B}/t-0", 6)


def test_the_cleaner_offset_goes_along() -> None:
    node = broker()
    offsets = {path: node.logs.directories[path].cleaner_offsets for path in (A, B)}
    offsets[A].load({T0: 3})
    alter(node)
    finish(node)
    node.settle()
    assert (offsets[B].get(T0), node.logs.directories[A].is_free(T0)) == (3, True)


def test_a_move_goes_on_after_a_restart() -> None:
    node = broker(records=8)
    alter(node)
    step(node, 6)
    stop(node)
    fresh = again(node)
    lag = fresh.logs.moves.future_lag(T0)
    assert lag is not None
    assert 0 < lag < 8
    finish(fresh)
    assert values(fresh.log()) == [b"%d" % i for i in range(8)]
    assert fresh.log().directory == f"{B}/t-0"


def test_what_the_original_lost_in_a_crash_the_copy_loses_too() -> None:
    node = broker(records=8)
    alter(node)
    node.logs.moves.may_commit = lambda _partition, _path: False
    step(node, 20)
    node.fs.kill()
    fresh = again(node)
    fresh.truncate(5)
    fresh.fs.kill()  # before the mover has looked
    last = again(fresh)
    for i in range(6):
        last.produce([b"new %d" % i])
    finish(last)
    assert values(last.log()) == [b"0", b"1", b"2", b"3", b"4", *(b"new %d" % i for i in range(6))]
