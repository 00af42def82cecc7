"""Truncation, reading within bounds, and timestamps; and the offsets that each of them moves."""

from typing import Any

import pytest
from tests.sim.broker import T0, Broker, batch_of, contents, marker, topic_config

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.records.builder import BatchBuilder
from tidelog.sim.clock import SimClock
from tidelog.sim.disk import DiskSettings
from tidelog.sim.files import SimFileSystem
from tidelog.storage.append.outcome import AppendOrigin
from tidelog.storage.log.reading import (
    EARLIEST_LOCAL_TIMESTAMP,
    EARLIEST_TIMESTAMP,
    LATEST_TIERED_TIMESTAMP,
    LATEST_TIMESTAMP,
    MAX_TIMESTAMP,
    NOT_FOUND,
    FetchIsolation,
    offset_for_time,
    read,
)
from tidelog.storage.segment.settings import roll_jitter_ms

ONE_BATCH = len(batch_of([b"0"], 0))
LOG_END, HIGH_WATERMARK, TXN_COMMITTED = FetchIsolation


def broker(count: int = 0, **config: object) -> Broker:
    clock = SimClock()
    fs = SimFileSystem(clock, 1, {"/disk": DiskSettings()})
    node = Broker(fs, clock, config=topic_config(internal_segment_bytes=2 * ONE_BATCH, **config)).start()
    node.log()  # created and flushed before the time of the first record
    for i in range(count):
        node.produce([b"%d" % i], producer_id=1, producer_epoch=0, base_sequence=i)
    return node


def test_a_segment_rolls_by_time_with_its_jitter() -> None:
    node = broker(1, segment_ms=1000, segment_jitter_ms=400)
    jitter = node.log().segments.active.roll_jitter_ms
    assert jitter == roll_jitter_ms(T0, 0, 400)
    assert 0 < jitter < 400
    node.clock.advance(1000 - jitter)
    node.produce([b"x"])
    assert len(node.log().segments) == 1
    other = broker(1, segment_ms=1000, segment_jitter_ms=400)
    other.clock.advance(1001 - jitter)
    other.produce([b"x"])
    assert list(other.log().segments.base_offsets) == [0, 1]
    assert len({roll_jitter_ms(TopicPartition("t", i), 0, 1000) for i in range(20)}) > 10


@pytest.mark.parametrize(("said", "became"), [(2, 2), (3, 3), (99, 3), (-1, 0)])
def test_the_high_watermark_stays_within_the_log_whatever_is_said(said: int, became: int) -> None:
    log = broker(3).log()
    assert log.update_high_watermark(said) == log.high_watermark == became


def test_truncation_takes_segments_producers_epochs_and_marks_with_it() -> None:
    node = broker(3)
    node.epoch = 5
    for i in range(3, 6):
        node.produce([b"%d" % i], producer_id=1, producer_epoch=0, base_sequence=i)
    node.flush()
    log = node.log()
    log.update_high_watermark(6)
    generation = log.generation
    node.truncate(3)
    assert [value for _, value in contents(log)] == [b"0", b"1", b"2"]
    assert list(log.segments.base_offsets) == [0, 2]
    assert (log.high_watermark, log.flush.recovery_point, log.log_end_offset) == (3, 3, 3)
    assert log.generation > generation
    assert log.epochs.latest_epoch == 0
    assert log.producers.producers[1].last_sequence == 2
    assert log.snapshots.offsets == [2]
    node.produce([b"other"], producer_id=1, producer_epoch=0, base_sequence=3)
    assert contents(log)[-1] == (3, b"other")


def test_truncation_below_the_first_segment_starts_there() -> None:
    node = broker(6)
    log = node.log()
    log.update_high_watermark(6)
    log.delete_records(5)
    node.retain()
    assert log.segments.first.base_offset == 4
    node.truncate(1)
    assert (log.log_start_offset, log.log_end_offset, list(log.segments.base_offsets)) == (1, 1, [1])
    node.produce([b"x"])
    node.fs.kill()
    again = Broker(node.fs, node.clock).start()
    assert contents(again.log()) == [(1, b"x")]


def test_nothing_to_truncate_still_drops_an_epoch_without_records() -> None:
    node = broker(2)
    log = node.log()
    log.assign_epoch(7, 2)
    assert node.logs.begin_truncate({T0: 2}, node.now) == [], "nothing to cut"
    assert log.epochs.latest_epoch == 0


def test_a_flush_that_was_under_way_does_not_vouch_for_what_replaced_the_cut() -> None:
    node = broker(5)
    log = node.log()
    node.flush()
    log.flush.is_asked_for = True
    node.produce([b"5"], producer_id=1, producer_epoch=0, base_sequence=5)
    begun = log.flush.begun
    assert begun is not None
    assert begun.until == 6
    node.logs.begin_truncate({T0: 2}, node.now)
    assert (begun.until, log.flush.recovery_point) == (2, 2), "before anything of it is on disk"
    log.flush.ask(log)
    assert not log.flush.is_due(log, node.now), "what is about to go is not made durable"
    while log.is_unsettled:
        node.clock.advance(1)
        node.logs.work(node.now)
        node.logs.complete(node.fs.completions(), node.now)
        assert log.flush.recovery_point == 2


