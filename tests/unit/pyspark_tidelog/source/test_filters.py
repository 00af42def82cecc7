"""Predicates that Spark hands over: what they leave out, and what they must not."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from pyspark_tidelog.source.filters import TimeBounds, narrow, time_bounds
from pyspark_tidelog.source.planning import OffsetRange
from tidelog.model.ids import TopicPartition

datasource = pytest.importorskip("pyspark.sql.datasource")

P, Q = TopicPartition("a", 0), TopicPartition("b", 1)
RANGES = [OffsetRange(P, 10, 20), OffsetRange(Q, 15, 30)]


def predicate(kind: str, column: str, value: Any) -> Any:
    return getattr(datasource, kind)((column,), value)


@pytest.mark.parametrize(
    ("kind", "column", "value", "expected"),
    [
        ("EqualTo", "partition", 1, [(Q, 15, 30)]),
        ("EqualNullSafe", "partition", 0, [(P, 10, 20)]),
        ("EqualTo", "partition", 7, []),
        ("GreaterThan", "partition", 0, [(Q, 15, 30)]),
        ("LessThan", "partition", 1, [(P, 10, 20)]),
        ("In", "partition", (1, 2), [(Q, 15, 30)]),
        ("EqualTo", "topic", "a", [(P, 10, 20)]),
        ("In", "topic", ("b", None), [(Q, 15, 30)]),
        ("EqualTo", "offset", 17, [(P, 17, 18), (Q, 17, 18)]),
        ("GreaterThan", "offset", 18, [(P, 19, 20), (Q, 19, 30)]),
        ("GreaterThanOrEqual", "offset", 20, [(Q, 20, 30)]),
        ("LessThan", "offset", 16, [(P, 10, 16), (Q, 15, 16)]),
        ("LessThanOrEqual", "offset", 14, [(P, 10, 15)]),
        ("In", "offset", (12, 16, 99), [(P, 12, 20), (Q, 15, 30)]),
        ("In", "offset", (), []),
    ],
)
def test_one_predicate(kind: str, column: str, value: Any, expected: list[tuple[TopicPartition, int, int]]) -> None:
    assert narrow(RANGES, [predicate(kind, column, value)]) == expected


def test_predicates_must_all_hold() -> None:
    both = [predicate("GreaterThan", "offset", 15), predicate("LessThanOrEqual", "offset", 17)]
    assert narrow(RANGES, both) == [(P, 16, 18), (Q, 16, 18)]
    assert narrow(RANGES, [*both, predicate("EqualTo", "offset", 18)]) == []
    assert narrow(RANGES, [predicate("In", "offset", (12, 18)), predicate("GreaterThan", "offset", 12)]) == [
        (P, 18, 19),
        (Q, 18, 19),
    ]
    assert narrow(RANGES, [predicate("EqualTo", "topic", "a"), predicate("EqualTo", "topic", "b")]) == []


@pytest.mark.parametrize(
    ("kind", "column", "value"),
    [
        ("EqualTo", "value", 1),
        ("EqualTo", "partition", "1"),
        ("EqualTo", "partition", None),
        ("EqualTo", "partition", True),
        ("GreaterThan", "offset", 15.5),
        ("GreaterThan", "topic", "a"),
        ("StringStartsWith", "topic", "zzz"),
        ("In", "offset", (1, "x")),
    ],
)
def test_what_is_not_understood_is_not_used(kind: str, column: str, value: Any) -> None:
    assert narrow(RANGES, [predicate(kind, column, value)]) == RANGES


def test_negations_and_nested_columns_are_not_used() -> None:
    assert narrow(RANGES, [datasource.Not(predicate("EqualTo", "partition", 1))]) == RANGES
    assert narrow(RANGES, [datasource.EqualTo(("partition", "x"), 1), datasource.IsNotNull(("offset",))]) == RANGES


def at(milliseconds: float) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("GreaterThan", at(5000), (5001, None)),
        ("GreaterThan", at(5000.5), (5001, None)),
        ("GreaterThanOrEqual", at(5000), (5000, None)),
        ("GreaterThanOrEqual", at(5000.5), (5001, None)),
        ("LessThan", at(5000), (None, 4999)),
        ("LessThan", at(5000.5), (None, 5000)),
        ("LessThanOrEqual", at(5000.5), (None, 5000)),
        ("EqualTo", at(5000), (5000, 5000)),
        ("EqualTo", at(5000.5), (1, 0)),
        ("In", (at(7000), at(5000)), (5000, 7000)),
        ("GreaterThan", at(-1), (None, None)),
        ("GreaterThan", at(5000).replace(tzinfo=None), (None, None)),
        ("EqualTo", "1970-01-01", (None, None)),
    ],
)
def test_times(kind: str, value: Any, expected: tuple[int | None, int | None]) -> None:
    assert time_bounds([predicate(kind, "timestamp", value)]) == TimeBounds(*expected)
    assert narrow(RANGES, [predicate(kind, "timestamp", value)]) == RANGES


def test_times_from_both_sides() -> None:
    both = [predicate("GreaterThanOrEqual", "timestamp", at(5)), predicate("LessThan", "timestamp", at(9))]
    assert time_bounds(both) == (5, 8)
    assert time_bounds([]) == (None, None)


def test_a_predicate_is_known_by_its_name() -> None:
    """Nothing of Spark is imported to look at one: planning stays plain Python."""

    @dataclass
    class EqualTo:
        attribute: tuple[str, ...]
        value: int

    assert narrow(RANGES, [EqualTo(("partition",), 1)]) == [(Q, 15, 30)]
