"""`tidelog version`: which release this is, and whether the compiled modules are in use.

`version_line` heads benchmarks and demos too, so that a figure can be told from another release's.
"""

import argparse
import json
from typing import TYPE_CHECKING

from tidelog import _compiled
from tidelog.cli.arguments.parsers import add_command

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add_parser(commands: "Commands") -> None:
    parser = add_command(commands, "version", "print the version, and whether the compiled modules are in use")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    print(json.dumps(_facts()) if options.json else version_line())
    return 0


def version_line() -> str:
    facts = _facts()
    return f"tidelog {facts['version']} {facts['kernels']} python {facts['python']} {facts['platform']}"


def _facts() -> dict[str, str]:
    # Imported when asked: the first brings the e-mail package with it, and every command imports this module.
    import platform
    from importlib.metadata import version as distribution_version

    return {
        "version": distribution_version("tidelog"),
        "kernels": _compiled.mode(),
        "python": platform.python_version(),
        "platform": f"{platform.system().lower()}-{platform.machine()}",
    }
