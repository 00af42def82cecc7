"""`tidelog version`: which release this is, and whether the compiled kernels are in use."""

import argparse
import json
import platform
from importlib.metadata import version as distribution_version
from typing import TYPE_CHECKING

from tidelog import _compiled
from tidelog.cli.parsers import add_command

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add_parser(commands: "Commands") -> None:
    parser = add_command(commands, "version", "print the version, and whether the compiled kernels are in use")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    facts = _facts()
    print(json.dumps(facts) if options.json else version_line(facts))
    return 0


def version_line(facts: dict[str, str]) -> str:
    return f"tidelog {facts['version']} {facts['kernels']} python {facts['python']} {facts['platform']}"


def _facts() -> dict[str, str]:
    return {
        "version": distribution_version("tidelog"),
        "kernels": _compiled.mode(),
        "python": platform.python_version(),
        "platform": f"{platform.system().lower()}-{platform.machine()}",
    }
