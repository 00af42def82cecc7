"""`tidelog`: the entry point. Each command is a module of this package that adds its own parser."""

import argparse
import platform
import sys
from collections.abc import Sequence
from importlib.metadata import version as distribution_version

from tidelog import _compiled


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="tidelog", description="A distributed commit log that speaks Kafka's protocol."
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    commands.add_parser("version", help="print the version, and whether the compiled kernels are in use")
    parser.parse_args(arguments)
    print(version_line())
    return 0


def version_line() -> str:
    return (
        f"tidelog {distribution_version('tidelog')} {_compiled.mode()} "
        f"python {platform.python_version()} {platform.system().lower()}-{platform.machine()}"
    )


if __name__ == "__main__":
    sys.exit(main())
