"""A command that can not do what it was asked says so in a line or two, with the next step, and ends with a code that
scripts can trust. No traceback: that is for bugs.
"""

import sys

from tidelog.cli.exit_codes import FAILED, USAGE
from tidelog.cli.output.ansi import RED, YELLOW, paint


class CommandFailed(Exception):
    """A failure whose text the user is shown. `code` is the exit code."""

    def __init__(self, text: str, code: int = FAILED) -> None:
        super().__init__(text)
        self.code = code


class WrongUsage(CommandFailed):
    """A request that makes no sense, or a file named on the command line that is wrong."""

    def __init__(self, text: str) -> None:
        super().__init__(text, USAGE)


def complain(text: str) -> None:
    """Print an error, every line with our name in front: standard error is often shared."""
    _say(paint("tidelog:", RED, sys.stderr), text)


def warn(text: str) -> None:
    _say(paint("warning:", YELLOW, sys.stderr), text)


def _say(prefix: str, text: str) -> None:
    for line in text.splitlines():
        print(prefix, line, file=sys.stderr)
