"""Narrows a batch read by the predicates that Spark hands over: on topics, partitions, offsets and times.

Narrowing only ever leaves out records that cannot match; Spark applies every predicate again to the rows. So a
predicate that is not understood here is simply not used.

Times need care. A broker finds the first record that is not older than a time, so nothing before that record can
match a lower bound. But producers choose their own times, and these need not rise with the offsets: after the first
record that is too young, there may be others that are not. An upper bound could therefore narrow only a partition whose
times are the broker's own (LogAppendTime), and `batch_plan` does not use it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple, TypeAlias

from pyspark_tidelog.source.planning import OffsetRange

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


class TimeBounds(NamedTuple):
    """The times of the records that may match, in milliseconds since 1970; None is no bound. Nothing matches where the
    first is after the last. The first is never below 1: to a broker, negative times stand for special offsets."""

    first_ms: int | None
    last_ms: int | None  # inclusive


@dataclass(slots=True)
class _Bounds:
    """The values of one column that may match: from `first` to `last`, both included, and one of `among`."""

    first: int | None = None
    last: int | None = None
    among: frozenset[Any] | None = None

    def at_least(self, value: int) -> None:
        self.first = value if self.first is None else max(self.first, value)

    def at_most(self, value: int) -> None:
        self.last = value if self.last is None else min(self.last, value)

    def one_of(self, values: Iterable[Any]) -> None:
        found = frozenset(values)
        self.among = found if self.among is None else self.among & found

    def allows(self, value: Any) -> bool:
        if self.among is not None and value not in self.among:
            return False
        return (self.first is None or value >= self.first) and (self.last is None or value <= self.last)

    def ends(self) -> tuple[int | None, int | None]:
        """Return the smallest and the largest value that may match, given `among` too; None is no bound. The first is
        after the last where nothing can match."""
        if self.among is None:
            return self.first, self.last
        left = [value for value in self.among if self.allows(value)]
        return (min(left), max(left)) if left else (1, 0)


def narrow(ranges: Iterable[OffsetRange], predicates: Iterable[object]) -> list[OffsetRange]:
    """Return the ranges without the topics, partitions and offsets that cannot match; empty ranges are dropped.
    `predicates`: Spark's filters (pyspark.sql.datasource), all of which must hold."""
    bounds = _bounds(predicates)
    topics, partitions = bounds["topic"], bounds["partition"]
    first, last = bounds["offset"].ends()
    found = []
    for each in ranges:
        if topics.allows(each.topic_partition.topic) and partitions.allows(each.topic_partition.partition):
            start = each.start if first is None else max(each.start, first)
            end = each.end if last is None else min(each.end, last + 1)
            if start < end:
                found.append(OffsetRange(each.topic_partition, start, end))
    return found


def time_bounds(predicates: Iterable[object]) -> TimeBounds:
    """Return the bounds that the predicates set for `timestamp`. The module says what each end may be used for."""
    first, last = _bounds(predicates)["timestamp"].ends()
    return TimeBounds(first if first is not None and first > 0 else None, last)


# A predicate's value as the whole numbers just below and above it: equal for a whole number. Text stands for both.
_Value: TypeAlias = tuple[Any, Any]


def _whole(value: object) -> _Value | None:
    return (value, value) if isinstance(value, int) and not isinstance(value, bool) else None


def _text(value: object) -> _Value | None:
    return (value, value) if isinstance(value, str) else None


def _milliseconds(value: object) -> _Value | None:
    if not isinstance(value, datetime) or value.tzinfo is None:
        return None
    time_us = (value - _EPOCH) // _MICROSECOND
    return time_us // 1_000, -(-time_us // 1_000)


_VALUES: Final[Mapping[str, Callable[[object], _Value | None]]] = {
    "topic": _text,
    "partition": _whole,
    "offset": _whole,
    "timestamp": _milliseconds,
}


def _bounds(predicates: Iterable[object]) -> Mapping[str, _Bounds]:
    found = {name: _Bounds() for name in _VALUES}
    for predicate in predicates:
        attribute: tuple[str, ...] = getattr(predicate, "attribute", ())
        if len(attribute) == 1 and attribute[0] in found:
            _apply(found[attribute[0]], _VALUES[attribute[0]], predicate)
    return found


def _apply(bounds: _Bounds, read: Callable[[object], _Value | None], predicate: object) -> None:
    """Narrow the bounds of a column by a predicate, which is recognized by the name of its class, so that nothing of
    Spark is imported here."""
    kind, given = type(predicate).__name__, getattr(predicate, "value", None)
    if kind == "In":
        values = [read(each) for each in given or () if each is not None]
        if None not in values:  # a value between two whole numbers equals no record's, and is left out
            bounds.one_of(value[0] for value in values if value is not None and value[0] == value[1])
        return
    value = read(given)
    if value is None:
        return
    below, above = value
    match kind:
        case "EqualTo" | "EqualNullSafe":
            bounds.one_of([below] if below == above else [])
        case "GreaterThan" if not isinstance(below, str):
            bounds.at_least(below + 1)
        case "GreaterThanOrEqual" if not isinstance(below, str):
            bounds.at_least(above)
        case "LessThan" if not isinstance(below, str):
            bounds.at_most(above - 1)
        case "LessThanOrEqual" if not isinstance(below, str):
            bounds.at_most(below)
