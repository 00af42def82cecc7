"""The range in which a log may be cleaned, and which log is next."""

from collections.abc import Sequence

from tidelog.model.ids import TopicPartition
from tidelog.storage.cleaner.job import SegmentFacts
from tidelog.storage.cleaner.selection import FirstDirty, LogFacts, assess, filthiest

NOW = 1_000_000
FOREVER = 2**63 - 1


def facts(
    *,
    name: str = "t",
    sizes: Sequence[int] = (100, 100, 100),
    times: Sequence[int] | None = None,
    checkpoint: int | None = None,
    start: int = 0,
    end: int | None = None,
    stable: int | None = None,
    min_lag: int = 0,
    max_lag: int = FOREVER,
    ratio: float = 0.5,
) -> LogFacts:
    """Return the facts of a log with segments of ten offsets each, and an active one."""
    times = times or [10] * len(sizes)
    segments = [SegmentFacts(10 * i, size, times[i], times[i]) for i, size in enumerate(sizes)]
    active = 10 * len(sizes)
    log_end = active + 5 if end is None else end
    return LogFacts(
        TopicPartition(name, 0),
        segments,
        active,
        start,
        log_end,
        log_end if stable is None else stable,
        checkpoint,
        min_lag,
        max_lag,
        ratio,
    )


def test_all_but_the_active_segment() -> None:
    log = assess(facts(), NOW)
    assert (log.first_dirty, log.first_uncleanable_offset) == (FirstDirty(0, False), 30)
    assert (log.clean_bytes, log.cleanable_bytes, log.dirty_ratio) == (0, 300, 1.0)


def test_from_the_checkpoint_on() -> None:
    log = assess(facts(checkpoint=20), NOW)
    assert log.first_dirty == FirstDirty(20, False)
    assert (log.clean_bytes, log.cleanable_bytes) == (200, 100)


def test_a_checkpoint_within_a_segment_leaves_all_of_it_dirty() -> None:
    log = assess(facts(checkpoint=15), NOW)
    assert (log.clean_bytes, log.cleanable_bytes) == (100, 200)


def test_a_checkpoint_outside_the_log_counts_for_nothing() -> None:
    assert assess(facts(checkpoint=5, start=10), NOW).first_dirty == FirstDirty(10, True)
    assert assess(facts(checkpoint=36, start=10), NOW).first_dirty == FirstDirty(10, True)
    assert assess(facts(checkpoint=35), NOW).first_dirty == FirstDirty(35, False)
    assert assess(facts(start=10), NOW).first_dirty == FirstDirty(10, False)


def test_never_past_the_segment_of_the_last_stable_offset() -> None:
    assert assess(facts(stable=29), NOW).first_uncleanable_offset == 20
    assert assess(facts(stable=20), NOW).first_uncleanable_offset == 20
    assert assess(facts(stable=30), NOW).first_uncleanable_offset == 30
    assert assess(facts(stable=3), NOW).first_uncleanable_offset == 0
    assert assess(facts(stable=3), NOW).cleanable_bytes == 0


def test_never_into_a_segment_with_young_records() -> None:
    times = [NOW - 100, NOW - 49, NOW - 100]
    assert assess(facts(times=times, min_lag=50), NOW).first_uncleanable_offset == 10
    assert assess(facts(times=times, min_lag=49), NOW).first_uncleanable_offset == 30
    assert assess(facts(times=times, min_lag=0), NOW).first_uncleanable_offset == 30


def test_clean_segments_are_not_asked_for_their_age() -> None:
    times = [NOW, NOW - 100, NOW - 100]
    assert assess(facts(times=times, min_lag=50, checkpoint=10), NOW).first_uncleanable_offset == 30


def test_due_by_the_dirty_ratio() -> None:
    assert not assess(facts(checkpoint=20, ratio=1 / 3), NOW).is_due
    assert assess(facts(checkpoint=20, ratio=0.33), NOW).is_due


def test_due_by_age_however_small_the_ratio() -> None:
    times = [10, 10, NOW - 100]
    assert not assess(facts(times=times, checkpoint=20, ratio=0.9, max_lag=100), NOW).is_due
    log = assess(facts(times=times, checkpoint=20, ratio=0.9, max_lag=99), NOW)
    assert (log.overdue_ms, log.is_due) == (1, True)


def test_records_without_a_time_are_not_overdue() -> None:
    assert assess(facts(times=[-1, -1, -1], max_lag=1), NOW).overdue_ms == 0


def test_nothing_to_clean_is_never_due() -> None:
    assert not assess(facts(sizes=()), NOW).is_due
    assert not assess(facts(checkpoint=30, ratio=0, max_lag=1), NOW).is_due
    assert not assess(facts(sizes=(0, 0)), NOW).is_due


def test_the_filthiest_is_next() -> None:
    logs = [
        assess(facts(name="clean", checkpoint=30), NOW),
        assess(facts(name="two thirds", checkpoint=10), NOW),
        assess(facts(name="all", stable=10, ratio=1.0), NOW),
        assess(facts(name="third", checkpoint=20, max_lag=1), NOW),
    ]
    chosen = filthiest(logs)
    assert chosen is not None
    assert chosen.topic_partition.topic == "two thirds"
    assert filthiest(logs[:1]) is None
    assert filthiest([logs[0], logs[3]]) is logs[3]
