"""For any predicates, the ranges that they leave out hold no row that matches."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyspark_tidelog.source.filters import narrow, time_bounds
from pyspark_tidelog.source.planning import OffsetRange
from tidelog.model.ids import TopicPartition

datasource = pytest.importorskip("pyspark.sql.datasource")

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
HOLDS: dict[str, Callable[[Any, Any], bool]] = {
    "EqualTo": lambda left, right: bool(left == right),
    "EqualNullSafe": lambda left, right: bool(left == right),
    "GreaterThan": lambda left, right: bool(left > right),
    "GreaterThanOrEqual": lambda left, right: bool(left >= right),
    "LessThan": lambda left, right: bool(left < right),
    "LessThanOrEqual": lambda left, right: bool(left <= right),
    "In": lambda left, right: left in right,
}


@st.composite
def predicates(draw: st.DrawFn) -> Any:
    column, values = draw(
        st.sampled_from(
            [
                ("topic", st.sampled_from("abc")),
                ("partition", st.integers(-1, 4)),
                ("offset", st.integers(-3, 25)),
                ("timestamp", st.integers(-3000, 9000).map(lambda us: EPOCH + timedelta(microseconds=us))),
            ]
        )
    )
    kind = draw(st.sampled_from(sorted(HOLDS)))
    value = tuple(draw(st.lists(values, max_size=3))) if kind == "In" else draw(values)
    return getattr(datasource, kind)((column,), value)


def matches(predicate: Any, row: dict[str, Any]) -> bool:
    return HOLDS[type(predicate).__name__](row[predicate.attribute[0]], predicate.value)


@settings(deadline=None, max_examples=60)
@given(st.lists(predicates(), max_size=4), st.lists(st.tuples(st.integers(0, 20), st.integers(0, 5)), max_size=4))
def test_every_row_that_matches_is_still_there(filters: list[Any], spans: list[tuple[int, int]]) -> None:
    named = [TopicPartition("abc"[index % 3], index) for index in range(len(spans))]
    ranges = [
        OffsetRange(topic_partition, start, start + size)
        for topic_partition, (start, size) in zip(named, spans, strict=True)
    ]
    narrowed = {each.topic_partition: range(each.start, each.end) for each in narrow(ranges, filters)}
    for topic_partition, start, end in ranges:
        kept = narrowed.get(topic_partition, range(0))
        assert set(kept) <= set(range(start, end))
        for offset in range(start, end):
            row = {"topic": topic_partition.topic, "partition": topic_partition.partition, "offset": offset}
            known = [each for each in filters if each.attribute[0] in row]
            assert offset in kept or not all(matches(each, row) for each in known)


@settings(deadline=None, max_examples=60)
@given(st.lists(predicates(), max_size=4), st.integers(-3, 9))
def test_every_time_that_matches_is_within_the_bounds(filters: list[Any], time_ms: int) -> None:
    row = {"timestamp": EPOCH + timedelta(milliseconds=time_ms)}
    if all(matches(each, row) for each in filters if each.attribute[0] == "timestamp"):
        first, last = time_bounds(filters)
        assert first is None or first <= time_ms
        assert last is None or time_ms <= last
