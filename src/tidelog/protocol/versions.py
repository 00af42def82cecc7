"""Version ranges, written as Kafka writes them: `0+`, `3-12`, `7`, `none`."""

import re
from typing import NamedTuple

NEWEST = 32767
_RANGE = re.compile(r"(\d+)(?:(\+)|-(\d+))?")


class Versions(NamedTuple):
    """A closed range of versions; `lowest > highest` is the empty one."""

    lowest: int
    highest: int

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.lowest <= version <= self.highest

    def __bool__(self) -> bool:
        return self.lowest <= self.highest

    def __str__(self) -> str:
        if not self:
            return "none"
        if self.highest == NEWEST:
            return f"{self.lowest}+"
        return str(self.lowest) if self.lowest == self.highest else f"{self.lowest}-{self.highest}"

    def covers(self, other: "Versions") -> bool:
        return not other or (self.lowest <= other.lowest and other.highest <= self.highest)

    def intersection(self, other: "Versions") -> "Versions":
        return Versions(max(self.lowest, other.lowest), min(self.highest, other.highest))


ALL_VERSIONS = Versions(0, NEWEST)
NO_VERSIONS = Versions(0, -1)


def parse_versions(text: str) -> Versions:
    if text == "none":
        return NO_VERSIONS
    match = _RANGE.fullmatch(text)
    if match is None:
        raise ValueError(f"not a version range: {text!r}")
    lowest, open_ended, highest = match.groups()
    if open_ended:
        return Versions(int(lowest), NEWEST)
    return Versions(int(lowest), int(highest if highest is not None else lowest))