def test_reads_stop_where_they_must() -> None:
    node = broker(4)
    log = node.log()
    log.update_high_watermark(3)
    assert read(log, 5, 1000, LOG_END).code is ErrorCode.OFFSET_OUT_OF_RANGE
    assert read(log, 4, 1000, LOG_END).segment is None
    assert read(log, 2, 1000, HIGH_WATERMARK).size_bytes == ONE_BATCH
    assert read(log, 2, 1000, LOG_END).size_bytes == 2 * ONE_BATCH
    assert read(log, 3, 1000, HIGH_WATERMARK).segment is None
    assert read(log, 0, 1, LOG_END).size_bytes == ONE_BATCH
    assert read(log, 0, 1, LOG_END, min_one_batch=False).segment is None


def test_the_last_stable_offset_and_the_aborted_transactions() -> None:
    node = broker()
    node.logs._context.producer_config.verification_enabled = False
    options: dict[str, Any] = {"producer_id": 8, "producer_epoch": 0, "is_transactional": True}
    node.produce([b"plain"])
    node.produce([b"a"], base_sequence=0, **options)
    log = node.log()
    log.update_high_watermark(2)
    assert log.last_stable_offset == 1
    assert read(log, 1, 1000, TXN_COMMITTED).segment is None
    node.end_transaction(8, 0, committed=False)
    assert log.last_stable_offset == 1, "the marker may still be lost"
    log.update_high_watermark(3)
    assert log.last_stable_offset == 3
    aborted = read(log, 1, 1 << 20, TXN_COMMITTED).aborted
    assert [(each.producer_id, each.first_offset, each.last_offset) for each in aborted] == [(8, 1, 2)]
    assert read(log, 0, 1, TXN_COMMITTED).aborted == [], "the answer ends before the transaction"
    assert read(log, 1, 1 << 20, HIGH_WATERMARK).aborted == []


def test_an_abort_marker_in_a_segment_that_the_same_turn_rolls() -> None:
    node = broker()
    node.logs._context.producer_config.verification_enabled = False
    node.produce([b"a"], producer_id=8, producer_epoch=0, base_sequence=0, is_transactional=True)
    node.stage(marker(node.now, 8, 0, False), origin=AppendOrigin.COORDINATOR, transaction_version=1)
    for i in range(4):
        node.stage(batch_of([b"%d" % i], node.now))
    node.commit()
    node.log().update_high_watermark(6)
    node.stop()
    again = Broker(node.fs, node.clock).start().log()
    assert [each.first_offset for each in read(again, 0, 1000, TXN_COMMITTED).aborted] == [0]


@pytest.mark.parametrize("special", [LATEST_TIERED_TIMESTAMP, MAX_TIMESTAMP])
def test_times_of_an_empty_log(special: int) -> None:
    assert offset_for_time(broker().log(), special) == NOT_FOUND


def test_offsets_for_times() -> None:
    node = broker()
    first = node.now
    for i, at in enumerate((0, 50, 20, 70, 60)):
        node.epoch = i
        node.stage(batch_of([b"%d" % i], first + at))
        node.commit()
    log = node.log()
    found = [offset_for_time(log, first + at)[1:] for at in (-1, 0, 1, 20, 51, 70, 71)]
    assert found == [(0, 0), (0, 0), (1, 1), (1, 1), (3, 3), (3, 3), (-1, -1)]
    assert offset_for_time(log, MAX_TIMESTAMP) == (first + 70, 3, 3)
    assert offset_for_time(log, LATEST_TIMESTAMP) == (-1, 5, 4)
    log.update_high_watermark(5)
    log.delete_records(2)
    assert offset_for_time(log, EARLIEST_TIMESTAMP) == (-1, 2, 2)
    assert offset_for_time(log, EARLIEST_LOCAL_TIMESTAMP) == (-1, 2, 2)
    assert offset_for_time(log, first)[1] == 2


@pytest.mark.parametrize("segment_bytes", [2 * ONE_BATCH, 100 * ONE_BATCH])
@pytest.mark.parametrize(("start", "expected"), [(0, (70, 1)), (2, (60, 2)), (3, (50, 4)), (5, NOT_FOUND[:2])])
def test_the_latest_time_is_of_a_record_that_can_be_read(
    start: int, expected: tuple[int, int], segment_bytes: int
) -> None:
    """The largest timestamp may be of a record below the log start, in the same segment and even in the same batch."""
    clock = SimClock()
    node = Broker(SimFileSystem(clock, 1), clock, config=topic_config(internal_segment_bytes=segment_bytes)).start()
    builder = BatchBuilder()
    for time in (10, 70, 60):
        builder.append(time, None, b"v")
    node.stage(builder.build())
    node.stage(batch_of([b"a"], 40))
    node.stage(batch_of([b"b"], 50))
    node.commit()
    log = node.log()
    log.update_high_watermark(5)
    assert log.delete_records(start) is ErrorCode.NONE
    assert offset_for_time(log, MAX_TIMESTAMP)[:2] == expected
