"""`tidelog`: the entry point. It finds the command's module by name, and turns what can happen to any command into an
exit code: Ctrl-C, a reader that has gone away, an error to tell the user.
"""

import os
import sys
from collections.abc import Sequence

from tidelog.cli.commands import NAMES, build_parser
from tidelog.cli.failing import CommandFailed, complain
from tidelog.cli.parsers import FAILED, INTERRUPTED
from tidelog.cli.version import version_line

__all__ = ["main", "version_line"]


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


def _run(arguments: list[str]) -> int:
    wanted = next((each for each in arguments if not each.startswith("-")), "")
    options = build_parser((wanted,) if wanted in NAMES else ()).parse_args(arguments)
    code: int = options.run(options)
    sys.stdout.flush()
    return code


if __name__ == "__main__":
    sys.exit(main())
