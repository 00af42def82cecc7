"""What is wrong with a configuration, said so that it can be put right without looking anything up: where, which
setting, what was given, why it will not do, and what would."""

from collections.abc import Iterable
from enum import Enum

from tidelog.config.password import HIDDEN
from tidelog.config.setting import Setting
from tidelog.model.errors import ErrorCode
from tidelog.model.lazy_dataclass import dataclass

_GIVEN_MAX = 200


@dataclass(slots=True, frozen=True)
class Problem:
    name: str
    reason: str
    given: str | None = None
    valid: str = ""
    origin: str = ""
    line: int = 0

    def at(self, origin: str, line: int) -> "Problem":
        return Problem(self.name, self.reason, self.given, self.valid, origin, line)

    def __str__(self) -> str:
        where = f"{self.origin}:{self.line}: " if self.line else f"{self.origin}: " if self.origin else ""
        what = self.name if self.given is None else f"{self.name} = {self.given}"
        return f"{where}{what}: {self.reason}" + (f"; valid: {self.valid}" if self.valid else "")


class Notice(Enum):
    """The reason of a warning, for those who show only some of them."""

    UNKNOWN = "unknown"
    REPEATED = "repeated"
    HARMLESS = "harmless"
    UNWISE = "unwise"


@dataclass(slots=True, frozen=True)
class ConfigWarning:
    """Something that does not keep the node from starting. It is a value: whoever loads a config shows it."""

    notice: Notice
    problem: Problem

    def __str__(self) -> str:
        return str(self.problem)


def sum_up(warnings: Iterable[ConfigWarning]) -> list[str]:
    """Return a line for each warning, and one for all the settings that are ignored without harm."""
    lines: list[str] = []
    harmless: list[str] = []
    for warning in warnings:
        if warning.notice is Notice.HARMLESS:
            harmless.append(warning.problem.name)
        else:
            lines.append(str(warning.problem))
    if harmless:
        names = ", ".join(dict.fromkeys(harmless))
        lines.append(f"ignored, which is harmless (docs/reference/config.md says why of each): {names}")
    return lines


class ConfigError(ValueError):
    """All problems of a configuration together: nobody should mend a file one error at a time. `code` is what a client
    is told."""

    def __init__(self, problems: Iterable[Problem], code: ErrorCode = ErrorCode.INVALID_CONFIG) -> None:
        self.problems = tuple(problems)
        self.code = code
        super().__init__("\n".join(map(str, self.problems)))


def shown(setting: Setting[object] | None, text: str) -> str:
    """Return `text` as it may be shown: never a secret, nor what may be one because nobody knows the setting."""
    if setting is None or setting.is_sensitive:
        return HIDDEN
    return text if len(text) <= _GIVEN_MAX else f"{text[:_GIVEN_MAX]}..."


def missing(setting: Setting[object], name: str, text: str, reason: str) -> Problem:
    """Return the problem of a setting that asks for what is not there; `reason` is the setting's own."""
    return Problem(name, reason, shown(setting, text))


def bad_value(setting: Setting[object], text: str, reason: str) -> Problem:
    return Problem(setting.name, reason, shown(setting, text), setting.valid)
