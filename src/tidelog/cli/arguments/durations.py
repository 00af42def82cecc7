"""Durations, as people write them and as they like to read them.

500ms   10s   15m   6h   2d   1h30m   PT10M (as Kafka's tools take it)
"""

import argparse
import re
from typing import Final

_UNIT_MS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_PART: Final = re.compile(r"(\d+)(ms|s|m|h|d)")
_WHOLE: Final = re.compile(r"(?:\d+(?:ms|s|m|h|d))+")
_ISO: Final = re.compile(r"p(?:(\d+)d)?(?:t(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?)?")
DURATIONS: Final = "30s, 15m, 1h30m or 2d"
_STEPS: Final = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))


def duration_ms(text: str) -> int:
    """Parse a duration, as an argument's type."""
    given = text.strip().lower()
    iso = _ISO.fullmatch(given)
    if iso and any(iso.groups()):
        return sum(int(each or 0) * _UNIT_MS[unit] for each, unit in zip(iso.groups(), "dhms", strict=True))
    if not _WHOLE.fullmatch(given):
        raise argparse.ArgumentTypeError(f"{text!r} is no duration like {DURATIONS}")
    return sum(int(amount) * _UNIT_MS[unit] for amount, unit in _PART.findall(given))


def shown_duration(seconds: float) -> str:
    """Return a duration in its two largest units: `3d 4h`, `1m 5s`, `0.2s`."""
    if seconds < 10:
        return f"{seconds:.1f}s"
    left = round(seconds)
    parts: list[str] = []
    for step, unit in _STEPS:
        amount, left = divmod(left, step)
        if amount or parts:
            parts.append(f"{amount}{unit}")
    return " ".join(each for each in parts[:2] if not each.startswith("0"))
