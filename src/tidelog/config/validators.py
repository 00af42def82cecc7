"""What a value must be beyond its type. A validator says it twice from one source: as a check, and as the words that
an error message and the reference page show."""

import re
from collections.abc import Callable
from typing import Generic, TypeVar

from tidelog.model.lazy_dataclass import dataclass

T_contra = TypeVar("T_contra", contravariant=True)


@dataclass(slots=True, frozen=True)
class Validator(Generic[T_contra]):
    # In `valid`, {kind} stands for the type's own label: "{kind} of at least 1".
    valid: str
    # What is wrong with a value, or "" when nothing is.
    check: Callable[[T_contra], str]


def at_least(low: float) -> Validator[float]:
    return Validator(f"{{kind}} of at least {low}", lambda value: f"below {low}" if value < low else "")


def between(low: float, high: float) -> Validator[float]:
    def check(value: float) -> str:
        return f"below {low}" if value < low else f"above {high}" if value > high else ""

    return Validator(f"{{kind}} from {low} to {high}", check)


def either(validator: Validator[float], also: float) -> Validator[float]:
    return Validator(f"{validator.valid}, or {also}", lambda value: "" if value == also else validator.check(value))


def one_of(*choices: str) -> Validator[str]:
    return Validator(f"one of {', '.join(choices)}", lambda value: "" if value in choices else "not known")


def one_of_ignoring_case(*choices: str) -> Validator[str]:
    known = {choice.upper() for choice in choices}
    words = f"one of {', '.join(choices)}, in any case"
    return Validator(words, lambda value: "" if value.upper() in known else "not known")


def matches(pattern: str, words: str) -> Validator[str]:
    """Return a validator by a pattern; `words` complete the sentence "valid: ..."."""
    compiled = re.compile(pattern)
    return Validator(words, lambda value: "" if compiled.fullmatch(value) else "not of that form")


NON_EMPTY: Validator[str] = Validator("text that is not empty", lambda value: "" if value else "empty")


def entries(*, empty: bool) -> Validator[tuple[str, ...]]:
    """Return a validator for a list of anything. Repetitions need no check: they are dropped when the list is read."""
    return Validator("a list" + ("" if empty else ", not empty"), lambda values: _blank(values, empty))


def all_of(*choices: str, empty: bool = True) -> Validator[tuple[str, ...]]:
    def check(values: tuple[str, ...]) -> str:
        unknown = [value for value in values if value not in choices]
        return _blank(values, empty) or (f"{unknown[0]!r} is not known" if unknown else "")

    words = f"a list of {', '.join(choices)}" + ("" if empty else ", not empty")
    return Validator(words, check)


def _blank(values: tuple[str, ...], empty: bool) -> str:
    if not values:
        return "" if empty else "empty"
    return "an entry is empty" if "" in values else ""
