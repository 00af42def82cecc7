"""Reads from the options where a read starts and where it ends: earliest, latest, offsets or times.

Where several options name the start, the first of these counts, as in Spark's Kafka connector: `startingTimestamp`,
`startingOffsetsByTimestamp`, `startingOffsets`. The same holds for the end. `asOf` is not an option of the connector:
beside another option for the end it is refused.
"""

from datetime import UTC, datetime, timedelta
from typing import Final, cast

from pyspark_tidelog.declared import Given, parse_number
from pyspark_tidelog.errors import OptionError
from pyspark_tidelog.kafka.offsets import (
    EARLIEST,
    LATEST,
    ByPartition,
    ByTime,
    Earliest,
    Latest,
    NoMatch,
    Offsets,
    OffsetSpec,
    parse_offsets,
    parse_timestamps,
)

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def starting(given: Given, is_streaming: bool) -> OffsetSpec:
    spec = _by_time(given, "startingTimestamp", "startingOffsetsByTimestamp", _no_match(given))
    if spec is not None:
        return spec
    spec = _by_offset(given, "startingOffsets") or (Latest() if is_streaming else Earliest())
    if not is_streaming and _is_anywhere(spec, LATEST):
        raise OptionError("startingOffsets", "a batch cannot start at latest", "use earliest, or an offset")
    return spec


def ending(given: Given) -> OffsetSpec:
    time_ms = as_of_ms(given)
    if time_ms is not None:
        return ByTime(time_ms + 1, "latest", "asOf")
    # Where no record is so young, all records are older, and the read ends at the end of the log.
    spec = _by_time(given, "endingTimestamp", "endingOffsetsByTimestamp", "latest")
    if spec is not None:
        return spec
    spec = _by_offset(given, "endingOffsets") or Latest()
    if _is_anywhere(spec, EARLIEST):
        raise OptionError("endingOffsets", "a batch cannot end at earliest", "use latest, or an offset")
    return spec


def _by_time(given: Given, for_all: str, for_each: str, no_match: NoMatch) -> OffsetSpec | None:
    if for_all in given:
        return ByTime(parse_number(for_all, given.text(for_all) or "", 0), no_match, for_all)
    if for_each in given:
        return ByTime(parse_timestamps(for_each, given.text(for_each) or ""), no_match, for_each)
    return None


def _by_offset(given: Given, name: str) -> OffsetSpec | None:
    text = given.text(name)
    match text and text.lower():
        case None:
            return None
        case "earliest":
            return Earliest()
        case "latest":
            return Latest()
        case _:
            return ByPartition(parse_offsets(name, text or ""), name)


def _no_match(given: Given) -> NoMatch:
    return cast(NoMatch, given.choice("startingOffsetsByTimestampStrategy", ("error", "latest")))


def _is_anywhere(spec: OffsetSpec, offset: int) -> bool:
    if isinstance(spec, ByPartition):
        return offset in spec.offsets.values()
    return isinstance(spec, Latest if offset == LATEST else Earliest)


def check_order(starting: OffsetSpec, ending: OffsetSpec) -> None:
    """Refuse a start after its end, as far as that is known without asking the cluster."""
    match starting, ending:
        case ByPartition(begins, option), ByPartition(ends, other):
            _check_pairs(option, begins, other, ends)
        case ByTime(dict() as begins, _, option), ByTime(dict() as ends, _, other):
            _check_pairs(option, begins, other, ends)
        case ByTime(int() as begin, _, option), ByTime(int() as end, _, other) if begin > end:
            raise OptionError(option, f"{begin} is after {other} {end}")


def _check_pairs(option: str, begins: Offsets, other: str, ends: Offsets) -> None:
    if begins.keys() != ends.keys():
        only = ", ".join(sorted(map(str, begins.keys() ^ ends.keys())))
        raise OptionError(option, f"names other partitions than {other} does: {only}", "name the same in both")
    for topic_partition, begin in begins.items():
        if begin > ends[topic_partition] >= 0:
            raise OptionError(
                option, f"{topic_partition} would start at {begin}, after its end {ends[topic_partition]} in {other}"
            )


def as_of_ms(given: Given) -> int | None:
    text = given.text("asOf")
    if text is None:
        return None
    for name in ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp"):
        if name in given:
            raise OptionError("asOf", f"is there together with {name}", "give one of the two")
    return parse_number("asOf", text, 0) if text.isdigit() else _instant_ms(text)


def _instant_ms(text: str) -> int:
    step = "write, for example, 2026-11-15T09:00:00Z"
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise OptionError("asOf", f"{text!r} is not a time", step) from None
    if instant.tzinfo is None:
        raise OptionError("asOf", f"{text!r} has no time zone", step)
    found = (instant - _EPOCH) // timedelta(milliseconds=1)
    if found < 0:
        raise OptionError("asOf", f"{text!r} is before 1970")
    return found
