"""Which events are repeats, whether the worker remembers the earlier ones or has to ask the log."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog_pipelines.ecommerce.events import REPEAT_MS_MAX
from tidelog_pipelines.ecommerce.repeats import FirstOfEach, forget_all

START_MS = 1_790_000_000_000


@dataclass(slots=True)
class ListLog:
    """Records of partition 0 of a topic, each an id (None: does not count) and milliseconds; and the ranges that were
    read."""

    records: list[tuple[str | None, int]]
    asked: list[tuple[int, int]] = field(default_factory=list)
    name: str = "list"

    def ids(self, _topic: str, _partition: int, start: int, end: int, since_ms: int) -> Iterator[tuple[str, int]]:
        self.asked.append((start, end))
        for event_id, timestamp_ms in self.records[start:end]:
            if event_id is not None and timestamp_ms >= since_ms:
                yield event_id, timestamp_ms

    def batch(self, start: int, end: int) -> pa.RecordBatch:
        rows = self.records[start:end]
        columns = {
            "topic": pa.array(["views"] * len(rows), pa.string()),
            "partition": pa.array([0] * len(rows), pa.int32()),
            "offset": pa.array(range(start, end), pa.int64()),
            "event_id": pa.array([each[0] for each in rows], pa.string()),
            "timestamp_ms": pa.array([each[1] for each in rows], pa.int64()),
            "at": pa.array(range(start, end), pa.int64()),  # any column that is kept: here the offset
        }
        return pa.RecordBatch.from_pydict(columns)

    def kept(self, start: int, end: int) -> list[int]:
        (found,) = FirstOfEach(self)(iter([self.batch(start, end)]))
        assert found.schema.names == ["at"]
        offsets: list[int] = found.column("at").to_pylist()
        return offsets


@pytest.fixture(autouse=True)
def _new_process() -> None:
    forget_all()


def log_of(*records: tuple[str | None, int]) -> ListLog:
    return ListLog([(event_id, START_MS + after_ms) for event_id, after_ms in records])


def test_the_first_of_each_id_stays_and_what_does_not_count_goes() -> None:
    log = log_of(("a", 0), ("b", 1), ("a", 2), (None, 3), ("c", 4))
    assert log.kept(0, 5) == [0, 1, 4]


def test_a_worker_remembers_what_it_saw_in_earlier_batches() -> None:
    log = log_of(("a", 0), ("b", 1), ("a", 2), ("c", 3))
    assert log.kept(0, 2) == [0, 1]
    assert log.kept(2, 4) == [3]
    assert log.asked == []


def test_a_new_worker_looks_into_the_log() -> None:
    log = log_of(("a", 0), ("b", 1), ("a", 2), ("c", 3))
    assert log.kept(2, 4) == [3]
    assert log.asked == [(0, 2)]


def test_a_worker_that_missed_a_batch_reads_only_that() -> None:
    log = log_of(("a", 0), ("b", 1), ("c", 2), ("b", 3), ("a", 4))
    log.kept(0, 1)
    assert log.kept(3, 5) == []
    assert log.asked == [(1, 3)]


def test_a_batch_that_is_replayed_keeps_the_same_events() -> None:
    log = log_of(("a", 0), ("b", 1), ("a", 2))
    assert log.kept(0, 3) == log.kept(0, 3) == [0, 1]


def test_an_id_may_come_again_when_a_repeat_can_not() -> None:
    log = log_of(("a", 0), ("a", REPEAT_MS_MAX), ("a", 2 * REPEAT_MS_MAX + 1))
    assert log.kept(0, 3) == [0, 2]


def test_what_does_not_count_is_no_first() -> None:
    log = log_of((None, 0), ("a", 1))
    assert log.kept(0, 2) == [1]


def test_memory_is_bounded() -> None:
    from tidelog_pipelines.ecommerce import repeats

    log = log_of(*((f"id-{number}", number * 1_000) for number in range(1_000)))
    for start in range(0, 1_000, 10):
        log.kept(start, start + 10)
    (recent,) = repeats._recent.values()
    assert len(recent.seen_ms) <= 2 * REPEAT_MS_MAX // 1_000 + 11


@given(
    st.lists(st.tuples(st.sampled_from(["a", "b", "c", None]), st.integers(0, REPEAT_MS_MAX // 2)), max_size=30),
    st.lists(st.tuples(st.integers(0, 30), st.booleans()), max_size=6),
)
def test_however_batches_and_workers_fall(gaps: list[tuple[str | None, int]], cuts: list[tuple[int, bool]]) -> None:
    forget_all()
    time_ms, records = START_MS, []
    for event_id, gap_ms in gaps:
        time_ms += gap_ms
        records.append((event_id, time_ms))
    log = ListLog(records)
    kept: list[int] = []
    begin = 0
    for end, is_new_worker in [*sorted(cuts), (len(records), False)]:
        if is_new_worker:
            forget_all()
        if begin < min(end, len(records)):
            kept += log.kept(begin, min(end, len(records)))
            begin = min(end, len(records))
    assert kept == slowly(records)


def slowly(records: list[tuple[str | None, int]]) -> list[int]:
    def is_repeat(offset: int, event_id: str, timestamp_ms: int) -> bool:
        before = [each_ms for each, each_ms in records[:offset] if each == event_id]
        return bool(before) and timestamp_ms - before[-1] <= REPEAT_MS_MAX

    return [
        offset
        for offset, (event_id, timestamp_ms) in enumerate(records)
        if event_id is not None and not is_repeat(offset, event_id, timestamp_ms)
    ]
