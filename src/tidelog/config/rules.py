"""How settings must agree with each other. A rule reads values and yields what is wrong, naming the setting that the
user most likely wants to change. All rules run, so that all complaints come together."""

from collections.abc import Callable, Iterator
from typing import Any

from tidelog.config.problems import Problem, shown
from tidelog.config.setting import Setting
from tidelog.config.values import Unresolved, Values

Rule = Callable[[Values], Iterator[Problem]]


def run_rules(rules: tuple[Rule, ...], values: Values) -> list[Problem]:
    problems: list[Problem] = []
    for rule in rules:
        # A rule about a value that was already refused by itself is skipped.
        try:
            problems.extend(rule(values))
        except Unresolved:
            continue
    return problems


def violation(values: Values, setting: Setting[Any], reason: str, valid: str = "") -> Problem:
    text = setting.format(values.get(setting))
    return Problem(setting.name, reason, None if text is None else shown(setting, text), valid)
