"""Each option is declared once: its name, its meaning, and its default. Both the code that reads a value and the
reference page (docs/spark-options.md) follow the declaration.

Spark's options are text, and the case of a name does not matter: names are compared in lower case, and shown as
declared.
"""

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from pyspark_tidelog.errors import OptionError

LONG_MAX: Final = (1 << 63) - 1
INT_MAX: Final = (1 << 31) - 1

_NUMBER: Final = re.compile(r"[+-]?[0-9]+")
_DURATION: Final = re.compile(r"([0-9]+) *([a-z]*)")
_UNIT_US: Final = {
    "us": 1,
    "": 1_000,
    "ms": 1_000,
    "s": 1_000_000,
    "m": 60_000_000,
    "min": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
}


@dataclass(frozen=True, slots=True)
class Declared:
    name: str
    default: str  # as a user would write it; "": the option has no default
    doc: str
    scope: str = "both"  # batch, stream or both: which kind of query it means something to


def by_name(declared: Iterable[Declared]) -> dict[str, Declared]:
    return {each.name.lower(): each for each in declared}


def lowered(options: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in options.items()}


def nearest(name: str, known: Iterable[str]) -> str:
    """Return "did you mean ...?" with the known name most like an unknown one, or "" where none is close."""
    names = {each.lower(): each for each in known}
    found = difflib.get_close_matches(name.lower(), names, 1)
    return f"did you mean {names[found[0]]}?" if found else ""


class Given:
    """The options of one read or write, read by their declarations."""

    def __init__(self, options: Mapping[str, str], declared: Mapping[str, Declared]) -> None:
        self._options = lowered(options)
        self._declared = declared

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._options

    def text(self, name: str) -> str | None:
        """Return the value that was given, else the default, stripped; None where there is neither. OptionError where
        the value that was given is empty."""
        declared = self._declared[name.lower()]
        found = self._options.get(name.lower(), declared.default).strip()
        if not found and name in self:
            raise OptionError(name, "is empty", "give it a value, or leave it out")
        return found or None

    def number_or_none(self, name: str, minimum: int = 1, maximum: int = LONG_MAX) -> int | None:
        found = self.text(name)
        return None if found is None else parse_number(name, found, minimum, maximum)

    def number(self, name: str, minimum: int = 0, maximum: int = INT_MAX) -> int:
        return parse_number(name, self.text(name) or "", minimum, maximum)

    def flag(self, name: str) -> bool:
        return self.choice(name, ("true", "false")) == "true"

    def choice(self, name: str, choices: Iterable[str]) -> str:
        found = (self.text(name) or "").lower()
        if found not in choices:
            raise OptionError(name, f"{found!r} is not possible", f"choose {' or '.join(choices)}")
        return found

    def duration_ms(self, name: str) -> int:
        return parse_duration_ms(name, self.text(name) or "")


def parse_number(name: str, text: str, minimum: int, maximum: int = LONG_MAX) -> int:
    if not _NUMBER.fullmatch(text):
        raise OptionError(name, f"{text!r} is not a whole number")
    found = int(text)
    if not minimum <= found <= maximum:
        allowed = f"from {minimum}" if maximum in (LONG_MAX, INT_MAX) else f"from {minimum} to {maximum}"
        raise OptionError(name, f"{found} is out of range", f"choose a number {allowed}")
    return found


def parse_duration_ms(name: str, text: str) -> int:
    """Return the milliseconds of a duration as Spark writes it: 250ms, 10s, 15m, 2h, 1d. A bare number is in
    milliseconds."""
    found = _DURATION.fullmatch(text.lower())
    if found is None or found[2] not in _UNIT_US:
        raise OptionError(name, f"{text!r} is not a duration", "write, for example, 500ms, 30s, 15m or 2h")
    duration_ms = int(found[1]) * _UNIT_US[found[2]] // 1_000
    if duration_ms > LONG_MAX:
        raise OptionError(name, f"{text!r} is longer than can be counted")
    return duration_ms
