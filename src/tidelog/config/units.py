"""Numbers that settings are counted in, and how a person reads them."""

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1

_TIMES = ((DAY_MS, "day"), (HOUR_MS, "hour"), (MINUTE_MS, "minute"), (SECOND_MS, "second"))
_SIZES = ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB"))
_MS_A_UNIT = {"ms": 1, "millis": 1, "seconds": SECOND_MS, "secs": SECOND_MS, "minutes": MINUTE_MS, "hours": HOUR_MS}


def humanize(name: str, number: float) -> str:
    """Return what `number` means in the setting `name`, whose last word is its unit: "7 days"; "" where the digits say
    it."""
    if number in (INT_MAX, LONG_MAX):
        return "no limit"
    words = name.split(".")
    if words[-1] in _MS_A_UNIT:
        return _time(number * _MS_A_UNIT[words[-1]]) if number >= SECOND_MS or words[-1] != "ms" else ""
    return _size(number) if "bytes" in words or words[-2:] == ["buffer", "size"] else ""


def _time(ms: float) -> str:
    for unit_ms, word in _TIMES:
        if ms >= unit_ms and ms % unit_ms == 0:
            count = int(ms // unit_ms)
            return f"{count} {word}" + ("s" if count > 1 else "")
    return ""


def _size(size_bytes: float) -> str:
    for unit_bytes, word in _SIZES:
        if size_bytes >= unit_bytes:
            count = size_bytes / unit_bytes
            return f"{count:g} {word}" if count * 10 % 1 == 0 else f"about {count:.1f} {word}"
    return ""
