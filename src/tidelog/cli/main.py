"""`tidelog`: the entry point. It finds the command's module by name, and turns what can happen to any command into an
exit code: Ctrl-C, a reader that has gone away, an error to tell the user.
"""

import os
import sys
from collections.abc import Sequence

from tidelog.cli.commands import NAMES, build_parser
from tidelog.cli.exit_codes import BROKEN_PIPE, INTERRUPTED, USAGE
from tidelog.cli.failing import CommandFailed, complain
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
        return BROKEN_PIPE
    except CommandFailed as failure:
        complain(str(failure))
        return failure.code


def _run(given: list[str]) -> int:
    if not given:
        build_parser((), with_others=True).print_help(sys.stderr)
        return USAGE
    if given[0] == "help":  # `tidelog help topics create`, as other programs have it
        given = [*given[1:], "--help"]
    wanted = next((each for each in given if not each.startswith("-")), "")
    # Only where the command comes first: `tidelog --help dev` shows all of them.
    is_sure = wanted in NAMES and given[0] == wanted
    options = build_parser((wanted,) if wanted in NAMES else (), with_others=not is_sure).parse_args(given)
    code: int = options.run(options)
    sys.stdout.flush()
    return code


if __name__ == "__main__":
    sys.exit(main())
