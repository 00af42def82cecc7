"""`tidelog`: the entry point. It finds the command's module by name, and turns what can happen to any command into an
exit code: Ctrl-C, a reader that has gone away, an error to tell the user.
"""

import os
import re
import sys
from collections.abc import Sequence

from tidelog.cli.commands import NAMES, build_parser
from tidelog.cli.failing import CommandFailed, complain
from tidelog.cli.parsers import FAILED, INTERRUPTED
from tidelog.cli.version import version_line

__all__ = ["main", "version_line"]

AGO = re.compile(r"-\d+(ms|s|m|h|d)")  # see places.py


def main(arguments: Sequence[str] | None = None) -> int:
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        return _run(given)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has had enough (`| head`). Python would complain once more while it closes standard output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except CommandFailed as failure:
        complain(str(failure))
        return failure.code


def _run(given: list[str]) -> int:
    arguments = joined(given)
    wanted = next((each for each in arguments if not each.startswith("-")), "")
    options = build_parser((wanted,) if wanted in NAMES else ()).parse_args(arguments)
    code: int = options.run(options)
    sys.stdout.flush()
    return code


def joined(arguments: list[str]) -> list[str]:
    """`--from -10m` as `--from=-10m`: argparse would take the second word for an option."""
    words: list[str] = []
    for argument in arguments:
        if AGO.fullmatch(argument) and words and words[-1].startswith("--"):
            words[-1] += f"={argument}"
        else:
            words.append(argument)
    return words


if __name__ == "__main__":
    sys.exit(main())
