"""`tidelog`: the entry point. Each command is a module of this package that adds its own parser."""

import argparse
import os
import platform
import sys
from collections.abc import Sequence
from importlib.metadata import version as distribution_version

from tidelog import _compiled
from tidelog.cli import dev, log

INTERRUPTED = 130  # as a shell counts a process that was ended by Ctrl-C


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="tidelog", description="A distributed commit log that speaks Kafka's protocol."
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    version = commands.add_parser("version", help="print the version, and whether the compiled kernels are in use")
    version.set_defaults(run=_print_version)
    dev.add_parser(commands)
    log.add_parser(commands)
    return _run(parser.parse_args(arguments))


def _run(options: argparse.Namespace) -> int:
    try:
        code: int = options.run(options)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has had enough (`| head`). Python would complain once more while it closes standard output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _print_version(_options: argparse.Namespace) -> int:
    print(version_line())
    return 0


def version_line() -> str:
    return (
        f"tidelog {distribution_version('tidelog')} {_compiled.mode()} "
        f"python {platform.python_version()} {platform.system().lower()}-{platform.machine()}"
    )


if __name__ == "__main__":
    sys.exit(main())
