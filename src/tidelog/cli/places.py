"""Places in a log as people write them: `beginning`, `end`, an offset, a time, or how long ago.

    beginning   end   12345   2026-05-01   2026-05-01T12:30   2026-05-01T12:30:00+02:00   -10m

A time without a zone is UTC, as all times that we print are.
"""

import argparse
import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

_AGO: Final = re.compile(r"-(\d+)(ms|s|m|h|d)")
_UNIT_MS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
PLACES: Final = (
    "beginning, end, an offset, a time (2026-05-01T12:30, UTC unless it says otherwise) or how long ago (-10m)"
)

# ListOffsets' own numbers for them.
END_TIMESTAMP: Final = -1
BEGINNING_TIMESTAMP: Final = -2


@dataclass(slots=True, frozen=True)
class Place:
    """An offset, or else a timestamp (or a special one) whose offset the broker has to be asked for."""

    offset: int | None = None
    timestamp_ms: int = END_TIMESTAMP


BEGINNING: Final = Place(timestamp_ms=BEGINNING_TIMESTAMP)
END: Final = Place(timestamp_ms=END_TIMESTAMP)


def place(text: str) -> Place:
    """An argument's type."""
    named = {"beginning": BEGINNING, "earliest": BEGINNING, "end": END, "latest": END}.get(text.lower())
    if named is not None:
        return named
    if text.isascii() and text.isdigit():
        return Place(offset=int(text))
    return Place(timestamp_ms=timestamp(text))


def timestamp(text: str) -> int:
    ago = _AGO.fullmatch(text)
    if ago:
        return int(time.time() * 1000) - int(ago[1]) * _UNIT_MS[ago[2]]
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is none of {PLACES}") from None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


def shown_time(timestamp_ms: int) -> str:
    """UTC, to the millisecond; as a number where no calendar has it."""
    try:
        moment = datetime.fromtimestamp(timestamp_ms // 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return str(timestamp_ms)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{timestamp_ms % 1000:03d}Z"
