"""Places in a log as people write them: `beginning`, `end`, an offset, a time, how long ago, or the last records.

    beginning   end   12345   2026-05-01   2026-05-01T12:30   2026-05-01T12:30:00+02:00   -10m   -1h30m   -10

A time without a zone is UTC, as all times that we print are.
"""

import argparse
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from tidelog.cli.arguments.durations import duration_ms

PLACES: Final = (
    "beginning, end, an offset, a time (2026-05-01T12:30, UTC unless it says otherwise) or how long ago (-10m, -1h30m)"
)
STARTS: Final = f"{PLACES}; -10: the last ten records"

# The special timestamps by which ListOffsets knows the end and the beginning.
END_TIMESTAMP: Final = -1
BEGINNING_TIMESTAMP: Final = -2


@dataclass(slots=True, frozen=True)
class Place:
    """A place in a log: an offset, or else a timestamp (or a special one) whose offset the broker has to be asked for;
    or else the last records, so many of them."""

    offset: int | None = None
    timestamp_ms: int = END_TIMESTAMP
    last: int | None = None


BEGINNING: Final = Place(timestamp_ms=BEGINNING_TIMESTAMP)
END: Final = Place(timestamp_ms=END_TIMESTAMP)


def place(text: str) -> Place:
    """Parse a place in a log, as an argument's type."""
    named = {"beginning": BEGINNING, "earliest": BEGINNING, "end": END, "latest": END}.get(text.lower())
    if named is not None:
        return named
    if text.isascii() and text.isdigit():
        return Place(offset=int(text))
    return Place(timestamp_ms=timestamp(text))


def start(text: str) -> Place:
    """Parse a place to read from, which may be the last records as well, as an argument's type."""
    digits = text.removeprefix("-")
    if text.startswith("-") and digits.isascii() and digits.isdigit() and int(digits):
        return Place(last=int(digits))
    try:
        return place(text)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(f"{text!r} is none of {STARTS}") from None


def timestamp(text: str) -> int:
    """Parse a time, or how long ago it was, as an argument's type; return milliseconds since 1970."""
    if text.startswith("-"):
        try:
            return int(time.time() * 1000) - duration_ms(text.removeprefix("-"))
        except argparse.ArgumentTypeError:
            raise argparse.ArgumentTypeError(f"{text!r} is none of {PLACES}") from None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is none of {PLACES}") from None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


def shown_time(timestamp_ms: int) -> str:
    """Return the time in UTC, to the millisecond; as a number where no calendar has it."""
    try:
        moment = datetime.fromtimestamp(timestamp_ms // 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return str(timestamp_ms)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{timestamp_ms % 1000:03d}Z"
