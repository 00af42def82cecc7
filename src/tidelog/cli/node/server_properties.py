"""Reading a `server.properties` from the disk, with `--override` over it: everything that is wrong is said at once,
each with the line that it stands on, or with the option that brought it. An unknown setting is a warning in the file,
which others may read too, and an error in an option.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
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
    sum_up,
)
from tidelog.io.directories import with_absolute_directories

_LINE_END = re.compile(r"\r\n|\r|\n")
OVERRIDE = "--override"


def read_config(
    path: str, overrides: Mapping[str, str], *, again: bool = False, tell: Callable[[str], None] = warn
) -> BrokerConfig:
    """Return the config, after its warnings were reported. WrongUsage where it is none. Read `again`, it does not
    repeat warnings about settings that are ignored without harm."""
    text = _read(path)
    whole = f"{text}\n\n{format_properties(overrides)}"  # a blank line ends a continued one
    last_line = len(_LINE_END.split(text))
    try:
        loaded = load_broker_config(whole, path, must_be_known=overrides)
    except ConfigError as error:
        raise WrongUsage("\n".join(str(_located(each, last_line)) for each in error.problems)) from error
    for line in sum_up(_worth_saying(loaded.warnings, overrides, last_line, again)):
        tell(line)
    return with_absolute_directories(loaded.config)


def _read(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read().decode("iso-8859-1")  # as Java reads properties; other characters are written as \\uXXXX
    except OSError as error:
        raise WrongUsage(f"{path}: {error.strerror}; name the server.properties of this node") from error


def _located(problem: Problem, last_line: int) -> Problem:
    return replace(problem, origin=OVERRIDE, line=0) if problem.line > last_line else problem


def _worth_saying(
    warnings: Iterable[ConfigWarning], overrides: Mapping[str, str], last_line: int, again: bool
) -> Iterator[ConfigWarning]:
    """Yield the warnings to report: not that an override replaces a setting of the file, nor harmless ones once
    more."""
    for each in warnings:
        is_override = each.notice is Notice.REPEATED and each.problem.name in overrides
        if not is_override and not (again and each.notice is Notice.HARMLESS):
            yield ConfigWarning(each.notice, _located(each.problem, last_line))
