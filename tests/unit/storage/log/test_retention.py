"""Retention: which segments are deleted, which stay, and in which order."""

from tests.sim.broker import Broker, batch_of, contents, topic_config

from tidelog.model.errors import ErrorCode
from tidelog.sim.clock import SimClock
from tidelog.sim.disk import DiskSettings
from tidelog.sim.faults import Op
from tidelog.sim.files import SimFileSystem
from tidelog.storage.log.reading import FetchIsolation, read
from tidelog.storage.log.retention import delete_old_segment

ONE_BATCH = len(batch_of([b"0"], 0, b"k"))
DIRECTORY = "/disk/logs/t-0"


def broker(count: int = 0, **config: object) -> Broker:
    clock = SimClock()
    config = {"internal_segment_bytes": 2 * ONE_BATCH, "retention_ms": -1, "retention_bytes": -1, **config}
    node = Broker(SimFileSystem(clock, 1, {"/disk": DiskSettings()}), clock, config=topic_config(**config)).start()
    for i in range(count):
        node.produce([b"%d" % i], key=b"k")
        clock.advance(1000)
    node.log().update_high_watermark(count)
    return node


def bases(node: Broker) -> list[int]:
    return list(node.log().segments.base_offsets)


def test_by_size_as_long_as_the_rest_is_large_enough() -> None:
    node = broker(7, retention_bytes=4 * ONE_BATCH)
    node.retain()
    assert bases(node) == [2, 4, 6], "5 batches are left: without the next segment it would be 3"
    assert node.log().log_start_offset == 2


def test_by_time_and_the_active_segment_too_when_it_is_due() -> None:
    node = broker(5, retention_ms=10_000)
    node.retain()
    assert bases(node) == [0, 2, 4]
    node.clock.advance(7_000)
    node.retain()
    assert bases(node) == [2, 4]
    node.clock.advance(60_000)
    node.retain()
    assert bases(node) == [5]
    assert (node.log().log_start_offset, node.log().log_end_offset) == (5, 5)
    node.produce([b"next"], key=b"k")
    assert contents(node.log()) == [(5, b"next")]


def test_never_past_the_high_watermark() -> None:
    node = broker(5, retention_ms=0)
    node.log().high_watermark = 3
    node.clock.advance(1000)
    node.retain()
    assert bases(node) == [2, 4]


def test_not_at_all_without_the_policy() -> None:
    node = broker(5, retention_ms=0, retention_bytes=0, cleanup_policy=("compact",), max_compaction_lag_ms=1 << 60)
    node.clock.advance(100_000)
    node.retain()
    assert bases(node) == [0, 2, 4]


def test_delete_records() -> None:
    node = broker(7)
    log = node.log()
    assert log.delete_records(8) is ErrorCode.OFFSET_OUT_OF_RANGE
    generation = log.generation
    assert log.delete_records(5) is ErrorCode.NONE
    assert log.generation > generation
    assert read(log, 4, 100, FetchIsolation.LOG_END).code is ErrorCode.OFFSET_OUT_OF_RANGE
    assert bases(node) == [0, 2, 4, 6], "segments go later"
    node.retain()
    assert bases(node) == [4, 6]
    assert log.delete_records(-1) is ErrorCode.NONE
    assert log.log_start_offset == 7
    node.fs.kill()
    assert Broker(node.fs, node.clock).start().log().log_start_offset == 5, "as far as it was written down"


def test_files_go_after_the_delay_and_a_reader_keeps_what_it_was_promised() -> None:
    node = broker(4, file_delete_delay_ms=500)
    log = node.log()
    promised = read(log, 0, 1000, FetchIsolation.LOG_END).file_range()
    assert promised is not None
    log.delete_records(2)
    node.retain()
    assert f"{0:020d}.log.deleted" in node.fs.list_directory(DIRECTORY)
    node.clock.advance(500)
    node.retain()
    names = node.fs.list_directory(DIRECTORY)
    assert not [name for name in names if "deleted" in name]
    assert not [name for name in names if name.startswith(f"{0:020d}")]
    assert len(promised.read(1000)) == 2 * ONE_BATCH
    promised.release()


def test_a_clock_that_is_set_back_does_not_keep_deleted_files() -> None:
    node = broker(4, file_delete_delay_ms=500)
    node.log().delete_records(2)
    node.retain()
    node.clock.jump_wall(-3_600_000)
    node.retain()
    assert not [name for name in node.fs.list_directory(DIRECTORY) if "deleted" in name]


def test_no_segment_goes_before_the_start_that_passed_it_is_durable() -> None:
    node = broker(7, retention_bytes=0)
    node.fs.disk("/disk").faults.fail(Op.SYNC, "/disk/logs/log-start-offset-checkpoint.tmp")
    node.retain()
    assert not [name for name in node.fs.list_directory(DIRECTORY) if "deleted" in name]
    assert node.logs.failures


def test_a_start_that_moved_while_it_was_written_down_deletes_only_to_what_is_on_disk() -> None:
    node = broker(7)
    log = node.log()
    log.delete_records(6)
    assert delete_old_segment(log, 2, node.now)
    assert not delete_old_segment(log, 2, node.now)
    assert bases(node) == [2, 4, 6]
    assert delete_old_segment(log, 6, node.now)
