"""Offsets as people write them: `beginning`, `end`, a number, a time, how long ago, or the last records.

    beginning   end   12345   2026-05-01   2026-05-01T12:30   2026-05-01T12:30:00+02:00   -10m   -1h30m   -10

A time without a zone is UTC, as all times that we print are.
"""

import argparse
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from tidelog.cli.arguments.durations import duration_ms

OFFSET_FORMS: Final = (
    "beginning, end, an offset, a time (2026-05-01T12:30, UTC unless it says otherwise) or how long ago (-10m, -1h30m)"
)
START_FORMS: Final = f"{OFFSET_FORMS}; -10: the last ten records"

# The special timestamps by which ListOffsets knows the end and the beginning.
END_TIMESTAMP: Final = -1
BEGINNING_TIMESTAMP: Final = -2


@dataclass(slots=True, frozen=True)
class OffsetArgument:
    """An offset as it was written: a number, or else a timestamp (or a special one) whose offset the broker has to be
    asked for; or else how many of the last records are meant."""

    offset: int | None = None
    timestamp_ms: int = END_TIMESTAMP
    last: int | None = None


BEGINNING: Final = OffsetArgument(timestamp_ms=BEGINNING_TIMESTAMP)
END: Final = OffsetArgument(timestamp_ms=END_TIMESTAMP)


def parse_offset(text: str) -> OffsetArgument:
    """Parse an offset, as an argument's type."""
    named = {"beginning": BEGINNING, "earliest": BEGINNING, "end": END, "latest": END}.get(text.lower())
    if named is not None:
        return named
    if text.isascii() and text.isdigit():
        return OffsetArgument(offset=int(text))
    return OffsetArgument(timestamp_ms=parse_timestamp(text))


def parse_start(text: str) -> OffsetArgument:
    """Parse where to begin to read, which may be the last records as well, as an argument's type."""
    digits = text.removeprefix("-")
    if text.startswith("-") and digits.isascii() and digits.isdigit() and int(digits):
        return OffsetArgument(last=int(digits))
    try:
        return parse_offset(text)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(f"{text!r} is none of {START_FORMS}") from None


def parse_timestamp(text: str) -> int:
    """Parse a time, or how long ago it was, as an argument's type; return milliseconds since 1970."""
    if text.startswith("-"):
        try:
            return int(time.time() * 1000) - duration_ms(text.removeprefix("-"))
        except argparse.ArgumentTypeError:
            raise argparse.ArgumentTypeError(f"{text!r} is none of {OFFSET_FORMS}") from None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is none of {OFFSET_FORMS}") from None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


def shown_time(timestamp_ms: int) -> str:
    """Return the time in UTC, to the millisecond; as a number where no calendar has it."""
    try:
        moment = datetime.fromtimestamp(timestamp_ms // 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return str(timestamp_ms)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{timestamp_ms % 1000:03d}Z"
