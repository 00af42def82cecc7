"""Reading a `server.properties` from the disk, with `--override` over it: everything that is wrong is said at once,
each with the line that it stands on, or with the option that brought it.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from tidelog.cli.failing import WrongUsage, warn
from tidelog.config import (
    BrokerConfig,
    ConfigError,
    ConfigWarning,
    Notice,
    Problem,
    format_properties,
    load_broker_config,
)

_LINE_END = re.compile(r"\r\n|\r|\n")
OVERRIDE = "--override"


def read_config(path: str, overrides: Mapping[str, str]) -> BrokerConfig:
    """The config, after its warnings are shown. WrongUsage where it is none."""
    text = _read(path)
    whole = f"{text}\n\n{format_properties(overrides)}"  # a blank line ends a continued one
    last_line = len(_LINE_END.split(text))
    try:
        loaded = load_broker_config(whole, path)
    except ConfigError as error:
        raise WrongUsage("\n".join(str(_located(each, last_line)) for each in error.problems)) from error
    for warning in _worth_saying(loaded.warnings, overrides):
        warn(str(_located(warning.problem, last_line)))
    return loaded.config


def _read(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read().decode("iso-8859-1")  # as Java reads properties; others are written as \\uXXXX
    except OSError as error:
        raise WrongUsage(f"{path}: {error.strerror}; name the server.properties of this node") from error


def _located(problem: Problem, last_line: int) -> Problem:
    return replace(problem, origin=OVERRIDE, line=0) if problem.line > last_line else problem


def _worth_saying(warnings: Iterable[ConfigWarning], overrides: Mapping[str, str]) -> list[ConfigWarning]:
    """That an override overrides is not worth a warning."""
    return [each for each in warnings if each.notice is not Notice.REPEATED or each.problem.name not in overrides]
