"""Compaction of transactional and idempotent producers' data: aborted records go, markers stay as long as they are
needed, and a live producer is not forgotten."""

from collections.abc import Sequence

import pytest
from tests.unit.storage.cleaner.toylog import ToyLog, state_of

from tidelog.records.record import Record
from tidelog.storage.cleaner.job import LastRecord

RETENTION_MS = 1000


def offsets(records: Sequence[Record]) -> list[int]:
    return [record.offset for record in records]


def test_aborted_data_go_and_cost_committed_records_nothing() -> None:
    log = ToyLog()
    log.data([(b"a", b"1")])
    log.data([(b"a", b"aborted"), (b"b", b"aborted")], producer=1, transactional=True)
    log.data([(b"c", b"1")], producer=2, transactional=True)
    log.marker(1, committed=False)
    log.marker(2, committed=True)
    log.roll()
    log.clean()
    assert offsets(log.records()) == [0, 3]
    assert [batch.header.base_offset for batch in log.batches()] == [0, 1, 3, 4, 5]  # 1: the producer's last, empty


def test_data_aborted_by_a_marker_that_is_not_cleaned_go_too() -> None:
    log = ToyLog()
    log.data([(b"a", b"1"), (b"b", b"1")])
    log.data([(b"a", b"aborted")], producer=1, transactional=True)
    log.roll()
    log.marker(1, committed=False)
    log.clean(producers={})
    assert offsets(log.records()) == [0, 1]


def test_a_later_transaction_of_the_same_producer_counts() -> None:
    log = ToyLog()
    log.data([(b"a", b"aborted")], producer=1, transactional=True)
    log.marker(1, committed=False)
    log.data([(b"a", b"committed")], producer=1, transactional=True)
    log.marker(1, committed=True)
    log.roll()
    log.clean()
    assert state_of(log.committed()) == {b"a": b"committed"}


def test_an_undecided_transaction_stops_the_cleaning_before_its_segment() -> None:
    log = ToyLog()
    log.data([(b"a", b"1")])
    log.roll()
    log.data([(b"b", b"1")])
    log.data([(b"a", b"2")], producer=1, transactional=True)
    log.roll()
    log.data([(b"b", b"2")])
    log.roll()
    result = log.clean()
    assert result.end_offset == 1
    assert offsets(log.records()) == [0, 1, 2, 3]


@pytest.mark.parametrize("committed", [True, False])
def test_a_marker_goes_a_horizon_after_the_last_of_its_data(committed: bool) -> None:
    log = ToyLog()
    log.data([(b"a", b"1")], producer=1, transactional=True)
    marker = log.marker(1, committed=committed)
    log.data([(b"a", b"2")])
    log.roll()
    now = log.now_ms

    def found() -> tuple[bool, int | None]:
        headers = [batch.header for batch in log.batches() if batch.header.is_control]
        return any(header.base_offset == marker for header in headers), headers[
            0
        ].delete_horizon_ms if headers else None

    log.clean(now, producers={})
    assert found() == (True, None), "its data were there until now"
    log.clean(now + 1, producers={})
    assert found() == (True, now + 1 + RETENTION_MS), "nothing of its transaction was left"
    log.clean(now + RETENTION_MS, producers={})
    assert found() == (True, now + 1 + RETENTION_MS)
    log.clean(now + 1 + RETENTION_MS, producers={})
    assert found() == (False, None)


def test_a_marker_with_data_in_the_log_stays_for_ever() -> None:
    log = ToyLog()
    log.data([(b"a", b"1")], producer=1, transactional=True)
    marker = log.marker(1, committed=True)
    log.data([(b"b", b"2")])
    log.roll()
    for step in range(4):
        log.clean(log.now_ms + step * 10 * RETENTION_MS, producers={})
    assert marker in [batch.header.base_offset for batch in log.batches()]


def test_the_last_marker_of_what_is_cleaned_outlives_its_horizon() -> None:
    log = ToyLog()
    log.data([(b"a", b"1")])
    log.data([(b"b", b"1")], producer=1, transactional=True)
    marker = log.marker(1, committed=False)
    log.roll()
    for step in range(4):
        log.clean(log.now_ms + step * 10 * RETENTION_MS, producers={})
    last = log.batches()[-1].header
    assert (last.base_offset, last.is_control, last.records_count) == (marker, True, 1)


def test_the_index_of_aborted_transactions_goes_with_their_data() -> None:
    log = ToyLog()
    log.data([(b"a", b"1")], producer=1, transactional=True)
    log.marker(1, committed=False)
    log.data([(b"a", b"2")])
    log.roll()
    aborted = list(log.aborted)
    log.clean(producers={})
    assert log.indexed_aborted() == aborted
    log.clean(producers={})
    assert log.indexed_aborted() == []


def test_the_last_batch_of_a_live_producer_stays_as_an_empty_one() -> None:
    log = ToyLog()
    log.data([(b"a", b"1")], producer=1)
    log.data([(b"a", b"2")], producer=1)
    log.data([(b"a", b"3")])
    log.roll()
    log.clean()
    empty, last = (batch.header for batch in log.batches())
    assert (empty.base_offset, empty.records_count, empty.producer_id, empty.last_sequence) == (1, 0, 1, 1)
    assert last.base_offset == 2
    log.clean(producers={})
    assert [batch.header.base_offset for batch in log.batches()] == [2], "expired producers keep nothing"


def test_the_marker_that_is_all_of_a_live_producer_stays_readable() -> None:
    log = ToyLog()
    log.data([(b"a", b"1")], producer=1, transactional=True)
    marker = log.marker(1, committed=True)
    log.data([(b"a", b"2")])
    log.roll()
    for step in range(4):
        log.clean(log.now_ms + step * 10 * RETENTION_MS, producers={1: LastRecord(-1, 0)})
    header = next(batch.header for batch in log.batches() if batch.header.base_offset == marker)
    assert header.records_count == 1
