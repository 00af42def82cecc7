"""The types that a setting can have: how its text becomes a value, and a value its text again.

They read what Kafka's ConfigDef reads, to the letter: numbers are ASCII digits (Python's `1_000` is not one), a
boolean is `true` or `false` in any case, a list is cut at commas, and text is trimmed as Java trims it. Three things
that Java reads are refused: NaN and infinity, because every comparison with a limit would let them through, and
the endings f and d, and the hexadecimal form, of Java's doubles.
"""

import re
from collections.abc import Callable
from enum import IntEnum
from typing import Generic, TypeVar

from tidelog.config.password import Password
from tidelog.model.lazy_dataclass import dataclass

V = TypeVar("V")

# What Java's String.trim removes: everything up to the space, and nothing beyond ASCII.
_JAVA_BLANKS = "".join(map(chr, range(0x21)))
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]+")
_DECIMAL_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_COMMA = re.compile(r"[ \t\n\x0b\f\r]*,[ \t\n\x0b\f\r]*")


class ConfigType(IntEnum):
    """The number of a type in a DescribeConfigs response."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


@dataclass(slots=True, frozen=True)
class Kind(Generic[V]):
    type: ConfigType
    label: str
    read: Callable[[str], V]
    format: Callable[[V], str]

    def parse(self, text: str) -> V:
        """Return the value of `text`; ValueError says what is wrong with it."""
        return self.read(text.strip(_JAVA_BLANKS))


def format_double(value: float) -> str:
    """Format a double as Java prints it, because clients compare DescribeConfigs answers as text."""
    from decimal import Decimal  # for the descriptions of few settings

    decimal = Decimal(repr(value))
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return f"{decimal:f}"
    sign, digits, _ = decimal.normalize().as_tuple()
    fraction = "".join(map(str, digits[1:])) or "0"
    return f"{'-' if sign else ''}{digits[0]}.{fraction}E{decimal.adjusted()}"


def _read_boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError("not true or false")
    return text.lower() == "true"


def _whole_number(bits: int) -> Callable[[str], int]:
    limit = 1 << (bits - 1)

    def read(text: str) -> int:
        if not _WHOLE_NUMBER.fullmatch(text):
            raise ValueError("not a whole number")
        # Python refuses absurdly long digit strings with another message; such a number is out of range anyway.
        number = int(text) if len(text) < 1000 else limit
        if not -limit <= number < limit:
            raise ValueError(f"does not fit in {bits} bits")
        return number

    return read


def _read_double(text: str) -> float:
    if not _DECIMAL_NUMBER.fullmatch(text):
        raise ValueError("not a number")
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError("too large for a double")
    return value


def _read_list(text: str) -> tuple[str, ...]:
    """Split a list. Repetitions are dropped, as Kafka does when it loads a list."""
    return tuple(dict.fromkeys(_COMMA.split(text))) if text else ()


def _format_boolean(value: bool) -> str:
    return "true" if value else "false"


BOOLEAN: Kind[bool] = Kind(ConfigType.BOOLEAN, "true or false", _read_boolean, _format_boolean)
SHORT: Kind[int] = Kind(ConfigType.SHORT, "a short", _whole_number(16), str)
INT: Kind[int] = Kind(ConfigType.INT, "an int", _whole_number(32), str)
LONG: Kind[int] = Kind(ConfigType.LONG, "a long", _whole_number(64), str)
DOUBLE: Kind[float] = Kind(ConfigType.DOUBLE, "a number", _read_double, format_double)
STRING: Kind[str] = Kind(ConfigType.STRING, "any text", str, str)
CLASS: Kind[str] = Kind(ConfigType.CLASS, "the name of a class", str, str)
LIST: Kind[tuple[str, ...]] = Kind(ConfigType.LIST, "a list", _read_list, ",".join)
PASSWORD: Kind[Password] = Kind(ConfigType.PASSWORD, "a secret", Password, Password.reveal)
